"""What two guards say of each other: whether both can hold at once.

Two arcs of an inclusive router whose guards exclude each other never send two tokens, so they are no fan-out. Only
plain conjunctions are understood (`path == 'a' and other > 3`, `path in [1, 2]`, `not path`, and `not (…)` of the
whole); of anything else nothing is claimed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

import msgspec

from noetl.expressions import Template

TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^'\\]*'|"[^"\\]*")|(?P<number>-?\d+(?:\.\d+)?)|(?P<sign>==|!=|<=|>=|<|>|\[|\]|,)"""
    r"""|(?P<path>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*))"""
)
WORDS = {"true": True, "false": False, "none": None, "True": True, "False": False, "None": None}
NOT_PATHS = frozenset(("and", "or", "not", "in", "is", "if", "else"))
COMPARISONS: dict[str, Callable[[object, object], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,  # type: ignore[dict-item]  # compared with numbers only, and inside a try
    "<=": operator.le,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
    ">=": operator.ge,  # type: ignore[dict-item]
}
TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ATOMS_MAX = 20


class Atom(msgspec.Struct, frozen=True):
    """One claim about one path."""

    path: str
    sign: str  # a comparison, "in", "not in", "true" or "not"
    values: tuple[object, ...] = ()

    def holds(self, value: object) -> bool:
        if self.sign in ("true", "not"):
            return bool(value) == (self.sign == "true")
        if self.sign in ("in", "not in"):
            return (value in self.values) == (self.sign == "in")
        try:
            return COMPARISONS[self.sign](value, self.values[0])
        except TypeError:
            return False


class Claims(msgspec.Struct, frozen=True):
    """What one guard claims: its text, and the atoms that must all hold (none: not understood)."""

    text: str
    atoms: tuple[Atom, ...]

    @property
    def is_boolean(self) -> bool:
        """Whether it gives true or false, so that its opposite holds where it does not.

        A bare `x` may be the text "false", which counts as false (TP-04) while `not x` is false as well.
        """
        return len(self.atoms) == 1 and self.atoms[0].sign != "true"


NO_CLAIMS = Claims("", ())


def claims(template: Template | None) -> Claims:
    """Read a guard; no template means no claim."""
    if template is None or not template.is_expression:
        return NO_CLAIMS
    text = " ".join(template.source.strip()[2:-2].strip("-+ \t\r\n").split())
    return Claims(text, atoms(text))


def exclude(one: Claims, other: Claims) -> bool:
    """Whether the two can never both hold."""
    if not one.text or not other.text:
        return False
    if one.text in opposites_of(other.text) or other.text in opposites_of(one.text):
        return True
    both = (*one.atoms, *other.atoms)
    shared = {atom.path for atom in one.atoms} & {atom.path for atom in other.atoms}
    return any(is_impossible([atom for atom in both if atom.path == path]) for path in shared)


def opposites_of(text: str) -> tuple[str, ...]:
    """How the opposite of a guard is written: `not x` for a guard `x`, else `not (…)`."""
    if not text:
        return ()
    return (f"not ({text})",) if " " in text else (f"not ({text})", f"not {text}")


def is_impossible(found: list[Atom]) -> bool:
    """Whether no value makes all the atoms of one path hold."""
    finite = next((atom for atom in found if atom.sign in ("==", "in")), None)
    if finite:
        return not any(all(atom.holds(value) for atom in found) for value in finite.values)
    signs = {atom.sign for atom in found}
    if {"true", "not"} <= signs:
        return True
    return is_empty_range(found)


def is_empty_range(found: list[Atom]) -> bool:
    """`x < 3` beside `x >= 3`."""
    lows = [(value, atom.sign) for atom in found if atom.sign in (">", ">=") for value in atom.values]
    highs = [(value, atom.sign) for atom in found if atom.sign in ("<", "<=") for value in atom.values]
    return any(
        isinstance(low, int | float)
        and isinstance(high, int | float)
        and (low > high or (low == high and (more, less) != (">=", "<=")))
        for low, more in lows
        for high, less in highs
    )


def atoms(text: str) -> tuple[Atom, ...]:
    """The atoms of a conjunction; () if there is anything else in it."""
    words = tokens(text)
    if not words:
        return ()
    found: list[Atom] = []
    while words and len(found) < ATOMS_MAX:
        atom = take_atom(words)
        if atom is None or (words and words.pop(0) != ("path", "and")):
            return ()
        found.append(atom)
    return () if words else tuple(found)


def tokens(text: str) -> list[tuple[str, str]]:
    found = []
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            return []
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def take_atom(words: list[tuple[str, str]]) -> Atom | None:
    """Take one atom off the front; None: it is none that we know."""
    if words[:1] == [("path", "not")]:
        path = path_of(words[1:2])
        del words[:2]
        return Atom(path, "not") if path else None
    path = path_of(words[:1])
    if path is None:
        return take_turned(words)
    del words[:1]
    kind, sign = words[0] if words else ("", "")
    if kind == "sign" and sign in COMPARISONS:
        value = literal(words[1:2])
        del words[:2]
        return Atom(path, sign, value) if value else None
    if words[:2] == [("path", "not"), ("path", "in")]:
        del words[:2]
        return take_list(words, path, "not in")
    if words[:1] == [("path", "in")]:
        del words[:1]
        return take_list(words, path, "in")
    return Atom(path, "true")


def take_turned(words: list[tuple[str, str]]) -> Atom | None:
    """`'a' == path`"""
    value, path = literal(words[:1]), path_of(words[2:3])
    kind, sign = words[1] if len(words) > 1 else ("", "")
    if not value or path is None or kind != "sign" or sign not in TURNED:
        return None
    del words[:3]
    return Atom(path, TURNED[sign], value)


def take_list(words: list[tuple[str, str]], path: str, sign: str) -> Atom | None:
    """`[1, 2]` after `in`."""
    if words[:1] != [("sign", "[")]:
        return None
    del words[:1]
    values: list[object] = []
    while words:
        value = literal(words[:1])
        if not value or len(words) < 2 or words[1] not in (("sign", ","), ("sign", "]")):
            return None
        is_last = words[1] == ("sign", "]")
        del words[:2]
        values.extend(value)
        if is_last:
            return Atom(path, sign, tuple(values))
    return None


def path_of(words: list[tuple[str, str]]) -> str | None:
    if len(words) != 1 or words[0][0] != "path":
        return None
    path = words[0][1]
    return None if path in WORDS or path in NOT_PATHS else path


def literal(words: list[tuple[str, str]]) -> tuple[object, ...]:
    """The value of a literal as a tuple of one; () if it is none."""
    if len(words) != 1:
        return ()
    kind, word = words[0]
    if kind == "text":
        return (word[1:-1],)
    if kind == "number":
        return (float(word) if "." in word else int(word),)
    return (WORDS[word],) if word in WORDS else ()
