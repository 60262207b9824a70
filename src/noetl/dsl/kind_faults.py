"""What is wrong with the declaration of a kind that somebody else wrote.

A declaration in, sentences out; none: the checker, the schema, the worker and the documentation can use it as one of
their own. A declaration is made of values that nobody checked when they were put together, so their types come first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from noetl.dsl.kinds import ANY, BOOLEAN, INTEGER, LIST, MAPPING, NUMBER, TEXT, Field, Kind
from noetl.dsl.shapes import SHAPES

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
NAMES_ARE = "a name has small letters, digits and _, begins with a letter and has at most 32 characters"
TYPES = (TEXT, INTEGER, NUMBER, BOOLEAN, MAPPING, LIST, ANY)
OF_EVERY_OUTPUT = frozenset(("status", "data", "ref", "error", "meta"))
OF_EVERY_TASK = frozenset(SHAPES["task"].keys) - {"auth"}
OF_EVERY_SPEC = frozenset(SHAPES["task.spec"].keys)


def kind_faults(kind: Kind) -> list[str]:
    """All that is wrong with it."""
    try:
        msgspec.convert(msgspec.to_builtins(kind), Kind)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        return [f"it is not made of what a declaration is made of: {error}"]
    return [
        *name_faults(kind),
        *field_faults("field", kind.fields, OF_EVERY_TASK),
        *field_faults("knob", kind.knobs, OF_EVERY_SPEC),
        *group_faults(kind),
        *helper_faults(kind),
    ]


def name_faults(kind: Kind) -> Iterator[str]:
    if not NAME.fullmatch(kind.name):
        yield f'the name "{kind.name}": {NAMES_ARE}'
    if not kind.summary.strip():
        yield "it has no summary: one sentence that says what the kind does"
    if kind.extra or kind.module:
        yield "extra and module are for kinds of NoETL itself: a package names what it needs as its own dependencies"
    for word in kind.error_kinds:
        own = word.removeprefix(f"{kind.name}.")
        if own == word or not NAME.fullmatch(own):
            yield f'the error kind "{word}": it must be "{kind.name}." and a name'


def field_faults(what: str, fields: Iterable[Field], taken: frozenset[str]) -> Iterator[str]:
    fields = tuple(fields)
    yield from (f'two of the {what}s are "{name}"' for name, count in named(fields).items() if count > 1)
    for field in fields:
        if not NAME.fullmatch(field.name):
            yield f'the {what} "{field.name}": {NAMES_ARE}'
        if field.name in taken:
            yield f'the {what} "{field.name}" has a name that means something else in every task'
        strange = [name for name in field.types if name not in TYPES]
        if strange or not field.types:
            found = ", ".join(strange) or "none"
            yield f'the {what} "{field.name}" has types that there are not: {found}; there are: {", ".join(TYPES)}'


def named(fields: tuple[Field, ...]) -> Counter[str]:
    return Counter(field.name for field in fields)


def group_faults(kind: Kind) -> Iterator[str]:
    """Groups and defaults speak of fields and knobs that there are."""
    fields = {field.name for field in kind.fields}
    for name in {name for group in (*kind.one_of, *kind.at_most_one_of) for name in group} - fields:
        yield f'one_of or at_most_one_of names "{name}", which is no field of it'
    for name in set(kind.defaults) - {knob.name for knob in kind.knobs} - OF_EVERY_SPEC:
        yield f'defaults has "{name}", which is no knob of it'


def helper_faults(kind: Kind) -> Iterator[str]:
    if kind.helper and (not NAME.fullmatch(kind.helper) or kind.helper in OF_EVERY_OUTPUT):
        yield f'the helper "{kind.helper}": {NAMES_ARE}, and is none of {", ".join(sorted(OF_EVERY_OUTPUT))}'
    if bool(kind.helper) != bool(kind.helper_fields):
        yield "helper and helper_fields go together: output.<helper>.<field>"
    for name in kind.helper_fields:
        if not NAME.fullmatch(name):
            yield f'the helper field "{name}": {NAMES_ARE}'
