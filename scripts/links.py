"""Links that lead nowhere: in Markdown as GitHub shows it, and in the HTML of the built site. Asks no other machine.

In: pages of this repository. Out: one line for each link whose file, folder or heading is not there. What begins with a
scheme (https:, mailto:) is somebody else's and is left alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FENCE = re.compile(r"^ *(?P<fence>`{3,}|~{3,}).*?^ *(?P=fence)[`~]* *$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)(?P<span>`+)(?!`).+?(?<!`)(?P=span)(?!`)", re.DOTALL)
CODE = re.compile(f"{FENCE.pattern}|{SPAN.pattern}", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)? *$", re.MULTILINE)
MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|<[^>]+>|(?<!\\)[*`]|\\(?=[^\w\s])")
SHOWN = {".yaml": "yaml", ".py": "python", ".toml": "toml", ".conf": "text", ".ndjson": "json"}  # and in which words
NO_WORD = re.compile(r"[^\w\- ]")


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    plain = MARKUP.sub(lambda found: found[1] or "", heading)
    return NO_WORD.sub("", plain.strip().lower()).replace(" ", "-")


def prose(text: str) -> str:
    """Markdown without its blocks of code; lines stay where they are."""
    return FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)


def plain_bars(text: str) -> str:
    """A page whose tables have the bars of their code as they are. GitHub wants a stroke before each; the builder of
    the site parts no cells within code, and would show it."""

    def plain(code: re.Match[str]) -> str:
        is_in_table = text.startswith("|", text.rfind("\n", 0, code.start()) + 1)
        return code[0].replace("\\|", "|") if is_in_table and "\n" not in code[0] else code[0]

    return CODE.sub(plain, text)


def shown(name: str, text: str) -> str:
    """A page that shows a file: a browser would save a playbook instead of showing it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"# {name}\n\n[The file itself]({name})\n\n{fence}{SHOWN[Path(name).suffix]}\n{text.rstrip()}\n{fence}\n"


def links(text: str) -> Iterator[tuple[int, str]]:
    """Each link of a page with its line; what stands in code is none."""
    found = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for one in LINK.finditer(found):
        yield found.count("\n", 0, one.start()) + 1, one[1]


@cache
def anchors(page: Path) -> frozenset[str]:
    """What a link to a page may name after #: its headings, the second of a name with -1, and so on."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(prose(page.read_text("utf-8"))):
        name = slug(heading)
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return frozenset(found)


def dead_links(page: Path, text: str | None = None) -> list[str]:
    """What is wrong with the links of a Markdown page, in words."""
    found = []
    for line, link in links(page.read_text("utf-8") if text is None else text):
        if fault := fault_of(page, link):
            found.append(f"{page}:{line}: {link}: {fault}")
    return found


def fault_of(page: Path, link: str) -> str:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    target = (page.parent / unquote(parts.path)) if parts.path else page
    if not target.exists():
        return "there is no such file"
    if parts.fragment and target.suffix == ".md" and unquote(parts.fragment) not in anchors(target.resolve()):
        return "there is no such heading"
    return ""


class Page(HTMLParser):
    """What a page of the site refers to, and what others may refer to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[tuple[str, str]] = []  # attribute, link
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "data") and value:
                self.references.append((f"{tag} {name}", value))
            elif name in ("id", "name") and value:
                self.ids.add(value)


LOADED = ("script src", "link href", "img src", "iframe src", "object data")  # a browser fetches them by itself


def dead_references(site: Path) -> tuple[list[str], int, int]:
    """Of a built site: what is wrong with its references, how many pages there are, how many references."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    faults = [
        f"{path.relative_to(site)}: {link}: {fault}"
        for path, page in pages.items()
        for kind, link in page.references
        if (fault := reference_fault(path, kind, link, site, pages))
    ]
    return faults, len(pages), sum(len(page.references) for page in pages.values())


def reference_fault(path: Path, kind: str, link: str, site: Path, pages: dict[Path, Page]) -> str:
    parts = urlsplit(link)
    if parts.scheme == "data":
        return ""
    if parts.scheme or parts.netloc:
        return f"{kind} asks another machine" if kind in LOADED else ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_relative_to(site):
        return "leads out of the site"
    if not target.is_file():
        return "there is no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "there is no such place on that page"
    return ""


def markdown_pages(root: Path, folders: Iterable[str]) -> list[Path]:
    """The pages of a repository: those at its root, and those in folders below it."""
    below = (path for folder in folders for path in (root / folder).rglob("*.md"))
    return sorted([*root.glob("*.md"), *(path for path in below if "node_modules" not in path.parts)])
