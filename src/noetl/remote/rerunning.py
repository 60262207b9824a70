"""Many executions run again on a server: asked for a few at a time, then watched until each has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from noetl.config import Settings
from noetl.control.requests import Nobody, RerunRequest, rerun_row
from noetl.errors import InvalidPlaybook, NoetlError
from noetl.projections.progress import Progress
from noetl.remote import watching
from noetl.remote.line import Line, open_line

TOGETHER = 16
Row = dict[str, Any]


def rerun_all(settings: Settings, requests: Sequence[RerunRequest], tell: Callable[[Row], None]) -> bool:
    """Run all of them; True: it was interrupted, and what had begun goes on there."""
    with closing(open_line(settings)) as line:
        for first in range(0, len(requests), TOGETHER):
            chunk = requests[first : first + TOGETHER]
            begun = [(request, _begun(settings, line, request)) for request in chunk]
            if _watched(line, begun, tell):
                for request in requests[first + TOGETHER :]:
                    tell(rerun_row(request.execution_id, "interrupted"))
                return True
    return False


def _begun(settings: Settings, line: Line, request: RerunRequest) -> Row | str:
    try:
        return watching.ask_for_rerun(settings, line, request)
    except InvalidPlaybook:
        raise  # the text is the same for all of them
    except NoetlError as error:
        return str(error)


def _watched(line: Line, begun: Sequence[tuple[RerunRequest, Row | str]], tell: Callable[[Row], None]) -> bool:
    is_interrupted = False
    for request, started in begun:
        if isinstance(started, str):
            tell(rerun_row(request.execution_id, "refused", error=started))
            continue
        new = int(started["execution_id"])
        if is_interrupted:
            tell(rerun_row(request.execution_id, started["status"], new, started["is_new"]))
            continue
        result = watching.watched(line, new, Nobody(), Progress())
        is_interrupted = result.is_interrupted
        found = result.summary
        tell(rerun_row(request.execution_id, found["status"], new, started["is_new"], found["error"]))
    return is_interrupted
