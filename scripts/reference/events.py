"""docs/reference/events.md: every event with its fields and their types; the words are those of docs/events.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from links import slug

from noetl.engine.events import EVENTS, NAMES, SERVER, STATUSES, WORKER, WORKER_EVENTS, Event
from noetl.projections.envelopes import ENTITIES, OTHER_ENTITIES, OWN_FIELDS
from reference.tables import code, page, table

INTRO = """Every event of the log with the fields of its payload. [Events](../events.md) has the envelope that all of
them share and what their fields mean. A field left at its default is not written to the store; readers see all of
them."""
EXPLAINED = Path(__file__).parent.parent.parent / "docs" / "events.md"


def events_page() -> str:
    words = explained()
    rows = ((f"[`{NAMES[kind]}`](#{slug(NAMES[kind])})", words[NAMES[kind]][0]) for kind in EVENTS)
    return page(
        "Events: reference",
        INTRO,
        [*table(("event", "when"), rows), *(line for kind in EVENTS for line in section(kind, *words[NAMES[kind]]))],
    )


def explained() -> dict[str, tuple[str, str]]:
    """When each event comes and what its payload is, from the page that is written by hand."""
    rows = [re.split(r"(?<!\\)\|", row) for row in EXPLAINED.read_text("utf-8").splitlines() if row.startswith("| `")]
    return {row[1].strip(" `"): (row[2].strip(), row[3].strip()) for row in rows if len(row) == 5}


def section(kind: type[Event], when: str, payload: str) -> Iterator[str]:
    name = NAMES[kind]
    yield from (f"## {name}", "", f"{when[0].upper()}{when[1:]}.", "")
    yield from (f"Payload: {payload}.", "")
    source = WORKER if kind in WORKER_EVENTS else SERVER
    entity = OTHER_ENTITIES.get(kind) or ENTITIES.get(name.partition(".")[0], "workflow")
    yield from (f"Source `{source}`, entity `{entity}`{status_of(kind)}.", "")
    yield from table(("field", "type", "default"), fields(kind))


def status_of(kind: type[Event]) -> str:
    return f", status `{STATUSES[kind]}`" if kind in STATUSES else ""


def fields(kind: type[Event]) -> Iterator[tuple[str, str, str]]:
    own = OWN_FIELDS[kind]
    for field in msgspec.structs.fields(kind):
        if field.encode_name in own:
            yield code(field.encode_name), typed(field.type), default_of(field)


def typed(kind: object) -> str:
    """A type as readers of JSON know it."""
    text = (
        str(getattr(kind, "__name__", kind)) if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    )
    return json_words(text)


def json_words(text: str) -> str:
    text = re.sub(r"\b(?:noetl\.engine\.events|typing)\.", "", text)
    text = text.replace("dict[str, Any]", "object").replace("None", "null").replace("Any", "any value")
    text = re.sub(r"dict\[str, str\]", "object of texts", text)
    text = re.sub(r"\bstr\b", "text", text)
    text = re.sub(r"\bint\b", "whole number", text)
    text = re.sub(r"\bfloat\b", "number", text)
    text = re.sub(r"\bbool\b", "true or false", text)
    text = re.sub(r"list\[(.*?)\]", r"list of \1", text)
    return text.replace(" | null", ", or null")


def default_of(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    return code(msgspec.json.encode(value).decode())
