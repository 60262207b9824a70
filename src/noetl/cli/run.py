"""noetl run: a playbook to its end, with live progress."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from noetl.cli.files import STANDARD_INPUT
from noetl.cli.options import format_option, place_options, settings_of, surface_options, wait_option
from noetl.cli.payloads import payload_of
from noetl.cli.progress import observer_for
from noetl.cli.sides import executions_of
from noetl.cli.targets import Target, target_of
from noetl.errors import InvalidPlaybook

if TYPE_CHECKING:
    from noetl.config import Settings
    from noetl.server import RunRequest


@click.command("run")
@click.argument("target", metavar="FILE|PATH[@VERSION]")
@click.option("--set", "assignments", metavar="A.B=VALUE", multiple=True, help="One value of the payload; repeatable.")
@click.option("--payload", metavar="JSON|@FILE|-", help="The payload: a JSON mapping, a file of it, or standard input.")
@surface_options
@click.option("--request-key", metavar="KEY", help="Run once: the same key again gives the same execution.")
@wait_option
@click.option("--quiet", "-q", is_flag=True, help="No progress; only the result, errors and the status.")
@place_options
@format_option
def command(
    target: str,
    assignments: Sequence[str],
    payload: str | None,
    legacy: bool,
    compat: str | None,
    request_key: str | None,
    wait_seconds: float,
    quiet: bool,
    home: str | None,
    store: str | None,
    form: str,
) -> int:
    """Run a playbook to its end.

    FILE is a playbook, or - for standard input; what is no file is looked up in the catalog. The output's data is
    printed on standard output, progress on standard error. Ctrl-C stops in order, and the run can be resumed. With
    --server it runs there, files that it calls by name go along, and Ctrl-C only stops watching.

    Exit code: 0 success, 1 failed or cancelled, 2 wrong input (nothing was started), 3 the store is in use or the
    server out of reach, 4 waiting for a signal, 130 interrupted.

    Example: noetl run orders.yaml --set day=2026-03-01 --set limits.rows=10
    """
    if target == payload == STANDARD_INPUT:
        raise click.UsageError("playbook and payload cannot both come from standard input: name a file for one of them")
    settings = settings_of(home, store)
    found = target_of(target)
    request = make_request(found, payload_of(payload, assignments), legacy, compat, request_key, wait_seconds)
    return run(settings, request, form, quiet)


def make_request(
    target: Target,
    payload: dict[str, object],
    is_legacy: bool,
    compat: str | None,
    request_key: str | None,
    wait_seconds: float,
) -> RunRequest:
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


def run(settings: Settings, request: RunRequest, form: str, is_quiet: bool) -> int:
    """Run it under the eyes of an observer; then say how it ended."""
    from noetl.cli.endings import finish

    observer = observer_for(form, is_quiet)
    try:
        result = executions_of(settings).run(settings, request, observer)
    except InvalidPlaybook as error:
        from noetl.cli.refusing import refuse

        return refuse(error, form)
    finally:
        observer.close()
    return finish(result, form, partial(place_in, settings, request))


def place_in(settings: Settings, request: RunRequest, step: str, task: str | None) -> str:
    """Where the step or the task that failed stands in the playbook."""
    from noetl.cli.places import place_in_catalog, place_of

    if request.data is None:
        return place_in_catalog(settings, request.path or "", request.version, step, task)
    return place_of(
        request.data, request.name, step, task, is_legacy=request.is_legacy, is_upstream=request.is_upstream
    )
