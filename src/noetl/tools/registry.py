"""Kind names to declarations.

The table names a module per kind, and a module is imported when its kind is asked for: a playbook pays only for what
it uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec

from noetl.dsl.kinds import Kind

BUILT_IN = (
    "duckdb",
    "http",
    "nats",
    "noop",
    "playbook",
    "postgres",
    "python",
    "resolve",
    "script",
    "secrets",
    "shell",
    "transfer",
    "workbook",
)


class Declarations(Mapping[str, Kind]):
    """The declarations of all kinds, each loaded when first looked at."""

    def __init__(self) -> None:
        self.loaded: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        if name not in BUILT_IN:
            raise KeyError(name)
        if name not in self.loaded:
            self.loaded[name] = import_module(f"noetl.tools.{name}").KIND
        return self.loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in BUILT_IN

    def __iter__(self) -> Iterator[str]:
        return iter(BUILT_IN)

    def __len__(self) -> int:
        return len(BUILT_IN)


def is_installed(kind: Kind) -> bool:
    """Whether the library that a kind needs is here."""
    return not kind.module or find_spec(kind.module) is not None


declarations = Declarations()
