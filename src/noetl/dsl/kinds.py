"""How a tool kind declares itself: fields, knobs, defaults, helper.

A declaration is data. The checker, the schema, the documentation and the worker read the same one; a plugin writes its
own. Nothing here runs a tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

TEXT, INTEGER, NUMBER, BOOLEAN, MAPPING, LIST, ANY = "text", "integer", "number", "boolean", "mapping", "list", "any"


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a tool, or a knob under its `spec`."""

    name: str
    types: tuple[str, ...] = (TEXT,)
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    is_template: bool = True  # False: the text is handed to the tool as written (Python code)
    is_sql: bool = False  # the tool gets a noetl.sql.Sql, or a list of them: what templates give is to be bound
    sql_keys: tuple[str, ...] = ()  # of a mapping: the keys whose text is SQL
    doc: str = ""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A tool kind, as far as an author and a checker need to know it."""

    name: str
    summary: str
    fields: tuple[Field, ...] = ()
    one_of: tuple[tuple[str, ...], ...] = ()  # of each group at least one field must be given
    at_most_one_of: tuple[tuple[str, ...], ...] = ()
    knobs: tuple[Field, ...] = ()  # allowed under task.spec, and as defaults under any spec.<kind>
    defaults: dict[str, object] = {}  # the innermost layer of the effective spec (TK-03)
    result: str = ""  # what output.data is
    helper: str = ""  # output.<helper> …
    helper_fields: tuple[str, ...] = ()  # … and its fields
    error_kinds: dict[str, str] = {}  # its own words for error.kind, each begun with its name and a dot: what they mean
    can_fail: bool = True
    takes_any_input: bool = True  # further names under input are values for the tool or its templates
    records_input: bool = False  # the log keeps what stands under input beside the fields: no secret may be there
    extra: str = ""  # the extra to install, and
    module: str = ""  # the module that it brings
    is_missing: bool = False  # found not to be installed; said by whoever looked
    is_runnable: bool = True  # False: it is declared, but there is no tool for it yet; said by whoever looked

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)

    def knob(self, name: str) -> Field | None:
        return next((knob for knob in self.knobs if knob.name == name), None)


class Absence(NamedTuple):
    """Why a kind that somebody knows of cannot be used here, and what to do about it."""

    why: str
    fix: str


class Kinds(Mapping[str, Kind]):
    """Kind names to declarations."""

    def absence(self, name: str) -> Absence | None:
        """What is known of a kind that is not among these; asked only when a playbook uses it."""
        return None
