"""Install what was built into empty environments, and use it as a newcomer does.

    python scripts/dist_check.py [--dist dist] [--python 3.12]… [--jobs 2]

In: the sdist and the wheel of `make dist`. For each Python from 3.11 to 3.14 that is at hand, a new virtual environment
gets the wheel with pip, and the core dependencies in the versions of uv.lock; the newest one gets the sdist too, and
once more the wheel with the extra `cluster`, for a server and a worker over PostgreSQL and NATS. Then, in an empty
folder with a new HOME and without any variable of ours, with warnings as errors: the commands of `story.py`. Out: a
line for each environment, and exit code 1 if something failed. A Python that is not at hand is said, and is no fault.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
STORY = Path(__file__).parent / "story.py"
TELL = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)"
INSTALL_SECONDS_MAX = 600
STORY_SECONDS_MAX = 300


class Trial(NamedTuple):
    """One environment: which Python, what is installed into it, with which extra."""

    version: str
    python: str
    file: Path
    extra: str = ""

    @property
    def title(self) -> str:
        kind = "wheel" if self.file.suffix == ".whl" else "sdist"
        return f"Python {self.version}, {kind}{f' with {self.extra}' if self.extra else ''}"


class TrialError(Exception):
    """What a trial failed with, for people."""


def candidates() -> Iterator[str]:
    yield sys.executable
    for version in VERSIONS:
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            if found := shutil.which(f"python{version}", path=folder):
                yield found
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(home.glob("versions/*/bin/python")))


def pythons() -> dict[str, str]:
    """The interpreter of each version that is at hand and can start; the first that was found."""
    found: dict[str, str] = {}
    for candidate in dict.fromkeys(candidates()):
        done = subprocess.run([candidate, "-c", TELL], capture_output=True, text=True, check=False)
        major, minor, where = (done.stdout.strip() or "0 0 -").split(" ", 2)
        if done.returncode == 0 and f"{major}.{minor}" in VERSIONS:
            found.setdefault(f"{major}.{minor}", where)
    return dict(sorted(found.items(), key=lambda item: VERSIONS.index(item[0])))


def trials(found: dict[str, str], dist: Path) -> list[Trial]:
    (wheel,), (sdist,) = dist.glob("noetl-*.whl"), dist.glob("noetl-*.tar.gz")
    newest, python = list(found.items())[-1]
    every = [Trial(version, where, wheel) for version, where in found.items()]
    return [*every, Trial(newest, python, sdist), Trial(newest, python, wheel, "cluster")]


def environment(folder: Path, home: Path) -> dict[str, str]:
    """As somebody who has just come to this machine: nothing of ours, of this user's or of this environment."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT") if name in os.environ}
    path = os.pathsep.join([str(folder / "bin"), "/usr/local/bin", "/usr/bin", "/bin"])
    return {**kept, "PATH": path, "HOME": str(home), "PYTHONWARNINGS": "error"}


def call(words: list[str], seconds_max: int, **how: object) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds_max, check=False, **how)  # type: ignore[call-overload]
    except subprocess.TimeoutExpired as late:
        raise TrialError(f"{' '.join(words)} did not end within {seconds_max} s") from late
    if done.returncode:
        raise TrialError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def install(trial: Trial, folder: Path, pins: Path) -> None:
    call([trial.python, "-m", "venv", str(folder)], INSTALL_SECONDS_MAX)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    what = f"{trial.file}[{trial.extra}]" if trial.extra else str(trial.file)
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NOETL_"))}
    constrained = {**bare, "PIP_CONSTRAINT": str(pins)}  # holds for the builder of an sdist too
    call([*pip, "install", "--quiet", what], INSTALL_SECONDS_MAX, env=constrained, cwd=folder)
    call([*pip, "check"], INSTALL_SECONDS_MAX, env=bare, cwd=folder)


@contextmanager
def services(extra: str) -> Iterator[dict[str, str]]:
    """The settings of what an extra is for: a real PostgreSQL and NATS for `cluster`."""
    if extra != "cluster":
        yield {}
        return
    from noetl.testing.services import running_nats, running_postgres

    with running_postgres() as store_url, running_nats() as queue_url:
        yield {"NOETL_STORE_URL": store_url, "NOETL_QUEUE_URL": queue_url}


def try_one(trial: Trial, pins: Path) -> tuple[Trial, str | None]:
    """Install and live the story; what went wrong, or None."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="noetl-trial-") as name:
        venv, home, desk = (Path(name).resolve() / part for part in ("venv", "home", "desk"))
        home.mkdir()
        desk.mkdir()
        try:
            install(trial, venv, pins)
            installed = time.monotonic()
            words = [str(venv / "bin" / "python"), "-I", str(STORY), *(["--extra", trial.extra] if trial.extra else [])]
            with services(trial.extra) as settings:
                call(words, STORY_SECONDS_MAX, cwd=desk, env={**environment(venv, home), **settings})
        except TrialError as fault:
            return trial, str(fault)
    took = f"{installed - started:.0f} s to install, {time.monotonic() - installed:.0f} s to use"
    print(f"{trial.title}: installed and at work ({took})", flush=True)
    return trial, None


def main() -> int:
    parser = argparse.ArgumentParser(description="Install what was built, and use it as a newcomer does.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--python", action="append", choices=VERSIONS, help="only these versions")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()

    asked = given.python or VERSIONS
    found = {version: where for version, where in pythons().items() if version in asked}
    for version in asked:
        if version not in found:
            print(f"Python {version}: not at hand, so nothing is known of it")
    if not found:
        print("error: none of these interpreters is at hand", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as workers:
        pins = Path(folder) / "pins.txt"
        pins.write_text(call([sys.executable, str(ROOT / "scripts" / "pins.py")], 60))
        ended = list(workers.map(lambda one: try_one(one, pins), trials(found, given.dist.resolve())))
    for trial, fault in ended:
        if fault:
            print(f"error: {trial.title}: {fault}", file=sys.stderr)
    return 1 if any(fault for _, fault in ended) else 0


if __name__ == "__main__":
    sys.exit(main())
