"""What a loop runs over: the collection as it was rendered, small or stored, and its elements (LP-02).

A short list stands in the event, a range is three numbers, and a long list becomes bytes that are stored before the
event is committed.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from noetl.dsl.model import Loop as LoopModel
from noetl.engine.commands import Around, BlobMade
from noetl.engine.decision import Decision
from noetl.engine.rows import payload_bytes_max
from noetl.engine.state import Loop, Run, State
from noetl.engine.values import fault, plain
from noetl.references import JSON, Reference

encode = msgspec.json.Encoder().encode


def around(state: State, run: Run, index: int) -> list[Around]:
    """The iterations that iteration `index` of a run's loop stands in, itself last."""
    loop = run.loop
    outside = around(state, state.runs[run.parent_run], run.parent_iter) if run.parent_run else []
    if loop is None:
        return outside
    element = loop.elements.get(index) if loop.ref else element_at(loop, index)
    return [*outside, Around(iterator=loop.iterator, index=index, total=loop.count, element=element)]


def element_at(loop: Loop, index: int) -> Any:
    """The element of a loop whose collection is in the state."""
    if loop.range is not None:
        start, _, step = loop.range
        return start + index * step
    return loop.items[index] if loop.items is not None else None


def collection_of(decision: Decision, found: Any, loop: LoopModel) -> dict[str, Any]:
    """LP-02: a list, a lazy range; anything else is an error."""
    if isinstance(found, range):
        return {"count": len(found), "range": [found.start, found.stop, found.step]}
    if not isinstance(found, list | tuple):
        plain(found, loop.place)  # which refuses a payload that is kept outside the log
        kind = {dict: "a mapping", str: "text", type(None): "nothing"}.get(type(found), type(found).__name__)
        raise fault("type", f"loop.in needs a list, a range or a reference to a list, but got {kind}", loop.place)
    items = plain(found, loop.place)
    data = encode(items)
    if len(data) <= payload_bytes_max(decision.playbook):
        return {"count": len(items), "items": items}
    return {"count": len(items), "ref": blob(decision, data)}


def blob(decision: Decision, data: bytes) -> dict[str, Any]:
    """Have bytes stored before the events are committed; gives their reference."""
    sha256 = hashlib.sha256(data).hexdigest()
    decision.after(BlobMade(data=data, sha256=sha256))
    return Reference(
        type="blob", locator=f"sha256:{sha256}", content_type=JSON, bytes=len(data), sha256=sha256
    ).as_data()
