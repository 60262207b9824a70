"""Whose result a task saw as `_prev`, compared with whose result the log has before it (I3).

A worker that goes on under a lease which is over saw what the log does not have. It may still write the same names, so
that nothing else shows it; but scripted tools sign what they give (`by`) and name what they saw (`saw`).
"""

from __future__ import annotations

from typing import Any

from noetl.engine.events import Envelope


def value_of(envelope: Envelope | None) -> Any:
    """The data of an envelope, or the reference that stands for it."""
    if envelope is None:
        return None
    return envelope["data"] if "data" in envelope else envelope.get("ref")


def signature(value: Any) -> str | None:
    """Whose result a value is, where that can be told: a reference to a stored one does not say."""
    return value.get("by") if isinstance(value, dict) else None


def is_own(label: str, data: Any) -> bool:
    """Whether a value is what the script of that task gave, and nothing that the task only passed on."""
    return (signature(data) or "").startswith(f"{label}:")


def seen_by(label: str, envelope: Envelope | None) -> str | None:
    """Whose result a task saw that came to this, where that can be told."""
    data = value_of(envelope)
    return data.get("saw") if is_own(label, data) else None
