"""Write the pages that are made from code: docs/rules/ from the rules, docs/tools/ from guides and declarations,
docs/reference/ from commands, settings, events and operations; and the pictures of docs/model/ from playbooks there.

python scripts/pages.py [--check]: with --check nothing is written, and a page that differs is named (exit 1).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reference.api import api_page
from reference.commands import commands_page
from reference.events import events_page
from reference.settings import settings_page

from noetl.dsl.kind_pages import kind_page
from noetl.dsl.pages import all_pages, as_markdown
from noetl.tools.registry import declarations

DOCS = Path(__file__).parent.parent / "docs"
GUIDES = DOCS / "tools" / "guides"  # written by hand; the page of a kind is its guide and its declaration
FOLDERS = ("rules", "tools", "reference")  # nothing else stands in them
BLOCKS = {
    "1": "Document",
    "2": "Step",
    "3": "Task and policy",
    "4": "Loop",
    "5": "Routing",
    "6": "Templates and scopes",
    "7": "Results",
    "9": "Deprecated spelling",
}


def rule_pages() -> dict[str, str]:
    pages = all_pages()
    index = ["# Rules", "", "What `noetl check` looks for. `noetl explain CODE` prints the same pages.", ""]
    for block, title in BLOCKS.items():
        index += [f"## {title}", "", "| code | severity | fault |", "|---|---|---|"]
        mine = [page for page in pages if page.code[2] == block]
        index += [
            f"| [{page.code}]({page.code}.md) | {page.severities} | `{page.name}`: {page.summary} |" for page in mine
        ]
        index.append("")
    found = {f"rules/{page.code}.md": as_markdown(page) for page in pages}
    return {**found, "rules/README.md": "\n".join(index).rstrip() + "\n"}


def kind_pages() -> dict[str, str]:
    index = ["# Tool kinds", "", "What a task can do: its `kind`.", "", "| kind | does |", "|---|---|"]
    index += [f"| [{name}]({name}.md) | {declarations[name].summary} |" for name in declarations]
    guides = {name: (GUIDES / f"{name}.md").read_text("utf-8") for name in declarations}
    found = {f"tools/{name}.md": kind_page(declarations[name], guides[name]) for name in declarations}
    return {**found, "tools/README.md": "\n".join(index) + "\n"}


def reference_pages() -> dict[str, str]:
    return {
        "reference/api.md": api_page(),
        "reference/commands.md": commands_page(),
        "reference/events.md": events_page(),
        "reference/settings.md": settings_page(),
    }


def pictures() -> dict[str, str]:
    """As `noetl graph` draws them."""
    noetl = str(Path(sys.executable).parent / "noetl")
    return {
        f"model/{path.stem}.svg": subprocess.run(
            [noetl, "graph", path.name, "--format", "svg"], cwd=path.parent, capture_output=True, text=True, check=True
        ).stdout
        for path in sorted((DOCS / "model").glob("*.yaml"))
    }


def main() -> int:
    pages = {**rule_pages(), **kind_pages(), **reference_pages(), **pictures()}
    there = {str(path.relative_to(DOCS)) for folder in FOLDERS for path in (DOCS / folder).glob("*.md")}
    there |= {str(path.relative_to(DOCS)) for path in (DOCS / "model").glob("*.svg")}
    stale = sorted(there - set(pages)) + sorted(
        name for name, text in pages.items() if not (DOCS / name).exists() or (DOCS / name).read_text("utf-8") != text
    )
    if "--check" in sys.argv:
        print(
            *(f"docs/{name} is not what the code says; run: make pages" for name in stale),
            sep="\n",
            end="\n" if stale else "",
        )
        return 1 if stale else 0
    for name in there - set(pages):
        (DOCS / name).unlink()
    for name, text in pages.items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
