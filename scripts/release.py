"""Make a release of what is committed: the number, the changelog, a commit and a tag. Nothing is pushed or published.

    python scripts/release.py 0.2.0 [--dry-run]

In: a clean repository whose CHANGELOG.md has something under Unreleased. Out: `__version__` and the files of deploy/
that name it, the changes in a section with number and day, with what changed of the dependencies since the last tag;
one commit, and the tag vX.Y.Z that carries the notes. docs/releases.md says what the numbers mean and what comes before
and after. Refused, with nothing changed: a number that does not follow, or that promises less than what changed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a file, as make does

from scripts.locked import Package, PagesLock, PythonLock

NUMBER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:rc([1-9]\d*))?")
UNRELEASED = "## Unreleased\n"
BREAKING = "**Breaking:**"
# Each file that names the version, and how: a pattern with the number as its one group.
PLACES = {
    "src/noetl/__init__.py": r'^__version__ = "(.+)"$',
    "deploy/helm/noetl/Chart.yaml": r'^(?:version: |appVersion: ")([^"\n]+)',
    "deploy/compose/compose.yaml": r"^ *image: noetl:(\S+)$",
    "deploy/docker/Dockerfile": r"-t noetl:(\S+) ",
}
LOCKS = {"uv.lock": PythonLock, "ui/package-lock.json": PagesLock}


class ReleaseError(Exception):
    """Why there is no release, and what to do."""


class Version(NamedTuple):
    major: int
    minor: int
    patch: int
    candidate: float  # of a release itself: after all its candidates

    def __str__(self) -> str:
        number = f"{self.major}.{self.minor}.{self.patch}"
        return number if self.candidate == float("inf") else f"{number}rc{self.candidate:.0f}"


def version_of(text: str) -> Version:
    found = NUMBER.fullmatch(text)
    if found is None:
        raise ReleaseError(f"a version is like 1.2.3 or 1.2.3rc1, and not {text!r}")
    major, minor, patch, candidate = found.groups()
    return Version(int(major), int(minor), int(patch), float(candidate or "inf"))


class Repository:
    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *words: str, text: str | None = None) -> str:
        command = ["git", "-C", str(self.root), *words]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ReleaseError(f"git {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def read(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")

    def versions(self) -> list[Version]:
        """Those that have a tag, the newest last."""
        names = [tag.removeprefix("v") for tag in self.git("tag", "--list", "v*").split()]
        return sorted(version_of(name) for name in names if NUMBER.fullmatch(name))


def unreleased(changelog: str) -> str:
    if UNRELEASED not in changelog:
        raise ReleaseError("CHANGELOG.md has no section Unreleased")
    text = changelog.partition(UNRELEASED)[2]
    return re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0].strip()


def check_number(wanted: Version, before: list[Version], changes: str) -> None:
    """It follows the last one, and says as much as the changes do (docs/releases.md)."""
    if not changes:
        raise ReleaseError("nothing stands under Unreleased in CHANGELOG.md: there is nothing to release")
    if not before:
        return
    last = before[-1]
    if wanted <= last:
        raise ReleaseError(f"{wanted} does not follow {last}, which is released")
    steady = [one for one in before if one.candidate == float("inf")]
    if not steady:
        return
    is_major, is_minor = wanted.major > steady[-1].major, wanted[:2] > steady[-1][:2]
    if BREAKING in changes and not (is_major or (wanted.major == 0 and is_minor)):
        need = "minor" if steady[-1].major == 0 else "major"
        raise ReleaseError(f"Unreleased has a line with {BREAKING}, so {wanted} must be a new {need} version")
    if re.search(r"^### (Added|Deprecated)$", changes, re.MULTILINE) and not is_minor:
        raise ReleaseError(f"Unreleased adds or deprecates something, so {wanted} must be a new minor version")


def dependency_changes(repository: Repository, since: Version) -> str:
    """What users get in another version than with the last release, as a section; empty if nothing."""
    lines = []
    for name, lock in LOCKS.items():
        old = {one.name: one for one in lock(repository.git("show", f"v{since}:{name}")).runtime()}
        new = {one.name: one for one in lock(repository.read(name)).runtime()}
        lines += [line for package in sorted({*old, *new}) if (line := moved(old.get(package), new.get(package)))]
    return "### Dependencies\n\n" + "\n".join(lines) if lines else ""


def moved(old: Package | None, new: Package | None) -> str:
    if old is None and new is not None:
        return f"- {new.name} {new.version} is new."
    if old is not None and new is None:
        return f"- {old.name} is gone."
    return f"- {new.name} {old.version} → {new.version}." if old and new and old.version != new.version else ""


def renamed(text: str, pattern: str, version: Version) -> str:
    """The text with another number at each place of the pattern."""
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if not found:
        raise ReleaseError(f"no version at {pattern}: tell scripts/release.py where it is now")
    for match in reversed(found):
        text = text[: match.start(1)] + str(version) + text[match.end(1) :]
    return text


def prepare(repository: Repository, text: str, day: str) -> tuple[Version, str, dict[str, str]]:
    """The number, the notes, and the files as they are to be. Changes nothing."""
    wanted = version_of(text)
    if repository.git("status", "--porcelain").strip():
        raise ReleaseError("the repository has changes that are not committed: commit them, or put them aside")
    before, changelog = repository.versions(), repository.read("CHANGELOG.md")
    changes = unreleased(changelog)
    check_number(wanted, before, changes)
    parts = [changes, dependency_changes(repository, before[-1]) if before else ""]
    notes = "\n\n".join(filter(None, parts))
    section = f"{UNRELEASED}\n## {wanted} - {day}\n\n{notes}\n"
    head, _, rest = changelog.partition(UNRELEASED)
    older = re.search(r"^## ", rest, re.MULTILINE)
    files = {"CHANGELOG.md": head + section + (f"\n{rest[older.start() :]}" if older else "")}
    for name, pattern in PLACES.items():
        files[name] = renamed(repository.read(name), pattern, wanted)
    return wanted, notes, files


def release(repository: Repository, text: str, day: str) -> Version:
    """Write, commit and tag."""
    version, notes, files = prepare(repository, text, day)
    for name, content in files.items():
        repository.write(name, content)
    repository.git("add", "--", *files)
    repository.git("commit", "--quiet", "--file", "-", text=f"release: version {version}\n\n{notes}\n")
    kept = ("--annotate", "--cleanup=verbatim")  # else git takes headings for comments
    repository.git("tag", *kept, "--file", "-", f"v{version}", text=f"NoETL {version}\n\n{notes}\n")
    return version


def main() -> int:
    parser = argparse.ArgumentParser(description="Make a release: number, changelog, commit, tag. Nothing is pushed.")
    parser.add_argument("version", help="like 1.2.3, or 1.2.3rc1")
    parser.add_argument("--dry-run", action="store_true", help="print the notes, and change nothing")
    given = parser.parse_args()
    repository = Repository(Path(__file__).resolve().parent.parent)
    day = datetime.now(UTC).date().isoformat()
    try:
        if given.dry_run:
            version, notes, files = prepare(repository, given.version, day)
            print(f"NoETL {version}, {day}; would change {', '.join(files)}\n\n{notes}")
            return 0
        version = release(repository, given.version, day)
    except ReleaseError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    print(f"committed and tagged v{version}; nothing is pushed. Next: make dist-check sbom, and then docs/releases.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
