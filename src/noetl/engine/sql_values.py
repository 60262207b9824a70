"""Texts of SQL with templates → `Sql`: what the author wrote, and apart from it what the templates gave (security 8).

Pure. A value is never printed into the text, whatever a template does with it; only `| raw_sql` makes text of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noetl.dsl.model import Parts
from noetl.expressions import EvaluationFault, Identifier, RawSql, Template
from noetl.expressions import Value as Found
from noetl.secret import sealed
from noetl.sql import Bound, Name, Sql

NOT_A_COMMAND = (
    "a value cannot be a whole command: a value is bound, it is never run. Write the statement in the playbook; "
    "if the SQL itself is data that you trust, mark it: {{ … | raw_sql }}"
)


def rendered_sql(parts: Parts, scope: Mapping[str, Any]) -> Any:
    """A command, or a list of commands; raises EvaluationFault."""
    if isinstance(parts, Template):
        return Sql(tuple(map(_piece, _fragments(parts, scope))))
    if isinstance(parts, list):
        return [rendered_sql(part, scope) for part in parts]
    return Sql((parts,)) if isinstance(parts, str) else parts


def _fragments(template: Template, scope: Mapping[str, Any]) -> tuple[str | Found, ...]:
    found = template.fragments(scope)
    pieces = [piece for piece in found if not isinstance(piece, str) or piece.strip()]
    if template.is_expression and not (isinstance(pieces[0], Found) and isinstance(pieces[0].value, RawSql)):
        raise EvaluationFault(NOT_A_COMMAND, template.source, None, "template")
    return found


def _piece(piece: str | Found) -> str | Bound | Name:
    if isinstance(piece, str):
        return piece
    if isinstance(piece.value, RawSql):
        return str(piece.value)
    return Name(piece.value.parts) if isinstance(piece.value, Identifier) else Bound(piece.value)


def sealed_sql(found: Any) -> Any:
    """Commands into which a credential went: their values are secrets, their text is the author's own."""
    if isinstance(found, list):
        return [sealed_sql(one) for one in found]
    if isinstance(found, dict):
        return {name: sealed_sql(value) for name, value in found.items()}
    return Sql(tuple(map(_sealed, found.pieces))) if isinstance(found, Sql) else sealed(found)


def _sealed(piece: str | Bound | Name) -> str | Bound | Name:
    return Bound(sealed(piece.value)) if isinstance(piece, Bound) else piece


def shown_sql(found: Any) -> Any:
    """Data in which a command is text that can be recorded: a value of it is …"""
    if isinstance(found, list) and found and isinstance(found[0], Sql):
        return [shown_sql(one) for one in found]
    if isinstance(found, dict) and any(isinstance(value, Sql) for value in found.values()):
        return {name: shown_sql(value) for name, value in found.items()}
    return found.shown if isinstance(found, Sql) else found
