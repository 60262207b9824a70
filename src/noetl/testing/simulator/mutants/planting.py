"""A fault that is planted in the product on purpose, and how it is put there and taken back.

A mutant changes the product, never the simulator or its checks: it is a mistake that somebody could make, in one place.
A mistake in a statement is one in the simulated database, which does what the product's SQL says.
Where the product guards the same thing twice, the mistake takes both, and its meaning says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.testing.simulator.case import SHAPES


class Planting:
    """Puts other code in the place of the product's."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def put(self, owner: Any, name: str, other: Any) -> None:
        """Instead of an attribute of a class or a module, which it defines itself."""
        before = vars(owner)[name]
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, other)

    def around(self, owner: Any, name: str, made: Callable[[Any], Any]) -> None:
        """The same, with code that is made from what is there."""
        self.put(owner, name, made(vars(owner)[name]))

    def put_row(self, table: dict[Any, Any], key: object, made: Callable[[Any], Any]) -> None:
        """Instead of one row of a table, made from that row."""
        before = table[key]
        self._undo.append(lambda: table.__setitem__(key, before))
        table[key] = made(before)

    def take_back(self) -> None:
        """Last first, so that everything is as it was."""
        while self._undo:
            self._undo.pop()()


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """A planted fault."""

    name: str
    meaning: str  # what the product does wrong
    caught_by: tuple[str, ...]  # the invariants that it breaks; the first is the one it stands for
    plant: Callable[[Planting], None]
    shapes: tuple[str, ...] = SHAPES  # in which it does any harm
    overrides: dict[str, Any] = {}  # of the configuration: what it takes to meet it within a few hundred seeds
