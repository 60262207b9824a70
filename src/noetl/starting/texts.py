"""The schedule or trigger of a name, out of a text that somebody handed in: checked as `noetl check` does."""

from __future__ import annotations

from typing import TypeVar

from noetl.control.catalog import report
from noetl.dsl.check import check
from noetl.dsl.findings import ERROR
from noetl.dsl.kinds import Kinds
from noetl.dsl.schedule_documents import ScheduleDocument, schedules_of
from noetl.dsl.start_shapes import SCHEDULE, TRIGGER
from noetl.dsl.trigger_documents import TriggerDocument, triggers_of
from noetl.errors import InvalidDocument, RequestError

Document = TypeVar("Document", ScheduleDocument, TriggerDocument)


def schedule_in(data: bytes, file_name: str, name: str, kinds: Kinds) -> ScheduleDocument:
    """Raises InvalidDocument, RequestError."""
    refuse_faults(data, file_name, kinds)
    return _named(schedules_of(data, file_name), SCHEDULE, name)


def trigger_in(data: bytes, file_name: str, name: str, kinds: Kinds) -> TriggerDocument:
    """Raises InvalidDocument, RequestError."""
    refuse_faults(data, file_name, kinds)
    return _named(triggers_of(data, file_name), TRIGGER, name)


def _named(documents: list[Document], kind: str, name: str) -> Document:
    found = next((one for one in documents if one.name == name), None)
    if found is None:
        raise RequestError(f'the text has no document of kind: {kind} whose name is "{name}"')
    return found


def refuse_faults(data: bytes, file_name: str, kinds: Kinds) -> None:
    checked = check(data, file_name, kinds)
    errors = [finding for finding in checked.findings if finding.severity == ERROR]
    if errors:
        raise InvalidDocument(file_name, report(errors, checked.source), list(checked.findings), checked.source)
