"""python scripts/site.py: build the documentation into build/docs, a site that works from disk and asks nobody.

In: docs/, mkdocs.yml, and what the pages link to elsewhere in the repository. Out: build/docs. Three stages: lay the
pages together as the site has them, with links that hold there; have zensical build them; make the result complete in
itself and check every reference of every page. A link that leads nowhere, or to another machine for something that a
browser would load, leaves with 1.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from links import CODE, LINK, SHOWN, dead_references, plain_bars, shown

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCE = ROOT / "build" / "docs-source"
SITE = ROOT / "build" / "docs"
GUIDES = DOCS / "tools" / "guides"  # parts of the pages of kinds
HOME = Path("README.md")  # of the repository: what it leads to is the first page of the site
OFFLINE = "assets/javascripts/offline.js"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FOLDER = re.compile(r'href="((?:\.{1,2}/)*\.{1,2})/?"')
SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"[^>]*></script>')


def main() -> int:
    started = time.monotonic()
    lay_together()
    code = build()
    if code:
        return code
    make_self_contained()
    faults, pages, references = dead_references(SITE)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"build/docs: {pages} pages, {references} references, {time.monotonic() - started:.1f} s")
    return 1 if faults else 0


def lay_together() -> None:
    """The pages as the site has them; a file that a page links to comes along."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    waiting = [path for path in sorted(DOCS.rglob("*")) if path.is_file() and GUIDES not in path.parents]
    waiting += [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        target = SOURCE / place_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.suffix != ".md":
            shutil.copyfile(path, target)
            if path.suffix in SHOWN:
                shown_at(target).write_text(shown(path.name, path.read_text("utf-8")), encoding="utf-8")
            continue
        text, linked = relinked(path) if path.is_file() else listing(path)
        target.write_text(text, encoding="utf-8")
        waiting += linked - seen
        seen |= linked


def place_of(path: Path) -> Path:
    """Where a file of the repository is in the site; a folder is a page that lists it."""
    here = path.relative_to(ROOT)
    if here == HOME:
        return HOME
    below = Path(*here.parts[1:]) if here.parts[0] == "docs" else Path("project") / here
    return below / "README.md" if path.is_dir() else below


def listing(folder: Path) -> tuple[str, set[Path]]:
    """A page of the files in a folder, and those files."""
    found = {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    lines = [f"- [{name}]({shown_at(Path(name)).as_posix()})\n" for name in names]
    return f"# {folder.relative_to(ROOT).as_posix()}/\n\n" + "".join(lines), found


def shown_at(path: Path) -> Path:
    """Where a file is shown: on a page of its own, or as a browser shows it."""
    return path.with_name(f"{path.name}.md") if path.suffix in SHOWN else path


def relinked(page: Path) -> tuple[str, set[Path]]:
    """A page with links that hold in the site, and the files outside docs/ that they lead to."""
    linked: set[Path] = set()
    here = place_of(page).parent

    def moved(found: re.Match[str]) -> str:
        link = found[1]
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return found[0]
        target = (page.parent / parts.path).resolve()
        if (target / "README.md").is_file():
            target /= "README.md"
        if not target.exists():
            return found[0]  # zensical and the check of the site say so
        if (DOCS not in target.parents or target.is_dir()) and target != ROOT / HOME:
            linked.add(target)
        new = os.path.relpath(shown_at(place_of(target)), here)
        return found[0].replace(link, Path(new).as_posix() + (f"#{parts.fragment}" if parts.fragment else ""))

    return outside_code(plain_bars(page.read_text("utf-8")), moved), linked


def outside_code(text: str, moved: Callable[[re.Match[str]], str]) -> str:
    """Links replaced, but for what stands in code."""
    found, last = [], 0
    for code in CODE.finditer(text):
        found += [LINK.sub(moved, text[last : code.start()]), code[0]]
        last = code.end()
    return "".join([*found, LINK.sub(moved, text[last:])])


def build() -> int:
    shutil.rmtree(SITE, ignore_errors=True)
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--clean", "--strict"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(COLOUR.sub("", done.stdout + done.stderr).partition("\nTraceback")[0], file=sys.stderr)
    return done.returncode


def make_self_contained() -> None:
    """What a server would do for a site, done beforehand: a link to a folder names its page, and searching has a worker
    that a browser may start from disk, in place of a shim from another machine."""
    (worker,) = (SITE / "assets" / "javascripts" / "workers").glob("search.*.js")
    (SITE / OFFLINE).write_text(OFFLINE_TEXT.replace("TEXT", json.dumps(worker.read_text("utf-8"))), encoding="utf-8")
    (SITE / "404.html").unlink(missing_ok=True)  # only a server shows it
    for page in SITE.rglob("*.html"):
        up = "../" * len(page.relative_to(SITE).parents[1:])
        text = SHIM.sub(f'<script src="{up}{OFFLINE}"></script>', page.read_text("utf-8"))
        page.write_text(FOLDER.sub(r'href="\1/index.html"', text), encoding="utf-8")


OFFLINE_TEXT = """\
// From disk a browser starts no worker by its address, only by its text.
if (location.protocol === "file:") {
  const text = TEXT;
  const Started = window.Worker;
  window.Worker = class extends Started {
    constructor() {
      super(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    }
  };
}
"""


if __name__ == "__main__":
    sys.exit(main())
