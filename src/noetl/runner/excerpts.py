"""What of a payload can be read without fetching it, once it is stored (RS-01, UP-07).

A payload comes in; what its envelope's `meta` keeps of it goes out: `selected`, the fields that `spec.result.select`
names, and under the upstream surface `preview`, how a stored payload begins. Both are small, for they stand in the row
that the payload may be too large for. What is selected is whole or refused, and there whether the payload is stored or
not, since playbooks decide by it.

    select: [total, paging.next, {path: "$.items[0].id", as: first}]      or      select: {first: items.0.id}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from noetl.dsl.model import Playbook, Task
from noetl.engine.rows import row_bytes_max
from noetl.engine.values import fault, plain
from noetl.expressions import Payload
from noetl.expressions.faults import Refusal
from noetl.expressions.run import Undefined
from noetl.expressions.values import member_path, path_of
from noetl.runner.shortening import begun

SELECTED_BYTES_MAX = 4 * 1024
PREVIEW_BYTES_MAX = 1024
SHARE = 8  # of a row, each of them may take this part at most

_INDEX = re.compile(r"\[(\d{1,9})\]")

encode = msgspec.json.Encoder().encode


def selection(playbook: Playbook, task: Task, data: Any) -> dict[str, Any]:
    """{selected}, or nothing where no field is asked for. Raises Fault: the selection is none, or too large."""
    result = task.spec.get("result")
    written = result.get("select") if isinstance(result, dict) else None
    if not written:
        return {}
    holder = Payload(data, {}) if playbook.settings.is_transparent and isinstance(data, dict) else data
    found = {name: _member(holder, path) for name, path in _fields(task, written)}
    size, size_max = len(encode(found)), min(SELECTED_BYTES_MAX, row_bytes_max(playbook) // SHARE)
    if size > size_max:
        message = f"spec.result.select may keep {size_max} bytes of a payload, but these fields have {size}"
        raise fault("limit", f"{message}; select less, or read them with kind resolve", task.place)
    return {"selected": found}


def preview(playbook: Playbook, data: Any) -> dict[str, Any]:
    """{preview} of a payload that is stored, under the upstream surface."""
    if not playbook.settings.is_transparent:
        return {}
    return {"preview": begun(data, min(PREVIEW_BYTES_MAX, row_bytes_max(playbook) // SHARE))}


def _fields(task: Task, written: Any) -> Iterator[tuple[str, str]]:
    """Names and dotted paths, in any of the spellings."""
    entries = list(written.items()) if isinstance(written, dict) else [_field(task, one) for one in written]
    for name, path in entries:
        if not isinstance(path, str) or not (words := _dotted(path)):
            raise _misspelt(task)
        yield str(name or words.rpartition(".")[2]), words


def _field(task: Task, entry: Any) -> tuple[Any, Any]:
    if isinstance(entry, dict):
        return entry.get("as"), entry.get("path")
    if not isinstance(entry, str):
        raise _misspelt(task)
    return None, entry


def _misspelt(task: Task) -> Exception:
    return fault("type", "spec.result.select wants paths such as total or {path: items.0.id, as: first}", task.place)


def _dotted(path: str) -> str:
    """`$.items[0].id` as `items.0.id`"""
    return _INDEX.sub(r".\1", path.strip().removeprefix("$")).strip(".")


def _member(holder: Any, path: str) -> Any:
    """A field of the payload; null if it is not there."""
    try:
        found = member_path(holder, path_of(path))
    except Refusal:
        return None
    return None if isinstance(found, Undefined) else plain(found)
