"""The name `loop` inside {% for %}: where in the loop we are."""

from noetl.expressions.faults import Refusal
from noetl.expressions.run import Run, Undefined
from noetl.expressions.values import Items


class Loop:
    """Jinja2's loop variable, over items whose number is known."""

    __noetl_plain__ = True
    __slots__ = ("_items", "_last_values", "index0")

    def __init__(self, items: Items) -> None:
        self._items = items
        self._last_values: tuple[object, ...] | None = None
        self.index0 = -1

    def __str__(self) -> str:
        return "loop"

    @property
    def length(self) -> int:
        """How many items there are."""
        return len(self._items)

    @property
    def index(self) -> int:
        """This item's number, from 1."""
        return self.index0 + 1

    @property
    def revindex(self) -> int:
        """How many items are left, this one included."""
        return self.length - self.index0

    @property
    def revindex0(self) -> int:
        """How many items are left after this one."""
        return self.length - self.index

    @property
    def first(self) -> bool:
        """Is this the first item?"""
        return self.index0 == 0

    @property
    def last(self) -> bool:
        """Is this the last item?"""
        return self.index == self.length

    @property
    def previtem(self) -> object:
        """The item before."""
        return Undefined("loop.previtem") if self.first else self._items[self.index0 - 1]

    @property
    def nextitem(self) -> object:
        """The item after."""
        return Undefined("loop.nextitem") if self.last else self._items[self.index]

    @staticmethod
    def cycle(_run: Run, loop: "Loop", *values: object) -> object:
        """One of the values after the other, turn by turn."""
        if not values:
            raise Refusal("type", "loop.cycle needs at least one value")
        return values[loop.index0 % len(values)]

    @staticmethod
    def changed(_run: Run, loop: "Loop", *values: object) -> bool:
        """Are the values others than at the call before?"""
        before, loop._last_values = loop._last_values, values
        return before is None or before != values
