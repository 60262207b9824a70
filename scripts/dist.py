"""Build the sdist and the wheel, so that whoever builds the same commit gets the same bytes.

    python scripts/dist.py [--into dist]

In: the files of the repository that git tracks (of an unpacked sdist: all files), as they stand. Out: `noetl-X.tar.gz`
and the wheel built from it, once they have passed: a second wheel, built from the tracked files, is the same; sdist and
wheel hold exactly what is tracked; nothing inside names a folder of this machine.

Times inside are that of the last commit, or SOURCE_DATE_EPOCH. The builder is the hatchling of uv.lock: nothing is
downloaded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "src/noetl/"
MADE_BY_THE_BUILDER = {"PKG-INFO"}  # in an sdist, beside what is tracked


class DistError(Exception):
    """What was built must not be published, and why."""


def git(*words: str, root: Path) -> str | None:
    """What git says, or None where this is no repository."""
    command = ["git", "-C", str(root), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def is_repository(root: Path) -> bool:
    top = git("rev-parse", "--show-toplevel", root=root)
    return top is not None and Path(top.strip()).resolve() == root.resolve()


def tracked_files(root: Path) -> list[str]:
    if not is_repository(root):
        return [name for name in every_file(root) if name not in MADE_BY_THE_BUILDER]
    listed = (git("ls-files", "-z", root=root) or "").split("\0")
    return sorted(name for name in listed if name and (root / name).is_file())


def every_file(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def left_out(root: Path) -> list[str]:
    """Files of the package that git neither tracks nor ignores: most likely forgotten."""
    if not is_repository(root):
        return []
    return (git("ls-files", "--others", "--exclude-standard", "src", root=root) or "").splitlines()


def epoch(root: Path) -> str:
    """The time that all files inside get: reproducible, and not later than the commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return given
    committed = git("log", "-1", "--format=%ct", root=root) if is_repository(root) else None
    return (committed or "").strip() or "1580601600"  # what hatchling takes when nobody says


def copy_files(names: Iterable[str], root: Path, into: Path) -> None:
    for name in names:
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, target)


def build(kind: str, tree: Path, into: Path, when: str) -> Path:
    """One file of this kind, sdist or wheel, built from a folder."""
    into.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(into)]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": when}
    done = subprocess.run(command, cwd=tree, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DistError(f"hatchling could not build the {kind}:\n{done.stdout}{done.stderr}")
    (built,) = into.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return built


def unpack(sdist: Path, into: Path) -> Path:
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.3 and older have no filters
    with tarfile.open(sdist) as packed:
        packed.extractall(into, **safely)  # type: ignore[arg-type]  # noqa: S202 - an archive that we just made
    (tree,) = into.iterdir()
    return tree


def contents(built: Path) -> dict[str, bytes]:
    """Each file by its name, that of an sdist without the folder around them all."""
    if built.suffix == ".whl":
        with zipfile.ZipFile(built) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(built) as sdist:
        files = [member for member in sdist if member.isfile()]
        return {one.name.partition("/")[2]: sdist.extractfile(one).read() for one in files}  # type: ignore[union-attr]


def check(sdist: Path, wheel: Path, tracked: list[str], folders: Iterable[str]) -> None:
    """Refuse what holds too little, too much, or a trace of this machine."""
    in_sdist, in_wheel = contents(sdist), contents(wheel)
    compare("the sdist", set(in_sdist) - MADE_BY_THE_BUILDER, set(tracked))
    package = {name.removeprefix("src/") for name in tracked if name.startswith(PACKAGE)}
    own = {name for name in in_wheel if not name.partition("/")[0].endswith(".dist-info")}
    compare("the wheel", own, package)
    needed = {"METADATA", "entry_points.txt", "licenses/LICENSE"}
    if missing := needed - {name.partition("/")[2] for name in set(in_wheel) - own}:
        raise DistError(f"the wheel says too little of itself: {', '.join(sorted(missing))} is not there")
    for folder in folders:
        for name in traces(folder, {**in_wheel, **in_sdist}):
            raise DistError(f"{name} names {folder}, a folder of this machine")


def compare(what: str, found: set[str], wanted: set[str]) -> None:
    for names, says in ((wanted - found, "lacks"), (found - wanted, "has, untracked,")):
        if names:
            raise DistError(f"{what} {says} {len(names)} files: {', '.join(sorted(names)[:5])}")


def traces(folder: str, files: dict[str, bytes]) -> Iterator[str]:
    return (name for name, body in sorted(files.items()) if folder.encode() in body)


def machine_folders(*folders: Path) -> set[str]:
    """Whose names would tell on this machine: where we are, where we build, who we are; not `/` or `/root` itself."""
    named = {str(path) for path in (ROOT, Path.home(), *folders)}
    return {folder for folder in named if folder.count("/") > 1}


def make(root: Path, into: Path) -> tuple[Path, Path]:
    """Build, prove, and only then put sdist and wheel into their folder, instead of those that were there."""
    when, tracked = epoch(root), tracked_files(root)
    with tempfile.TemporaryDirectory(prefix="noetl-dist-") as folder:
        work = Path(folder).resolve()
        copy_files(tracked, root, work / "tree")
        sdist = build("sdist", work / "tree", work / "sdist", when)
        from_sdist = build("wheel", unpack(sdist, work / "unpacked"), work / "from-sdist", when)
        from_tree = build("wheel", work / "tree", work / "from-tree", when)
        if from_sdist.read_bytes() != from_tree.read_bytes():
            raise DistError("the wheel built from the sdist is not the one built from the repository")
        check(sdist, from_sdist, tracked, machine_folders(root, work))
        into.mkdir(parents=True, exist_ok=True)
        for old in [*into.glob("noetl-*.tar.gz"), *into.glob("noetl-*.whl")]:
            old.unlink()
        return Path(shutil.copy(sdist, into)), Path(shutil.copy(from_sdist, into))


def main() -> int:
    parser = argparse.ArgumentParser(description="Build sdist and wheel, reproducibly.")
    parser.add_argument("--into", type=Path, default=ROOT / "dist")
    into = parser.parse_args().into
    for name in left_out(ROOT):
        print(f"left out, because git does not track it: {name}", file=sys.stderr)
    try:
        for built in make(ROOT, into):
            print(f"{built.name}  {built.stat().st_size:,} bytes")
    except DistError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
