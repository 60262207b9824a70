"""noetl replay-test: whether an edited playbook would have changed past executions, and where first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.options import format_option, place_options, settings_of, surface_options
from noetl.cli.words import as_json, clean, coloured, one_line, plural
from noetl.errors import InvalidPlaybook, RequestError

if TYPE_CHECKING:
    from noetl.config import Settings

MARKS = {"same": ("✓", "green"), "changed": ("✗", "red"), "unknown": ("?", "yellow")}
VALUE_WIDTH_MAX = 60
DIFFERENCES_SHOWN = 3
LIMIT, LIMIT_MAX = 20, 1000


@click.command("replay-test")
@click.argument("file", metavar="FILE")
@click.argument("more", metavar="", nargs=-1)
@click.option(
    "--against", "executions", multiple=True, metavar="ID", help="A past execution, or last; several: --against 7 8 9."
)
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="All of a filter of noetl list.")
@click.option(
    "--limit", type=click.IntRange(1, LIMIT_MAX), default=LIMIT, show_default=True, help="Of --where: the newest."
)
@surface_options
@place_options
@format_option
def command(
    file: str,
    more: Sequence[str],
    executions: Sequence[str],
    where: Sequence[str],
    limit: int,
    legacy: bool,
    compat: str | None,
    home: str | None,
    store: str | None,
    form: str,
) -> int:
    """Say whether an edited playbook would have changed past executions, and where first.

    FILE is rehearsed in simulated time with the payload of each, and with what its tasks answered then; nothing runs
    for real. Leaves with 0 if none would have changed, 1 if one would, or if it cannot be told.

    Example: noetl replay-test orders.yaml --against last --where path=orders --where status=success
    """
    settings = settings_of(home, store)
    if settings.server_url:
        raise RequestError(
            "replay-test reads logs and stored results of this machine: noetl export takes an execution from a server, "
            "and noetl import keeps it here"
        )
    if more and not executions:
        raise click.UsageError(f"FILE is one playbook; past executions are named as in --against {clean(more[0])}")
    ids = meant(settings, [*executions, *more], where, limit)
    found: list[dict[str, Any]] = []
    try:
        judge(settings, ids, request_of(file, legacy, compat == "upstream"), found, form)
    except InvalidPlaybook as error:
        from noetl.cli.refusing import refuse

        return refuse(error, form, "rehearsed")
    if form == "json":
        click.echo(as_json(found))
    else:
        click.echo(last_line(found), err=True)
        bad = next((row["execution_id"] for row in found if row["verdict"] != "same"), None)
        advise("replay_tested.not" if bad else "replay_tested", id=bad, file=file)
    return exits.DONE if all(one["verdict"] == "same" for one in found) else exits.FAILED


def meant(settings: Settings, executions: Sequence[str], where: Sequence[str], limit: int) -> list[int]:
    """The executions that are named, then those of the filter; each once."""
    from noetl.cli.executions import execution_id
    from noetl.cli.rerun_many import filters_of
    from noetl.cli.sides import executions_of, is_empty

    if not executions and not where:
        raise click.UsageError("name past executions: --against ID, --against last, or --where path=…")
    ids = [execution_id(one, settings) for one in executions]
    if where and not is_empty(settings):
        filters = filters_of(where)
        rows = executions_of(settings).list_executions(settings, limit, filters)
        ids += [int(row["execution_id"]) for row in rows if row["status"] not in ("running", "waiting")]
    if not ids:
        raise click.UsageError("there is no past execution like that; noetl list names those there are")
    return list(dict.fromkeys(ids))


def request_of(file: str, is_legacy: bool, is_upstream: bool) -> Any:
    from noetl.cli.targets import target_of
    from noetl.server import RunRequest

    target = target_of(file)
    if target.data is None:
        raise click.UsageError(f'FILE is the edited playbook, and there is no file "{clean(file)}"')
    return RunRequest(
        data=target.data, name=target.name, folder=target.folder, is_legacy=is_legacy, is_upstream=is_upstream
    )


def judge(settings: Settings, ids: list[int], request: Any, found: list[dict[str, Any]], form: str) -> None:
    import msgspec

    from noetl.rehearsal.against import replay_tests

    def tell(verdict: Any) -> None:
        row = msgspec.to_builtins(verdict)
        found.append(row)
        if form == "text":
            for line in lines_of(row, request.name):
                click.echo(line)

    replay_tests(settings, ids, request, tell)


def lines_of(row: dict[str, Any], name: str) -> list[str]:
    """`✗ 17 would have changed: step "load" took other arcs (orders.yaml:12)`, and below it what."""
    mark, colour = MARKS[row["verdict"]]
    head = f"{coloured(mark, colour)} {row['execution_id']} {WORDS[row['verdict']]}"
    if row["verdict"] == "same":
        return [head]
    place = f" ({clean(name)}:{row['line']})" if row["line"] else ""
    rows = (row["first"] or row["call"] or {}).get("differences", [])
    return [f"{head}: {clean(row['sentence'])}{place}", *(difference(one) for one in rows[:DIFFERENCES_SHOWN])]


WORDS = {"same": "same", "changed": "would have changed", "unknown": "cannot be told"}


def difference(row: dict[str, Any]) -> str:
    sides = (one_line(row[side], VALUE_WIDTH_MAX) if side in row else "–" for side in ("before", "after"))
    return f"    {clean(row['path'] or 'value')}: {' → '.join(sides)}"


def last_line(found: list[dict[str, Any]]) -> str:
    counts = Counter(row["verdict"] for row in found)
    words = ", ".join(f"{counts[name]:,} {WORDS[name]}" for name in ("same", "changed", "unknown") if counts[name])
    return f"{plural(len(found), 'past execution')}: {words}"
