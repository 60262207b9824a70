"""What is found in a template, and exactly where: the records that the checker and `rename` read."""

from typing import Final, Literal

import msgspec

FUNCTIONS: Final = frozenset({"dict", "range"})  # those there are


class Part(msgspec.Struct, frozen=True):
    """One step of a path: `.x`, `['x']` or `[0]`, with the span of dot or brackets and all between."""

    key: str | int
    offset: int
    end: int


class Read(msgspec.Struct, frozen=True):
    """A read of a free name; `offset` and `end` are the span of the name alone."""

    name: str
    offset: int
    end: int
    parts: tuple[Part, ...] = ()

    @property
    def path(self) -> tuple[str | int, ...]:
        """The name and the keys after it."""
        return (self.name, *(part.key for part in self.parts))

    @property
    def path_end(self) -> int:
        """Where the last part ends."""
        return self.parts[-1].end if self.parts else self.end


class Use(msgspec.Struct, frozen=True):
    """A filter or a test, and the span of its name."""

    name: str
    offset: int
    end: int


class Call(msgspec.Struct, frozen=True):
    """A call, from its name (a method's from its dot) to its closing parenthesis.

    `form` is "function" for `range(3)`, "method" for `x.upper()` (then `read` is `x`, if that is a plain path),
    "value" for a call of anything else, which is always refused.
    """

    read: Read | None
    method: str
    offset: int
    end: int
    form: Literal["function", "method", "value"]
