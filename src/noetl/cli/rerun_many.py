"""noetl rerun --where: all executions of a filter run again, each as a new one.

Comes in: the words of `noetl list` and one request for all. What will be done is listed and asked for first. Each one
has a request key that follows from the request and its id, so that the same command again does none of them twice.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.sides import Row, executions_of, is_empty, place_name
from noetl.cli.voice import say
from noetl.cli.words import as_json, clean, plural, status_word
from noetl.errors import InvalidPlaybook

if TYPE_CHECKING:
    from noetl.config import Settings
    from noetl.server import RerunRequest

WORDS = ("status", "path", "q", "since", "until", "root")
LIVE = ("running", "waiting")
KEY_DIGITS = 12


class Many(msgspec.Struct, frozen=True, kw_only=True):
    """How to go about it."""

    where: Sequence[str]
    limit: int
    is_dry_run: bool
    is_sure: bool
    form: str
    wait_seconds: float


def rerun_many(settings: Settings, many: Many, request: RerunRequest) -> int:
    """Run all of a filter again; gives the exit code."""
    rows = chosen(settings, many)
    if not rows:
        say(f"no executions like that in {place_name(settings)}: nothing to run again", err=True)
    if not rows or many.is_dry_run:
        show_chosen(rows, many.form)
        advise("listed" if rows else "listed.none_like_that", id=rows[0]["execution_id"] if rows else None)
        return exits.DONE
    if not many.is_sure and not is_wanted(rows, many.form):
        return exits.FAILED
    results: list[Row] = []
    requests = [keyed(request, int(row["execution_id"])) for row in rows]

    def tell(row: Row) -> None:
        results.append(row)
        if many.form == "text":
            say(line_of(row))

    try:
        is_interrupted = executions_of(settings).rerun_all(settings, requests, tell, many.wait_seconds)
    except InvalidPlaybook as error:
        from noetl.cli.refusing import refuse

        return refuse(error, many.form)
    return ended(results, many.form, is_interrupted=is_interrupted)


def chosen(settings: Settings, many: Many) -> list[Row]:
    """The executions that are meant: what somebody started, and what is not under way unless its status is named."""
    filters = filters_of(many.where)
    if is_empty(settings):
        return []
    found = executions_of(settings).list_executions(settings, many.limit + 1, filters)
    if len(found) > many.limit:
        more = f"there are more than {many.limit} like that; narrow --where, or raise --limit"
        raise click.UsageError(f"nothing was run again: {more}")
    return [row for row in found if filters.get("status") or row["status"] not in LIVE]


def filters_of(where: Sequence[str]) -> dict[str, Any]:
    """`status=failed` as `noetl list` reads `--status failed`."""
    from noetl.cli.list import command as listing

    words: list[str] = []
    is_root = True
    named: set[str] = set()
    for one in where:
        name, equals, value = one.partition("=")
        if name not in WORDS or not equals or not value:
            wanted = ", ".join(f"{word}=…" for word in WORDS)
            raise click.UsageError(f'--where takes one of {wanted}, not "{clean(one)}"')
        if name in named:
            raise click.UsageError(f"--where names {name} twice; several statuses are named with commas")
        named.add(name)
        if name == "root":
            if value not in ("true", "false"):
                raise click.UsageError(f'--where takes root=true or root=false, not "{clean(one)}"')
            is_root = value == "true"
        else:
            words += [f"--{name}", value]
    try:
        params = listing.make_context("list", words).params
    except click.BadParameter as error:  # which speaks of an option of noetl list
        raise click.UsageError(f"--where: {error.message}") from error
    kept = {name: params[name] for name in ("status", "path", "q", "since", "until") if params[name]}
    return {**kept, "is_root": True} if is_root else kept


def keyed(request: RerunRequest, execution_id: int) -> RerunRequest:
    """The request for one of them, under a key of its own: the same again is the same execution."""
    kept = msgspec.structs.replace(request, execution_id=0, request_key=None)
    digest = hashlib.sha256(msgspec.json.encode(kept, order="deterministic")).hexdigest()[:KEY_DIGITS]
    prefix = request.request_key or f"rerun-{digest}"
    return msgspec.structs.replace(request, execution_id=execution_id, request_key=f"{prefix}/{execution_id}")


# --- asking and telling ----------------------------------------------------------------------------------------------


def show_chosen(rows: list[Row], form: str) -> None:
    if form == "json":
        click.echo(as_json(rows))
        return
    from noetl.cli.list import lines_of

    for line in lines_of(rows) if rows else ():
        click.echo(line)


def is_wanted(rows: list[Row], form: str) -> bool:
    """Show them and ask; where nobody can answer, --yes is the answer."""
    if form == "json" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError(f"{plural(len(rows), 'execution')} would run again: say --yes, or look with --dry-run")
    show_chosen(rows, form)
    return click.confirm(f"run {plural(len(rows), 'execution')} again, as new ones?", err=True)


def line_of(row: Row) -> str:
    """`17 → 42 ✓ success`"""
    new, error = row["new_execution_id"], row["error"]
    arrow = f" → {new}" if new else ""
    before = " (run again before, under the same key)" if new and not row["is_new"] else ""
    why = f": {clean(str(error.get('message') or error.get('kind')))}" if error else ""
    return f"{row['execution_id']}{arrow} {status_word(row['status'])}{before}{why}"


def ended(results: list[Row], form: str, *, is_interrupted: bool) -> int:
    counts = Counter(row["status"] for row in results)
    if form == "json":
        say(as_json(results))
    else:
        words = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
        say(f"{plural(len(results), 'execution')}: {words}", err=True)
        say_next(results, is_interrupted)
    if is_interrupted:
        return exits.INTERRUPTED
    if set(counts) - {"success", "waiting"}:
        return exits.FAILED
    return exits.WAITING if counts["waiting"] else exits.DONE


def say_next(results: list[Row], is_interrupted: bool) -> None:
    """The command a person most likely wants next."""
    if is_interrupted:
        say("the same command again goes on; none is run twice", err=True)
    new = [row for row in results if row["new_execution_id"]]
    bad = [row for row in new if row["status"] not in ("success", "waiting")]
    if bad:
        advise("listed", id=bad[0]["new_execution_id"])
    else:
        advise("listed.none_like_that")
