"""Kind names to declarations and tools: the kinds of this folder, and those of plugins that are enabled.

The table names a module per kind, and a module is imported when its kind is asked for: a playbook pays only for what
it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from noetl.dsl.kinds import Absence, Kind, Kinds
from noetl.tools.plugins import Plugins

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


ENGINE_KINDS = frozenset(("playbook", "workbook"))  # a child execution, a call within the pipeline: no tool runs


def no_plugins() -> Sequence[str]:
    return ()


class Declarations(Kinds):
    """The declarations of all kinds, each loaded when first looked at."""

    def __init__(self, enabled: Callable[[], Sequence[str]] = no_plugins) -> None:
        """`enabled` names the plugins; it is called when a name is asked for that is no kind of ours."""
        self.loaded: dict[str, Kind] = {}
        self._enabled = enabled
        self._plugins: Plugins | None = None

    @property
    def plugins(self) -> Plugins:
        """Those that are enabled. Raises UnusablePlugin for a name that no package brings."""
        if self._plugins is None:
            self._plugins = Plugins(self._enabled(), taken=BUILT_IN)
        return self._plugins

    def __getitem__(self, name: str) -> Kind:
        if name not in self.loaded:
            self.loaded[name] = self.module(name).KIND
        return self.loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in BUILT_IN or name in self.plugins

    def __iter__(self) -> Iterator[str]:
        yield from BUILT_IN
        yield from self.plugins

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def absence(self, name: str) -> Absence | None:
        return self.plugins.absence(name)

    def module(self, name: str) -> Any:
        """What has a kind's KIND and make; KeyError: there is no such kind."""
        return import_module(f"noetl.tools.{name}") if name in BUILT_IN else self.plugins.module(name)

    def can_run(self, name: str) -> bool:
        """Whether this version can run a kind, besides checking it."""
        return name in ENGINE_KINDS or hasattr(self.module(name), "make")

    def make_tool(self, name: str, hands: Hands) -> Tool:
        """A kind at work."""
        tool: Tool = self.module(name).make(hands)
        return tool


def is_installed(kind: Kind) -> bool:
    """Whether the library that a kind needs is here."""
    return not kind.module or find_spec(kind.module) is not None


declarations = Declarations()  # those of NoETL alone: where no operator has enabled anything
