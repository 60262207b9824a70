"""docs/reference/settings.md: every key, with what it takes, its default and what it means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from links import slug

from noetl.config import SETTINGS, Setting, Settings
from noetl.config.meanings import MEANINGS
from noetl.config.values import Given
from noetl.errors import RequestError
from reference.tables import code, from_below, page, table

INTRO = """Every key of `noetl.toml`. Each has a variable and some have a flag; a flag wins over a variable, that over
the file. [Settings](../settings.md) explains the file, lists in variables, and where data lives."""
DEFAULTS = {field.encode_name: field.default for field in msgspec.structs.fields(Settings)}


def settings_page() -> str:
    return page("Settings: reference", INTRO, [*overview(), *(line for one in SETTINGS for line in section(one))])


def overview() -> list[str]:
    rows = ([f"[`{one.key}`](#{slug(one.key)})", code(one.variable), default_of(one)] for one in SETTINGS)
    return table(("key", "variable", "default"), rows)


def section(one: Setting) -> Iterator[str]:
    yield from (f"## {one.key}", "", sentence(from_below(MEANINGS[one.key].words)), "")
    rows = [
        ("variable", code(one.variable)),
        ("flag", flag_of(one)),
        ("takes", accepted(one)),
        ("default", default_of(one)),
    ]
    yield from table(("", ""), [row for row in rows if row[1]])


def sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def flag_of(one: Setting) -> str:
    flag, of, verb = MEANINGS[one.key].flag.partition(" of ")
    return f"{code(flag)}{of}{code(verb)}"


def default_of(one: Setting) -> str:
    if words := MEANINGS[one.key].default:
        return words
    value: Any = DEFAULTS[one.field]
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, tuple):
        return ", ".join(code(item) for item in value) or "none"
    return code(f"{value:g}" if isinstance(value, float) else value) if value not in ("", None) else "none"


def accepted(one: Setting) -> str:
    """What the reader of a setting asks for, in its own words: those with which it refuses what is no value at all."""
    try:
        one.read(Given(one.key, None, "", Path()))
    except RequestError as refusal:
        return str(refusal).partition(" must be ")[2].rpartition(", but is ")[0]
    raise AssertionError(f"{one.key} takes anything")
