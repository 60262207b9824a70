"""Kind names to declarations.

The table names a module per kind, and a module is imported when its kind is asked for: a playbook pays only for what
it uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from noetl.dsl.kinds import Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

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


ENGINE_KINDS = frozenset(("playbook", "workbook"))  # a child execution, a call within the pipeline: no tool runs


def can_run(name: str) -> bool:
    """Whether this version can run a kind, besides checking it."""
    return name in ENGINE_KINDS or hasattr(import_module(f"noetl.tools.{name}"), "make")


def make_tool(name: str, hands: Hands) -> Tool:
    """A kind at work."""
    tool: Tool = import_module(f"noetl.tools.{name}").make(hands)
    return tool


def is_installed(kind: Kind) -> bool:
    """Whether the library that a kind needs is here."""
    return not kind.module or find_spec(kind.module) is not None


declarations = Declarations()
