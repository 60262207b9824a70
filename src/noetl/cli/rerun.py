"""noetl rerun: a new execution that keeps what another one did, up to a step or an event, and goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of, surface_options, wait_option
from noetl.cli.payloads import assignment
from noetl.cli.progress import observer_for
from noetl.cli.resume import place_in_execution
from noetl.cli.sides import executions_of
from noetl.cli.targets import Target, target_of
from noetl.errors import InvalidPlaybook

if TYPE_CHECKING:
    from noetl.server import RerunRequest


@click.command("rerun")
@click.argument("execution", metavar="ID")
@click.option("--from", "from_step", metavar="STEP", help="Go on before the latest run of this step.")
@click.option("--from-failed", is_flag=True, help="Go on before the step whose failure ended it.")
@click.option("--at", type=click.IntRange(min=1), metavar="SEQ", help="Go on after this event of its log.")
@click.option(
    "--set",
    "assignments",
    metavar="A.B=VALUE",
    multiple=True,
    help="Another value: of the workload, or ctx.…; repeatable.",
)
@click.option("--playbook", "file", metavar="FILE", help="Another text of the playbook, such as a repaired one.")
@surface_options
@click.option("--request-key", metavar="KEY", help="Run once: the same key again gives the same execution.")
@wait_option
@click.option("--quiet", "-q", is_flag=True, help="No progress; only the result, errors and the status.")
@place_options
@format_option
def command(
    execution: str,
    from_step: str | None,
    from_failed: bool,
    at: int | None,
    assignments: Sequence[str],
    file: str | None,
    legacy: bool,
    compat: str | None,
    request_key: str | None,
    wait_seconds: float,
    quiet: bool,
    home: str | None,
    store: str | None,
    form: str,
) -> int:
    """Run an execution again, as a new one; the old one stays as it is.

    ID is the execution's number, or last. Without a point it begins anew, with the same playbook and payload. With
    --from, --from-failed or --at the new one keeps the log up to there: steps and iterations that had ended are not run
    again. It prints what run prints and leaves with the same exit codes.

    Example: noetl rerun 4097 --from load --set ctx.table=orders_2 --playbook repaired.yaml
    """
    if (from_step is not None) + from_failed + (at is not None) > 1:
        raise click.UsageError("--from, --from-failed and --at each name the point to go on from: give one of them")
    settings = settings_of(home, store)
    point = {"from_step": from_step or "", "is_from_failed": from_failed, "at": at or 0}
    text = text_of(file, is_legacy=legacy, is_upstream=compat == "upstream")
    request = make_request(execution_id(execution, settings), assignments, request_key, **point, **text)
    observer = observer_for(form, quiet)
    try:
        result = executions_of(settings).rerun(settings, request, observer, wait_seconds)
    except InvalidPlaybook as error:
        from noetl.cli.refusing import refuse

        return refuse(error, form)
    finally:
        observer.close()
    from noetl.cli.endings import finish

    return finish(result, form, partial(place_in_execution, settings, int(result.summary["execution_id"])))


def text_of(file: str | None, *, is_legacy: bool, is_upstream: bool) -> dict[str, Any]:
    """The playbook to go on with, if it is not the one there was."""
    if file is None:
        if is_legacy or is_upstream:
            raise click.UsageError("--legacy and --compat say how to read the text that --playbook names")
        return {}
    found: Target = target_of(file)
    if found.data is None:
        raise click.UsageError(f'--playbook names a file, and there is no "{file}"')
    return {"data": found.data, "name": found.name, "is_legacy": is_legacy, "is_upstream": is_upstream}


def make_request(number: int, assignments: Sequence[str], request_key: str | None, **more: Any) -> RerunRequest:
    from noetl.server import RerunRequest

    values = {".".join(keys): value for keys, value in map(assignment, assignments)}
    return RerunRequest(execution_id=number, set=values, request_key=request_key, **more)
