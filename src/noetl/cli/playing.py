"""A playbook run to its end, once it is known what is meant. For `noetl run`, read by click or plainly (plain.py).

Comes in: the settings and what to run. Goes out: an exit code; what happens is told by an observer, how it ends by
endings.py. click is not needed here, and not imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from noetl.cli.progress import observer_for
from noetl.cli.sides import executions_of
from noetl.cli.targets import Target, target_of
from noetl.config import Settings, load
from noetl.errors import InvalidPlaybook

if TYPE_CHECKING:
    from noetl.server import Observer, RunRequest, RunResult


def play_file(file: str, form: str, *, is_quiet: bool) -> int:
    """Run a file, with all else as the settings say."""
    settings = load(home=None, store=None, environ=os.environ, folder=Path.cwd(), flags={})
    request = make_request(target_of(file), {}, is_legacy=False, compat=None, request_key=None, wait_seconds=0.0)
    return play(settings, request, form, is_quiet=is_quiet)


def make_request(
    target: Target,
    payload: dict[str, object],
    is_legacy: bool,
    compat: str | None,
    request_key: str | None,
    wait_seconds: float,
) -> RunRequest:
    """What is to be run, and how."""
    from noetl.server import RunRequest

    return RunRequest(
        data=target.data,
        name=target.name,
        folder=target.folder,
        path=target.path,
        version=target.version,
        payload=payload,
        is_legacy=is_legacy,
        is_upstream=compat == "upstream",
        request_key=request_key,
        wait_seconds=wait_seconds,
    )


Run = Callable[[Settings, "RunRequest", "Observer"], "RunResult"]


def play(settings: Settings, request: RunRequest, form: str, *, is_quiet: bool, run: Run | None = None) -> int:
    """Run it under the eyes of an observer; then say how it ended."""
    from noetl.cli.endings import finish

    observer = observer_for(form, is_quiet)
    try:
        result = (run or executions_of(settings).run)(settings, request, observer)
    except InvalidPlaybook as error:
        from noetl.cli.refusing import refuse

        return refuse(error, form)
    finally:
        observer.close()
    return finish(result, form, partial(place_in, settings, request), settings)


def place_in(settings: Settings, request: RunRequest, step: str, task: str | None) -> str:
    """Where the step or the task that failed stands in the playbook."""
    from noetl.cli.places import place_in_catalog, place_of

    if request.data is None:
        return place_in_catalog(settings, request.path or "", request.version, step, task)
    return place_of(
        request.data, request.name, step, task, is_legacy=request.is_legacy, is_upstream=request.is_upstream
    )
