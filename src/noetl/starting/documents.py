"""What schedules and triggers have in common, as documents that are kept: their names, their playbooks, their rows."""

from __future__ import annotations

from typing import Any

from noetl.dsl.schedule_documents import NAME, ScheduleDocument
from noetl.dsl.trigger_documents import TriggerDocument
from noetl.stores.contract import Store

StartDocument = ScheduleDocument | TriggerDocument


def is_name(text: str) -> bool:
    """Whether a document may be called so."""
    return NAME.match(text) is not None


async def notes_on(document: StartDocument, store: Store, before: str) -> list[str]:
    """A playbook may come later than what starts it: that is said, and refused only when it is started."""
    if await store.entry(document.path, document.version) is not None:
        return []
    label = document.path if document.version is None else f"{document.path}@{document.version}"
    return [f'the catalog has no playbook "{label}" yet; register it before {before}']


def row_of_document(document: StartDocument) -> dict[str, Any]:
    """What people see of either kind."""
    return {
        "name": document.name,
        "description": document.description,
        "labels": document.labels,
        "path": document.path,
        "version": document.version,
        "payload": document.payload,
    }
