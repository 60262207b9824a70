"""Names by which a template means something else than a task, a step or an iterator of that name (TP-06)."""

from __future__ import annotations

from noetl.dsl.scopes import OLD_NAMES, RESERVED
from noetl.expressions import FUNCTIONS

LANGUAGE = frozenset(
    (
        *("and", "or", "not", "in", "is", "if", "else", "elif", "for", "set", "with", "filter", "loop", "recursive"),
        *("true", "false", "none", "True", "False", "None"),
    )
)


SCOPES = RESERVED | {"args", "outcome"}  # the names that TP-02 reserves, in both spellings


def misleading(name: str) -> str:
    """Why a step or a task of this name is hard to read in a template, though it may be called so."""
    return reason(name) if name in LANGUAGE or name in FUNCTIONS else ""


def reason(name: str) -> str:
    """Why a name is reserved; empty if it is not."""
    if name in RESERVED:
        return f'"{name}" is a scope of its own in every template'
    if name in OLD_NAMES:
        return f'"{name}" is the name of a scope in older playbooks'
    if name in LANGUAGE:
        return f'"{name}" is a word of the template language'
    if name in FUNCTIONS:
        return f'"{name}" is a function in templates'
    return ""
