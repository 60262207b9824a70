"""What of a payload stays readable beside its reference (RS-01, UP-07).

A payload that is about to be stored comes in; what its envelope's `meta` keeps of it goes out: `selected`, the fields
that `spec.result.select` names, and under the upstream surface `preview`, how it begins. Both are small, for they stand
in the row whose payload was too large; what is selected is whole or refused, since playbooks decide by it.

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

_INDEX = re.compile(r"\[(\d{1,9})\]")

encode = msgspec.json.Encoder().encode


def excerpt(playbook: Playbook, task: Task, data: Any) -> dict[str, Any]:
    """What `meta` keeps of a payload. Raises Fault: the selection is none, or too large."""
    found: dict[str, Any] = {}
    result = task.spec.get("result")
    written = result.get("select") if isinstance(result, dict) else None
    share = row_bytes_max(playbook) // 8
    if written:
        found["selected"] = _selected(playbook, task, written, data, min(SELECTED_BYTES_MAX, share))
    if playbook.settings.is_transparent:
        found["preview"] = begun(data, min(PREVIEW_BYTES_MAX, share))
    return found


def _selected(playbook: Playbook, task: Task, written: Any, data: Any, bytes_max: int) -> dict[str, Any]:
    holder = Payload(data, {}) if playbook.settings.is_transparent and isinstance(data, dict) else data
    found = {name: _member(holder, path) for name, path in _fields(task, written)}
    size = len(encode(found))
    if size > bytes_max:
        message = f"spec.result.select may keep {bytes_max} bytes beside a reference, but these fields have {size}"
        raise fault("limit", f"{message}; select less, or read them with kind resolve", task.place)
    return found


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
