"""noetl run: a playbook to its end, with live progress."""

from __future__ import annotations

from collections.abc import Sequence

import click

from noetl.cli.files import STANDARD_INPUT
from noetl.cli.options import format_option, place_options, settings_of, surface_options, wait_option
from noetl.cli.payloads import payload_of
from noetl.cli.playing import make_request, play
from noetl.cli.targets import target_of


@click.command("run")
@click.argument("target", metavar="FILE|PATH[@VERSION]")
@click.option("--set", "assignments", metavar="A.B=VALUE", multiple=True, help="One value of the payload; repeatable.")
@click.option("--payload", metavar="JSON|@FILE|-", help="The payload: a JSON mapping, a file of it, or standard input.")
@surface_options
@click.option("--record", metavar="FILE", help="Write the run down as a test: its answers, and what came of it.")
@click.option("--force", is_flag=True, help="Let --record write over a file that is there.")
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
    record: str | None,
    force: bool,
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
    --server it runs there, files that it calls by name go along, and Ctrl-C only stops watching. --record writes a test
    that `noetl test` runs without the outside world.

    Exit code: 0 success, 1 failed or cancelled, 2 wrong input (nothing was started), 3 the store is in use or the
    server out of reach, 4 waiting for a signal, 130 interrupted.

    Example: noetl run orders.yaml --set day=2026-03-01 --set limits.rows=10
    """
    if target == payload == STANDARD_INPUT:
        raise click.UsageError("playbook and payload cannot both come from standard input: name a file for one of them")
    settings = settings_of(home, store)
    found = target_of(target)
    request = make_request(found, payload_of(payload, assignments), legacy, compat, request_key, wait_seconds)
    if record is not None:
        from noetl.cli.recording import play_recorded

        return play_recorded(settings, request, target, record, form, is_quiet=quiet, is_forced=force)
    if force:
        raise click.UsageError("--force is for --record FILE: nothing else is written")
    return play(settings, request, form, is_quiet=quiet)
