"""What the two lock files name: the packages that NoETL runs with, and those that the web pages are built from.

In: uv.lock and ui/package-lock.json, as text. Out: packages with version, hashes, licence and what they need. For the
SBOM, the audit and the release notes. Needs nothing but the standard library, and asks nobody.
"""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LICENCES = Path(__file__).parent / "licences.toml"


class Package(NamedTuple):
    ecosystem: str  # PyPI or npm, as advisories spell them
    name: str
    version: str
    licence: str = ""
    files: tuple[tuple[str, str, str], ...] = ()  # name, algorithm, digest in hex
    needs: tuple[tuple[str, str], ...] = ()  # name and version of the others

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.version

    @property
    def purl(self) -> str:
        kind = {"PyPI": "pypi", "npm": "npm"}[self.ecosystem]
        return f"pkg:{kind}/{self.name.replace('@', '%40')}@{self.version}"


def licences() -> dict[str, Any]:
    return tomllib.loads(LICENCES.read_text(encoding="utf-8"))


class PythonLock:
    """uv.lock, as a graph."""

    def __init__(self, text: str) -> None:
        rows = tomllib.loads(text)["package"]
        self.project = next(row for row in rows if "registry" not in row["source"])
        self.rows = {(row["name"], row["version"]): row for row in rows if row is not self.project}
        self.licences = licences()["python"]

    def every(self) -> list[Package]:
        return [self.package(key) for key in sorted(self.rows)]

    def core(self) -> list[Package]:
        """What `pip install noetl` brings, on whichever system."""
        return self.closure(self.project["dependencies"])

    def runtime(self) -> list[Package]:
        """Core and all extras."""
        extras = self.project.get("optional-dependencies", {}).values()
        return self.closure([*self.project["dependencies"], *(one for extra in extras for one in extra)])

    def closure(self, wanted: Iterable[dict[str, Any]]) -> list[Package]:
        found: set[tuple[tuple[str, str], tuple[str, ...]]] = set()
        waiting = list(wanted)
        while waiting:
            for target in set(self.targets(waiting.pop())) - found:
                found.add(target)
                waiting += self.edges(*target)
        return [self.package(key) for key in sorted({key for key, _ in found})]

    def targets(self, edge: dict[str, Any]) -> list[tuple[tuple[str, str], tuple[str, ...]]]:
        """The packages that an edge leads to: one, or one for each kind of system."""
        keys = [key for key in self.rows if key[0] == edge["name"] and edge.get("version") in (None, key[1])]
        return [(key, tuple(edge.get("extra", ()))) for key in keys]

    def edges(self, key: tuple[str, str], extras: Iterable[str]) -> list[dict[str, Any]]:
        row = self.rows[key]
        optional = row.get("optional-dependencies", {})
        return [*row.get("dependencies", ()), *(edge for extra in extras for edge in optional.get(extra, ()))]

    def package(self, key: tuple[str, str]) -> Package:
        row = self.rows[key]
        files = [*row.get("wheels", ()), *([row["sdist"]] if "sdist" in row else ())]
        hashes = [(one["url"].rpartition("/")[2], *one["hash"].split(":", 1)) for one in files]
        needs = {one for edge in self.edges(key, row.get("optional-dependencies", ())) for one, _ in self.targets(edge)}
        licence = self.licences.get(key[0], "")
        return Package("PyPI", *key, licence, tuple(sorted(hashes)), tuple(sorted(needs)))


class PagesLock:
    """ui/package-lock.json. `npm` may hold a package in several versions, one inside another."""

    def __init__(self, text: str) -> None:
        self.rows: dict[str, dict[str, Any]] = {
            place: row for place, row in json.loads(text)["packages"].items() if place
        }

    def every(self) -> list[Package]:
        return self.packages(self.rows)

    def runtime(self) -> list[Package]:
        """What is built into the pages."""
        return self.packages(
            place for place, row in self.rows.items() if not (row.get("dev") or row.get("devOptional"))
        )

    def packages(self, places: Iterable[str]) -> list[Package]:
        return sorted({self.package(place) for place in places})

    def package(self, place: str) -> Package:
        row = self.rows[place]
        found = [self.nearest(place, name) for name in row.get("dependencies", ())]
        needs = sorted((name_at(one), self.rows[one]["version"]) for one in found if one)
        return Package("npm", name_at(place), row["version"], row.get("license", ""), digests(row), tuple(needs))

    def nearest(self, place: str, name: str) -> str | None:
        """Where Node finds a package: beside the one that asks, or further out."""
        while True:
            inside = f"{place}/node_modules/{name}" if place else f"node_modules/{name}"
            if inside in self.rows or not place:
                return inside if inside in self.rows else None
            place = place.rpartition("/node_modules/")[0] if "/node_modules/" in place else ""


def name_at(place: str) -> str:
    return place.rpartition("node_modules/")[2]


def digests(row: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    found = [one.partition("-") for one in row.get("integrity", "").split()]
    return tuple(("", algorithm, base64.b64decode(value).hex()) for algorithm, _, value in found)


def python_lock() -> PythonLock:
    return PythonLock((ROOT / "uv.lock").read_text(encoding="utf-8"))


def pages_lock() -> PagesLock:
    return PagesLock((ROOT / "ui" / "package-lock.json").read_text(encoding="utf-8"))
