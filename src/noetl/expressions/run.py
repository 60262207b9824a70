"""One evaluation in progress: the scope it reads, the names it has set, the work it may still do; and what
"undefined" is.

A `Run` is made by `Template.evaluate`, handed from node to node and thrown away. It never changes the scope.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final, NoReturn, cast

from noetl.expressions.faults import Refusal
from noetl.expressions.limits import LIMITS, Limits

NO_NAMES: Final = cast(dict[str, object], MappingProxyType({}))  # a write to it is an error, not a leak between runs
NAMES_SHOWN_MAX: Final = 20
NAME_CHARS_MAX: Final = 40
PIECE_CHARS_MAX: Final = 100  # from here on, Python's search forwards is linear
CHARS_PER_UNIT: Final = 16  # characters compared for one unit of work


class Run:
    """State of one evaluation. Defaults stand on the class, so that a short expression pays for two attributes."""

    names: dict[str, object] = NO_NAMES  # set by the template itself; a statement's own from the start
    limits: Limits = LIMITS
    is_loose: bool = False  # something was met that must not leave inside a list: undefined, a range, a group
    fragments: list[object] | None = None  # where values are kept apart from text, when the caller asked for that

    def __init__(self, scope: Mapping[str, object], work: int) -> None:
        self.scope = scope
        self.work = work

    def spend(self, units: int) -> None:
        """Pay for work; see limits.py for what things cost."""
        self.work -= units
        if self.work < 0:
            raise Refusal("limit", "this template does more work than one evaluation may; do it in a tool instead")

    def spend_text(self, text: str) -> str:
        """Pay for a string that was made, and check its length."""
        self.check_chars(len(text))
        self.spend(len(text) if text.isascii() else 4 * len(text))
        return text

    def spend_search(self, text: str, piece: str, is_backward: bool = False) -> None:
        """Pay for looking for a piece in a text; backwards Python's search can take length times length."""
        compared = len(piece) if is_backward else min(len(piece), PIECE_CHARS_MAX)
        self.spend(len(text) * (1 + compared // CHARS_PER_UNIT))

    def check_chars(self, length: int) -> None:
        """Refuse a text that is, or would become, too long."""
        if length > self.limits.text_chars:
            raise Refusal("limit", f"a text in a template may have {self.limits.text_chars} characters; this has more")

    def check_items(self, length: int) -> None:
        """Refuse a list that is, or would become, too long."""
        if length > self.limits.items:
            raise Refusal("limit", f"a list in a template may have {self.limits.items} items; this has more")


class Undefined:
    """A name, key or element that is not there (TP-07).

    False, empty, unequal to everything; chains; every other use is a refusal that says what was missing.
    """

    __slots__ = ("holder", "is_quiet", "offset", "what")

    def __init__(self, what: str, offset: int | None = None, holder: object = None, is_quiet: bool = False) -> None:
        self.what = what
        self.offset = offset
        self.holder = holder  # what was looked into
        self.is_quiet = is_quiet  # `x if y` without else: nothing, and meant so; prints as nothing

    def refuse(self, *_: object) -> NoReturn:
        """Say that this value is needed and missing."""
        names = _names_of(self.holder)
        known = f"; there is {', '.join(names)}" if names else ""
        raise Refusal("undefined", f"{self.what} is undefined{known}", self.offset, names)

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        self.refuse()

    def __str__(self) -> str:
        self.refuse()

    def __lt__(self, other: object) -> bool:
        self.refuse()

    __le__ = __gt__ = __ge__ = __lt__


def _names_of(holder: object) -> tuple[str, ...]:
    """The names in a scope or a mapping: keys that look like names, since others may be somebody's data."""
    if type(holder) is Run:
        keys: Iterable[object] = holder.scope
    elif issubclass(type(holder), dict):
        keys = cast(dict[object, object], holder)
    else:
        return ()
    names = (key for key in keys if type(key) is str and len(key) <= NAME_CHARS_MAX and key.isidentifier())
    return tuple(sorted(islice(names, NAMES_SHOWN_MAX)))
