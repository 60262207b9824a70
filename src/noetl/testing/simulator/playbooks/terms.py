"""Expressions of generated playbooks, with two faces: the template an author would write, and the value it has.

A term comes out of the generator. The playbook's text gets `text_of` it, the reference run asks `value_of` it; neither
goes through `noetl.expressions`, so a fault there shows as a difference between a run and its reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Scope = Mapping[str, Any]


class Constant(msgspec.Struct, frozen=True):
    """A value as it is."""

    value: Any


class Read(msgspec.Struct, frozen=True):
    """A name and the keys below it; `otherwise` where nothing is there, if it is given."""

    path: tuple[str, ...]
    otherwise: int | dict[str, Any] | None = None


class Operation(msgspec.Struct, frozen=True):
    """Two terms and what stands between them."""

    sign: str
    left: Term
    right: Term


Term = Constant | Read | Operation
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "%": lambda left, right: left % right,
    "<": lambda left, right: left < right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "and": lambda left, right: left and right,
}


def read(dotted: str, otherwise: int | None = None) -> Read:
    """A read, written as an author writes it: ctx.a.b."""
    return Read(tuple(dotted.split(".")), otherwise)


def compare(left: Term, sign: str, right: Any) -> Operation:
    """A term beside a constant."""
    return Operation(sign, left, Constant(right))


def value_of(term: Term, scope: Scope) -> Any:
    """What a term is worth; None where nothing is there."""
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Operation):
        return OPERATIONS[term.sign](value_of(term.left, scope), value_of(term.right, scope))
    found: Any = scope
    for key in term.path:
        if not isinstance(found, Mapping) or key not in found:
            return term.otherwise
        found = found[key]
    return found


def template_of(term: Term) -> Any:
    """A term as it stands in a playbook: constants as they are, all else as one template."""
    if isinstance(term, Constant):
        return term.value
    text = text_of(term)
    return f"{{{{ {text[1:-1] if text[0] == '(' else text} }}}}"


def text_of(term: Term) -> str:
    """A term inside a template."""
    if isinstance(term, Constant):
        return f"'{term.value}'" if isinstance(term.value, str) else str(term.value)
    if isinstance(term, Operation):
        return f"({text_of(term.left)} {term.sign} {text_of(term.right)})"
    dotted = ".".join(term.path)
    return dotted if term.otherwise is None else f"({dotted} | default({term.otherwise}))"


def names_in(term: Term | None) -> frozenset[str]:
    """The names a term reads."""
    if isinstance(term, Operation):
        return names_in(term.left) | names_in(term.right)
    return frozenset((term.path[0],)) if isinstance(term, Read) else frozenset()
