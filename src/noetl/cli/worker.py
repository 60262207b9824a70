"""noetl worker: start, stop, scale and look at workers of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.lifecycle import (
    DRAIN_SECONDS,
    Flags,
    age,
    apart_options,
    home_option,
    home_settings,
    pid_file_option,
    print_running,
    print_stopped,
    stop_options,
    text_of,
    yes_or_no,
)
from noetl.cli.options import format_option
from noetl.cli.words import as_json

PROCESSES_MAX = 1024
pool_option = click.option("--pool", metavar="NAME", help="The worker of this pool.")

COLUMNS = {
    "POOL": text_of("pool"),
    "ENROLLED": yes_or_no("is_ready"),
    "PROCESSES": text_of("processes"),
    "PROCESS": text_of("pid"),
    "FOR": age,
    "VERSION": text_of("version"),
    "QUEUE": text_of("queue"),
}


@click.group("worker")
def command() -> None:
    """Start, stop, scale and look at workers of this machine.

    A worker takes jobs of its pool over NATS, runs their tasks and reports. It listens on no port and needs no
    database; it shows a token of role worker.

    Example: noetl worker start --pool gpu
    """


@command.command("start")
@click.option("--queue", metavar="URL", help="NATS, by which servers are reached: nats://host:4222.")
@click.option("--pool", metavar="NAME", help="The pool whose jobs it takes.  [default: default]")
@click.option("--slots", type=int, metavar="N", help="Tasks at once of kinds that only wait.  [default: 128]")
@click.option("--processes", type=int, metavar="N", help="Worker processes.  [default: one for each core]")
@click.option(
    "--drain",
    "drain_seconds",
    type=click.FloatRange(min=0),
    default=DRAIN_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="On SIGTERM: how long running tasks may take to finish.",
)
@click.option("--token-file", metavar="FILE", help="A token of role worker.  [default: worker.token in the home]")
@apart_options
@home_option
def start(
    drain_seconds: float,
    detach: bool,
    pid_file: Path | None,
    log_file: Path | None,
    ready_seconds: float,
    **given: Any,
) -> int:
    """Start a worker: in the foreground, or with --detach apart from this terminal.

    SIGTERM or Ctrl-C lets running tasks finish and hands the rest back; a second one ends it at once. A detached worker
    of a pool can be scaled and stopped by the other commands. Exit code with --detach: 0 its processes have enrolled,
    1 it runs already or did not start, and the end of its log is shown.

    Example: noetl worker start --queue nats://nats:4222 --pool gpu --processes 2
    """
    from noetl import clictl

    flags = start_flags(**given)
    settings = flags.settings()
    if not detach:
        return clictl.run_worker(settings, drain_seconds=drain_seconds, pid_file=pid_file, log_file=log_file)
    row = clictl.start_worker(
        settings,
        flags.values,
        drain_seconds=drain_seconds,
        pid_file=pid_file,
        log_file=log_file,
        ready_seconds_max=ready_seconds,
    )
    many = "1 process" if row["processes"] == 1 else f"{row['processes']} processes"
    click.echo(f"started the worker of pool {row['pool']} with {many}; log file {row['log_file']}", err=True)
    advise("worker.started")
    return exits.DONE


def start_flags(
    *,
    home: str | None,
    queue: str | None,
    pool: str | None,
    slots: int | None,
    processes: int | None,
    token_file: str | None,
) -> Flags:
    return Flags(
        {
            "home": ("--home", home),
            "queue.url": ("--queue", queue),
            "pool": ("--pool", pool),
            "slots": ("--slots", slots),
            "worker.processes": ("--processes", processes),
            "server.token_file": ("--token-file", token_file),
        }
    )


@command.command("stop")
@pool_option
@stop_options
@home_option
@format_option
def stop(
    pool: str | None, drain_seconds_max: float, pid_file: Path | None, kill: bool, home: str | None, form: str
) -> int:
    """End a detached worker cleanly, and wait for it.

    Without --pool, the only one that runs. Exit code: 0 it has ended, 1 there was none or it still drains.

    Example: noetl worker stop --pool gpu
    """
    from noetl import clictl

    post = clictl.post_meant(home_settings(home), clictl.WORKER, pool, pid_file)
    ended = clictl.stop(post, drain_seconds_max=drain_seconds_max, is_killing=kill)
    return print_stopped(post.title, ended, form)


@command.command("status")
@pool_option
@pid_file_option
@home_option
@format_option
def status(pool: str | None, pid_file: Path | None, home: str | None, form: str) -> int:
    """Say which detached workers run on this machine.

    Exit code: 0 running, 1 none runs, 3 one has not enrolled yet. What servers see of all workers: noetl doctor.

    Example: noetl worker status
    """
    from noetl import clictl

    rows = clictl.workers(home_settings(home), pool, pid_file)
    none = f"no detached worker runs{f' for pool {pool}' if pool else ''}"
    return print_running(rows, form, COLUMNS, role="worker", is_well="is_ready", none=none)


@command.command("scale")
@click.argument("processes", metavar="N", type=click.IntRange(1, PROCESSES_MAX))
@pool_option
@pid_file_option
@home_option
@format_option
def scale(processes: int, pool: str | None, pid_file: Path | None, home: str | None, form: str) -> int:
    """Have a detached worker run N processes: more are started, or some drain and end.

    The number holds for its next start too, unless that says --processes.

    Example: noetl worker scale 8 --pool gpu
    """
    from noetl import clictl

    post = clictl.post_meant(home_settings(home), clictl.WORKER, pool, pid_file)
    row = clictl.scale(post, processes)
    if form == "json":
        click.echo(as_json(row))
    else:
        click.echo(f"{post.title}: {row['before']} → {row['processes']} processes")
        advise("worker.started")
    return exits.DONE
