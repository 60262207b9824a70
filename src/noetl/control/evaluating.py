"""The value of an expression in a scope, as data: what it gave, what it read, or what is wrong with it and where."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.engine.excerpts import excerpt
from noetl.engine.explanations import reads_of
from noetl.expressions import EvaluationFault, Template, TemplateSyntaxFault, looks_like_template, parse

VALUE_CHARACTERS_MAX = 256 * 1024
OPENING = "{{ "
TYPES = ((bool, "boolean"), (int, "number"), (float, "number"), (str, "text"), (dict, "mapping"), (list, "list"))


def evaluated(expression: str, scope: dict[str, Any]) -> dict[str, Any]:
    """What an expression gives in a scope, as data; a fault is part of the answer."""
    opening = "" if looks_like_template(expression) else OPENING
    try:
        template = parse(f"{OPENING}{expression} }}}}" if opening else expression)
    except TemplateSyntaxFault as fault:
        found = fault.offset - len(opening)
        is_at_end = bool(opening) and found >= len(expression)  # what it met there are braces that nobody wrote
        return _faulty("the expression is not finished" if is_at_end else fault.message, found, expression)
    reads = msgspec.to_builtins(reads_of([template], scope))
    try:
        return {**_valued(template, scope), "reads": reads, "error": None}
    except EvaluationFault as fault:
        offset = None if fault.offset is None else fault.offset - len(opening)
        return {**_faulty(fault.message, offset, expression), "reads": reads}


def _valued(template: Template, scope: dict[str, Any]) -> dict[str, Any]:
    value, is_cut = excerpt(template.evaluate(scope), VALUE_CHARACTERS_MAX)
    kind = next((word for kind, word in TYPES if isinstance(value, kind)), "null")
    return {"value": value, "type": kind, "is_cut": is_cut}


def _faulty(message: str, offset: int | None, expression: str) -> dict[str, Any]:
    column = None if offset is None else min(max(offset, 0), len(expression)) + 1
    error = {"message": message, "column": column}
    return {"value": None, "type": "", "is_cut": False, "reads": [], "error": error}
