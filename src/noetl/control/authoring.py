"""Help for whoever writes a playbook, as data: what may stand at a cursor, pages of kinds and rules, the schema.

Nothing is kept and nothing runs. A long text takes its time: call these off the event loop.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.completing import complete
from noetl.dsl.describing import describe
from noetl.dsl.findings import did_you_mean
from noetl.dsl.kind_pages import kind_page, types_of
from noetl.dsl.kinds import Field, Kind, Kinds
from noetl.dsl.pages import all_pages, as_markdown, page_of
from noetl.dsl.schema import schema


def completion(kinds: Kinds, text: str, line: int, column: int) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(complete(text, line, column, kinds))
    return found


def description(kinds: Kinds, text: str, line: int, column: int) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(describe(text, line, column, kinds))
    return found


def schema_document(kinds: Kinds) -> dict[str, Any]:
    """The JSON Schema that `noetl schema` prints."""
    return schema(kinds)


def kind_rows(kinds: Kinds) -> dict[str, Any]:
    """Every tool kind with its page."""
    return {"kinds": [kind_row(kinds[name]) for name in kinds]}


def kind_row(kind: Kind) -> dict[str, Any]:
    return {
        "kind": kind.name,
        "summary": kind.summary,
        "markdown": kind_page(kind),
        "fields": [field_row(field, kind) for field in kind.fields],
        "knobs": [field_row(field, kind) for field in kind.knobs],
    }


def field_row(field: Field, kind: Kind) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": types_of(field),
        "is_required": field.required,
        "default": kind.defaults.get(field.name),
        "doc": field.doc,
    }


def rule_page(code: str) -> dict[str, Any] | None:
    """The page of a rule, by its code or its name; None: there is none."""
    page = page_of(code)
    if page is None:
        return None
    return {"code": page.code, "rule": page.name, "severity": page.severity, "markdown": as_markdown(page)}


def rule_meant(code: str) -> str:
    """What to do about a rule that there is not."""
    known = [one for page in all_pages() for one in (page.code, page.name)]
    return did_you_mean(code.upper() if code[:2].lower() == "nl" else code, known, "`noetl explain` lists them")
