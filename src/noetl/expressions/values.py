"""What a value may be, and what can be read from it.

The scope holds plain data: dict, list, tuple, str, int, float, bool, None, range, and objects whose class says
`__noetl_plain__ = True`. `member` is the only place in the package that reads anything out of a value, so the sandbox
is this file: keys of mappings, elements of sequences, public data attributes of plain objects. Methods are never
values: `methods.py` runs the few there are, and `x.items` can only be the key "items". (TP-05, TP-08)

Types are asked of `type(value)`, never of the value: `isinstance` would read `value.__class__`, which an object can
forge.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NoReturn, TypeGuard, cast

import msgspec

from noetl.expressions.faults import Refusal
from noetl.expressions.limits import WORK_PER_ITEM, WORK_PER_NEW_NUMBER, WORK_PER_PIECE
from noetl.expressions.run import Run, Undefined
from noetl.references import is_reference

MISSING: Final = object()
Items = Sequence[object]
Number = int | float


USE_RESOLVE: Final = (
    "this payload is kept outside the log: fetch it with a task of kind resolve, and read that task's data"
)


class Value(msgspec.Struct, frozen=True):
    """What one {{ }} gave, kept apart from the text around it (for SQL, which binds values and never prints them)."""

    value: object


class Stored:
    """Stands for a payload that is kept outside the log: it can be handed on, and every other use is refused (RS-04).

    `beside`: what can be read of it all the same (UP-07). It counts as true, because whoever asks may be outside an
    evaluation.
    """

    __slots__ = ("beside",)

    def __init__(self, beside: Mapping[str, object] = MappingProxyType({})) -> None:
        self.beside = beside

    def found_beside(self, key: object) -> object:
        """What is known without fetching the payload; `.data` is what stands for it, as on any payload (UP-01)."""
        if key == "data" and self.beside:
            return self
        return self.beside.get(key, MISSING) if is_text(key) else MISSING

    def refuse(self, *_: object) -> NoReturn:
        """Say how to get at the payload."""
        raise Refusal("reference", USE_RESOLVE)

    def __eq__(self, other: object) -> bool:
        self.refuse()

    def __ne__(self, other: object) -> bool:
        self.refuse()

    def __hash__(self) -> int:
        self.refuse()


STORED: Final = Stored()


class Payload(dict[str, object]):
    """A payload that answers for more than its keys (UP-01): `.data` is itself, then its own data, then `beyond`."""

    __slots__ = ("beyond",)

    def __init__(self, payload: Mapping[str, object], beyond: Mapping[str, object]) -> None:
        super().__init__(payload)
        self.beyond = beyond

    def found_beyond(self, key: object) -> object:
        if key == "data":
            return self
        inner = dict.get(self, "data")
        if is_mapping(inner) and key in inner:
            return inner[key]
        return self.beyond.get(key, MISSING) if is_text(key) else MISSING


class Identifier(str):
    """Text that names a table or column, and its parts, outermost first; the SQL kinds quote each."""

    __slots__ = ("parts",)
    parts: tuple[str, ...]

    def __new__(cls, parts: tuple[str, ...]) -> "Identifier":
        made = super().__new__(cls, ".".join(parts))
        made.parts = parts
        return made


class RawSql(str):
    """Text that is SQL; the SQL kinds put it in as it stands, and the checker says so."""

    __slots__ = ()


def is_text(value: object) -> TypeGuard[str]:
    """Is it a str?"""
    return issubclass(type(value), str)


def is_number(value: object) -> TypeGuard[Number]:
    """Is it a whole or a floating number? True and false count as 1 and 0, as in Python."""
    return issubclass(type(value), (int, float))


def is_mapping(value: object) -> TypeGuard[dict[object, object]]:
    """Is it a dict?"""
    return issubclass(type(value), dict)


def is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Is it a list or a tuple?"""
    return issubclass(type(value), (list, tuple))


def is_sequence(value: object) -> TypeGuard[Items]:
    """Has it elements in order: list, tuple, range or text?"""
    return issubclass(type(value), (list, tuple, range, str))


def is_undefined(value: object) -> TypeGuard[Undefined]:
    """Was it not there?"""
    return type(value) is Undefined


def is_plain_object(value: object) -> bool:
    """Does the value's class declare itself fit for templates?"""
    return getattr(type(value), "__noetl_plain__", False) is True


def member(holder: object, key: object) -> object:
    """What `holder` has under `key`, or MISSING; a refusal if Python's own insides were asked for."""
    found = _member(holder, key)
    if found is MISSING and type(holder) is Payload:
        found = holder.found_beyond(key)
    if type(holder) is Stored:
        found = holder.found_beside(key)
    if found is MISSING and (type(holder) is Stored or is_reference(holder)):
        raise Refusal("reference", USE_RESOLVE)
    if found is MISSING and is_text(key) and key.startswith("__"):
        raise Refusal(
            "security", "a name that begins with __ cannot be read: a template reads data, not what it is made of"
        )
    return found


def _member(holder: object, key: object) -> object:
    if is_mapping(holder):
        try:
            return dict.get(holder, key, MISSING)
        except TypeError:  # a list as a key
            return MISSING
    if is_sequence(holder) and issubclass(type(key), int):
        index = cast(int, key)
        return holder[index] if -len(holder) <= index < len(holder) else MISSING
    if is_plain_object(holder):
        return _plain_member(holder, key)
    return MISSING


def _plain_member(holder: object, key: object) -> object:
    if isinstance(holder, Mapping):
        return holder.get(key, MISSING)
    if not is_text(key) or key.startswith("_"):
        return MISSING
    found = getattr(holder, key, MISSING)
    return MISSING if callable(found) else found


def member_path(holder: object, path: tuple[str | int, ...]) -> object:
    """What `holder` has under a dotted path, as `map(attribute="a.b")` asks; undefined if it is not there."""
    value = holder
    for key in path:
        found = value.get(key, MISSING) if type(value) is dict else member(value, key)
        if found is MISSING:
            return Undefined("the attribute asked for", None, value)  # its name may have come out of data
        value = found
    return value


def path_of(attribute: object) -> tuple[str | int, ...]:
    """The keys of a dotted path given as text, or as a number."""
    if is_text(attribute):
        return tuple(int(part) if part.isdecimal() and len(part) < 10 else part for part in attribute.split("."))
    if issubclass(type(attribute), int):
        return (cast(int, attribute),)
    raise Refusal("type", f"attribute= needs a path such as 'name' or 'owner.name', but was given {kind_of(attribute)}")


KIND_WORDS: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    (str, "text"),
    (bool, "true or false"),
    ((int, float), "a number"),
    ((list, tuple), "a list"),
    (dict, "a mapping"),
    (range, "a range"),
    (Undefined, "nothing: it is undefined"),
    (type(None), "none"),
)


def kind_of(value: object) -> str:
    """A value's type, in an author's words, for a refusal; a payload kept outside the log has a refusal of its own."""
    if type(value) is Stored:
        value.refuse()
    return next((words for kinds, words in KIND_WORDS if issubclass(type(value), kinds)), "an object")


def items_of(run: Run, value: object, what: str) -> Items:
    """A value as a sequence: a mapping gives its keys, undefined nothing."""
    if is_sequence(value):
        return value
    if is_mapping(value):
        run.spend(WORK_PER_ITEM * len(value))
        return list(value)
    if is_undefined(value):
        return ()
    raise Refusal("type", f"{what} needs a list, but was given {kind_of(value)}")


def list_of(run: Run, value: object, what: str) -> list[object]:
    """A new list of a value's items, paid for."""
    items = items_of(run, value, what)
    each = WORK_PER_NEW_NUMBER if type(items) is range else WORK_PER_ITEM
    if is_text(items) and not items.isascii():
        each = WORK_PER_PIECE
    run.check_items(len(items))
    run.spend(each * len(items))
    return list(items)
