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

MANY, MANY_MAX = 100, 10_000  # that --where may name


@click.command("rerun")
@click.argument("execution", metavar="[ID]", required=False)
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="All of a filter of noetl list, instead of ID.")
@click.option("--limit", type=click.IntRange(1, MANY_MAX), default=MANY, show_default=True, help="Of --where: no more.")
@click.option("--dry-run", is_flag=True, help="Of --where: only list them.")
@click.option("--yes", is_flag=True, help="Of --where: do not ask.")
@click.option("--from", "from_step", metavar="STEP", help="Go on from the latest run of this step.")
@click.option("--from-failed", is_flag=True, help="Go on from the step whose failure ended it.")
@click.option("--at", type=click.IntRange(min=1), metavar="SEQ", help="Go on after this event of its log.")
@click.option("--whole", is_flag=True, help="Run a failed loop anew, its finished iterations included.")
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
    execution: str | None,
    where: Sequence[str],
    limit: int,
    dry_run: bool,
    yes: bool,
    from_step: str | None,
    from_failed: bool,
    at: int | None,
    whole: bool,
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

    ID is the execution's number, its beginning, or last. Without a point it begins anew, with the same playbook and
    payload. With --from, --from-failed or --at the new one keeps the log up to there: steps and iterations that had
    ended are not run again. Of a step whose loop failed only the iterations are run that failed, were cancelled or had
    not begun; with --whole all of them. It prints what run prints and leaves with the same exit codes.

    With --where instead of ID all executions like that are run again, each as a new one: status, path, q, since, until
    as noetl list has them, and root=false for those that others called too. They are listed and asked for first. One
    that cannot go on is said and passed over; the same command again runs none of them twice. As in: noetl rerun
    --where status=failed --where since=24h --from-failed --yes

    Example: noetl rerun 4097 --from load --set ctx.table=orders_2 --playbook repaired.yaml
    """
    if (from_step is not None) + from_failed + (at is not None) > 1:
        raise click.UsageError("--from, --from-failed and --at each name the point to go on from: give one of them")
    if whole and from_step is None and not from_failed:
        raise click.UsageError("--whole says how to go on from a step: give --from STEP or --from-failed with it")
    settings = settings_of(home, store)
    point = {"from_step": from_step or "", "is_from_failed": from_failed, "at": at or 0, "is_whole": whole}
    text = text_of(file, is_legacy=legacy, is_upstream=compat == "upstream")
    if (execution is None) == (not where):
        raise click.UsageError("name one execution, or with --where those that are meant")
    if execution is None:
        if at is not None:
            raise click.UsageError("--at names an event of one log: --where goes with --from or --from-failed")
        from noetl.cli.rerun_many import Many, rerun_many

        many = Many(where=where, limit=limit, is_dry_run=dry_run, is_sure=yes, form=form, wait_seconds=wait_seconds)
        return rerun_many(settings, many, make_request(0, assignments, request_key, **point, **text))
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

    return finish(result, form, partial(place_in_execution, settings, int(result.summary["execution_id"])), settings)


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
