"""Ask whether something that we lock has a known vulnerability.

    python scripts/audit.py [--required] [--service URL] [--index URL]

In: uv.lock and ui/package-lock.json. Out: a line for each vulnerability, and exit code 1 if one concerns what NoETL
runs with or what is built into its pages; those of tools of development are told only. `advisories.toml` lets single
ones pass, for a while.

OSV, a public service that gathers the advisories of all ecosystems, is asked first, once about all packages. Where it
cannot be reached: the Python index, which tells what it knows package by package, and `npm audit`. Whatever nobody
answered is said in so many words; it is a failure with --required only, so that a machine without the internet can
still run all other checks. What can be checked without asking anybody is in tests/release/test_locks.py.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a file, as make does

from scripts import locked
from scripts.locked import ROOT, Package

OSV_URL = "https://api.osv.dev"
ACCEPTED = Path(__file__).parent / "advisories.toml"
ANSWER_SECONDS_MAX = 20
ANSWER_BYTES_MAX = 64 * 2**20
PAGES_MAX = 10  # of one package's advisories
ASKED_AT_ONCE = 8


class Unreachable(Exception):
    """A service that did not answer, or not in its own language: nothing is known."""


class Vulnerability(NamedTuple):
    package: Package
    ids: tuple[str, ...]  # the advisory's own, then its other names
    summary: str
    repaired_in: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f"{self.ids[0]} ({', '.join(self.ids[1:])})" if self.ids[1:] else self.ids[0]
        cure = f"repaired in {', '.join(self.repaired_in)}" if self.repaired_in else "no repaired version is known"
        summary = " ".join(self.summary.split()) or "no summary"
        return f"{self.package.name} {self.package.version}: {names}: {summary}; {cure}"


class Answers(NamedTuple):
    found: list[Vulnerability]
    unanswered: list[Package]
    why: str = ""


def fetch(url: str, body: object = None) -> Any:
    """The JSON at an address."""
    headers = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "noetl-audit"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, headers), timeout=ANSWER_SECONDS_MAX) as answer:  # noqa: S310 - ours, or --service
            return json.loads(answer.read(ANSWER_BYTES_MAX))
    except HTTPError as fault:
        raise Unreachable(f"{url} answers {fault.code}") from fault
    except (OSError, HTTPException, ValueError) as fault:
        raise Unreachable(f"{url}: {fault}") from fault


def ask_osv(packages: list[Package], service: str) -> Answers:
    """All packages in one question; then each advisory by itself, for its text."""
    hits: list[tuple[Package, str]] = []
    asked = [(package, osv_query(package)) for package in packages]
    for _ in range(PAGES_MAX):
        answers = results_of(fetch(f"{service}/v1/querybatch", {"queries": [query for _, query in asked]}), len(asked))
        more = []
        for (package, query), answer in zip(asked, answers, strict=True):
            hits += [(package, row["id"]) for row in answer.get("vulns") or ()]
            if token := answer.get("next_page_token"):
                more.append((package, {**query, "page_token": token}))
        asked = more
        if not asked:
            break
    texts = {name: fetch(f"{service}/v1/vulns/{name}") for name in sorted({name for _, name in hits})}
    return Answers([of_osv(package, texts[name]) for package, name in hits if not texts[name].get("withdrawn")], [])


def osv_query(package: Package) -> dict[str, Any]:
    return {"package": {"name": package.name, "ecosystem": package.ecosystem}, "version": package.version}


def results_of(answer: Any, wanted: int) -> list[dict[str, Any]]:
    rows = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != wanted:
        raise Unreachable(f"the service answers {wanted} questions with something else than {wanted} results")
    return [row or {} for row in rows]


def of_osv(package: Package, row: dict[str, Any]) -> Vulnerability:
    mine = [one for one in row.get("affected", ()) if one.get("package", {}).get("name", "").lower() == package.name]
    events = [event for one in mine for span in one.get("ranges", ()) for event in span.get("events", ())]
    repaired = sorted({event["fixed"] for event in events if "fixed" in event})
    summary = row.get("summary") or row.get("details", "")[:200]
    return Vulnerability(package, (row["id"], *row.get("aliases", ())), summary, tuple(repaired))


def ask_index(packages: list[Package], index: str) -> Answers:
    """What the index says of each package. Some tell only of the newest version: then others stay unanswered."""

    def about(package: Package) -> dict[str, Any] | None:
        for path in (f"{package.name}/{package.version}", package.name):
            try:
                row = fetch(f"{index}/pypi/{path}/json")
            except Unreachable:
                continue
            if isinstance(row, dict) and row.get("info", {}).get("version") == package.version:
                return row if "vulnerabilities" in row else None
        return None

    with ThreadPoolExecutor(ASKED_AT_ONCE) as workers:
        answers = list(zip(packages, workers.map(about, packages), strict=True))
    found = [of_index(package, one) for package, row in answers if row for one in row["vulnerabilities"] or ()]
    unanswered = [package for package, row in answers if row is None]
    return Answers([one for one in found if one], unanswered, f"the index at {index} tells nothing of these versions")


def of_index(package: Package, row: dict[str, Any]) -> Vulnerability | None:
    if row.get("withdrawn"):
        return None
    summary = row.get("summary") or (row.get("details") or "")[:200]
    return Vulnerability(package, (row["id"], *(row.get("aliases") or ())), summary, tuple(row.get("fixed_in") or ()))


def ask_npm(_: list[Package]) -> Answers:
    """What `npm audit` says of the lock; it asks the registry that npm is set to."""
    npm = shutil.which("npm")
    if npm is None:
        raise Unreachable("npm is not there")
    command = [npm, "audit", "--json", "--package-lock-only", "--prefix", str(ROOT / "ui")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    try:
        rows = json.loads(done.stdout)["vulnerabilities"]
    except (ValueError, KeyError) as fault:
        raise Unreachable("the registry of npm answers no audit") from fault
    lock = locked.pages_lock()
    return Answers([found for row in rows.values() for found in of_npm(row, lock)], [])


def of_npm(row: dict[str, Any], lock: locked.PagesLock) -> Iterator[Vulnerability]:
    """`via` has advisories, or the name of a needed package that has them: that one has a row of its own."""
    for advisory in row["via"]:
        if isinstance(advisory, dict):
            name = advisory.get("url", "").rpartition("/")[2] or str(advisory["source"])
            for place in row["nodes"]:
                yield Vulnerability(lock.package(place), (name,), advisory["title"])


def asked(what: str, ask: Callable[[list[Package]], Answers], packages: list[Package]) -> Answers:
    """The answers of one service, or none at all and why."""
    try:
        return ask(packages)
    except Unreachable as fault:
        return Answers([], packages, f"{what} could not be asked: {fault}")


def audit(packages: list[Package], service: str, index: str) -> tuple[list[Vulnerability], list[Answers]]:
    """Everything that is known, and what nobody answered."""
    first = asked("OSV", lambda some: ask_osv(some, service), packages)
    if not first.unanswered:
        return first.found, []
    print(first.why)
    by_ecosystem = {name: [one for one in packages if one.ecosystem == name] for name in ("PyPI", "npm")}
    second = [
        asked("the Python index", lambda some: ask_index(some, index), by_ecosystem["PyPI"]),
        asked("npm", ask_npm, by_ecosystem["npm"]),
    ]
    return [one for answers in second for one in answers.found], [one for one in second if one.unanswered]


def accepted(today: date, path: Path = ACCEPTED) -> set[str]:
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["accepted"]
    return {name for name, row in rows.items() if row["why"] and row["until"] >= today}


def judge(found: Iterable[Vulnerability], runtime: set[Package], passed: set[str]) -> int:
    """Say each vulnerability once, and count those that must not stay."""
    bad = 0
    for one in sorted(set(found)):
        if passed.intersection(one.ids):
            print(f"accepted: {one}")
        elif one.package in runtime:
            bad += 1
            print(f"error: {one}", file=sys.stderr)
        else:
            print(f"development only: {one}")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description="Ask for known vulnerabilities of what is locked.")
    parser.add_argument("--required", action="store_true", help="fail where nobody answers")
    parser.add_argument("--service", default=OSV_URL, help="OSV, or a mirror of it")
    parser.add_argument("--index", help="the Python index; that of the lock, unless it is given")
    given = parser.parse_args()

    python, pages = locked.python_lock(), locked.pages_lock()
    index = given.index or next(iter(python.rows.values()))["source"]["registry"].removesuffix("/simple")
    packages = [*python.every(), *pages.every()]
    found, silent = audit(packages, given.service.rstrip("/"), index.rstrip("/"))
    bad = judge(found, {*python.runtime(), *pages.runtime()}, accepted(datetime.now(UTC).date()))
    unanswered = [package for answers in silent for package in answers.unanswered]
    for answers in silent:
        print(f"NOT AUDITED, {len(answers.unanswered)} {answers.unanswered[0].ecosystem} packages: {answers.why}")
    print(
        f"audited {len(packages) - len(unanswered)} of {len(packages)} locked packages: {bad} vulnerabilities to repair"
    )
    return 1 if bad or (unanswered and given.required) else 0


if __name__ == "__main__":
    sys.exit(main())
