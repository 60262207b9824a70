"""A playbook that a server refuses, said as this machine would say it: its findings, in the lines they stand in."""

from __future__ import annotations

from typing import Any

from noetl.config import Settings
from noetl.control.catalog import Text, playbook_of
from noetl.control.requests import RunRequest
from noetl.dsl.findings import Edit, Finding
from noetl.dsl.source import Place
from noetl.errors import InvalidPlaybook, NoetlError
from noetl.remote.answers import Refused

TEXT_BYTES_MAX = 1024 * 1024
UNKNOWN_EDIT = Edit(0, 0, "")  # that there is a repair is known, not which


def playbook_text(settings: Settings, request: RunRequest) -> str:
    """The text of a request; what is no text, or too much, is refused here with the checker's own words."""
    data = request.data or b""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text and len(data) <= TEXT_BYTES_MAX:
        return text
    _check_here(settings, request)
    return text


def local_refusal(settings: Settings, request: RunRequest, refused: Refused) -> NoetlError:
    """The same refusal with the text at hand; where this machine finds nothing wrong, what the server found."""
    try:
        if request.data is not None:
            _check_here(settings, request)
    except InvalidPlaybook as found_here:
        return found_here
    found = [_finding(row) for row in refused.findings if isinstance(row, dict)]
    error = InvalidPlaybook(request.name or str(request.path), "", found)
    error.args = refused.args
    return error


def _check_here(settings: Settings, request: RunRequest) -> None:
    from noetl.embedded import kinds_of

    text = Text(
        data=request.data or b"", name=request.name, is_legacy=request.is_legacy, is_upstream=request.is_upstream
    )
    playbook_of(text, kinds_of(settings))


def _finding(row: dict[str, Any]) -> Finding:
    place = Place(row["path"], row["line"], row["column"], row["end_line"], row["end_column"])
    return Finding(
        code=row["code"],
        rule=row["rule"],
        severity=row["severity"],
        place=place,
        message=row["message"],
        why=row["why"],
        fix=row["fix"],
        edits=(UNKNOWN_EDIT,) if row["fixable"] else (),
    )
