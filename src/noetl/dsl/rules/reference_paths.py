"""Which paths of a template lead to a reference, and which to data; for the 7xx block (RS-03, RS-04).

An output has both: `output.data` is the payload, `output.ref` says where it is kept. A name that ends in `_ref`, below
ctx, step, iter or input, holds a reference by the language's own convention.
"""

from __future__ import annotations

from noetl.dsl.draft import Draft
from noetl.dsl.rules.reads import LABEL, STEP, Meaning, meanings
from noetl.expressions import Read, Template

STATE = frozenset(("ctx", "step", "iter", "input"))
PARTS = frozenset(
    (
        *("type", "locator", "auth_reference", "meta"),
        *("store", "key", "range", "checksum", "size", "schema_hint"),
    )
)  # of a reference (RS-02); everything else is payload


def whole_path(template: Template) -> Read | None:
    """The path that a template consists of: {{ output.data.rows }}, with nothing around it and no filter."""
    if not template.is_expression or len(template.reads) != 1 or template.calls or template.filters or template.tests:
        return None
    read = template.reads[0]
    inner = template.source.strip()[2:-2].strip("-+ \t\r\n")
    return read if template.source[read.offset : read.path_end] == inner else None


def whole_meanings(draft: Draft) -> dict[int, Meaning]:
    """What each template that is nothing but one path means, by the id of its node."""
    found = draft.prepared.get("whole meanings")
    if not isinstance(found, dict):
        templates = ((one, one.text.template) for one in meanings(draft))
        found = {id(one.text.node): one for one, template in templates if template and whole_path(template)}
        draft.prepared["whole meanings"] = found
    return found


def is_envelope(meaning: Meaning) -> bool:
    """Whether a name stands for an output: `output` itself, a task's label, a step's name."""
    return meaning.read.name == "output" or meaning.sort in (LABEL, STEP)


def reference_length(meaning: Meaning) -> int:
    """How many parts of a path lead to its reference; 0 where it leads to none."""
    read = meaning.read
    if is_envelope(meaning):
        return 1 if read.parts and read.parts[0].key == "ref" else 0
    if read.name not in STATE:
        return 0
    for length, part in enumerate(read.parts, start=1):
        if isinstance(part.key, str) and part.key.endswith("_ref"):
            return length
    return 0


def spelt(read: Read, length: int | None = None) -> str:
    """A path as its author wrote it, or its first parts."""
    text = read.name
    for part in read.parts[:length]:
        text += f".{part.key}" if isinstance(part.key, str) else f"[{part.key}]"
    return text
