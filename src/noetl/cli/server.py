"""noetl server: start, stop and look at servers of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.lifecycle import (
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
from noetl.cli.options import format_option, store_options

port_option = click.option("--port", type=click.IntRange(1, 65535), metavar="PORT", help="The server on this port.")

COLUMNS = {
    "URL": text_of("url"),
    "ANSWERS": yes_or_no("answers"),
    "PROCESS": text_of("pid"),
    "FOR": age,
    "VERSION": text_of("version"),
    "STORE": text_of("store"),
    "QUEUE": text_of("queue"),
}


@click.group("server")
def command() -> None:
    """Start, stop and look at servers of this machine.

    With no set-up a server keeps everything in SQLite and runs the work itself. With PostgreSQL and NATS any number of
    servers work side by side, and workers run on any number of machines.

    Example: noetl server start --detach
    """


@command.command("start")
@store_options
@click.option("--queue", metavar="URL", help="NATS, by which workers are reached: nats://host:4222.")
@click.option("--host", metavar="HOST", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, metavar="PORT", help="The port to listen on; 0: a free one.  [default: 8642]")
@click.option("--tls-cert", metavar="FILE", help="The server's certificate, and those it was signed by, in PEM.")
@click.option("--tls-key", metavar="FILE", help="The certificate's key, in PEM.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine without TLS, in so many words.")
@click.option("--no-workers", is_flag=True, help="Run no tasks in the server's process.")
@click.option("--slots", type=int, metavar="N", help="Tasks at once in the server's process.  [default: 128]")
@apart_options
def start(detach: bool, pid_file: Path | None, log_file: Path | None, ready_seconds: float, **given: Any) -> int:
    """Start a server: in the foreground, or with --detach apart from this terminal.

    SIGTERM or Ctrl-C ends it cleanly; a second one at once. Exit code with --detach: 0 it answers, 1 it runs already or
    did not start, and the end of its log is shown.

    Example: noetl server start --store postgresql://db/noetl --queue nats://nats:4222 --detach
    """
    from noetl import clictl

    flags = start_flags(**given)
    settings = flags.settings()
    if not detach:
        return clictl.run_server(settings, pid_file=pid_file, log_file=log_file)
    row = clictl.start_server(
        settings, flags.values, pid_file=pid_file, log_file=log_file, ready_seconds_max=ready_seconds
    )
    click.echo(f"started the server at {row['url']} (process {row['pid']}); log file {row['log_file']}", err=True)
    advise("server.started", url=row["url"], port=row["port"])
    return exits.DONE


def start_flags(
    *,
    home: str | None,
    store: str | None,
    queue: str | None,
    host: str | None,
    port: int | None,
    tls_cert: str | None,
    tls_key: str | None,
    insecure: bool,
    no_workers: bool,
    slots: int | None,
) -> Flags:
    return Flags(
        {
            "home": ("--home", home),
            "store.url": ("--store", store),
            "queue.url": ("--queue", queue),
            "server.host": ("--host", host),
            "server.port": ("--port", port),
            "server.tls_cert": ("--tls-cert", tls_cert),
            "server.tls_key": ("--tls-key", tls_key),
            "server.insecure": ("--insecure", insecure or None),
            "server.workers": ("--no-workers", False if no_workers else None),
            "slots": ("--slots", slots),
        }
    )


@command.command("stop")
@port_option
@stop_options
@home_option
@format_option
def stop(
    port: int | None, drain_seconds_max: float, pid_file: Path | None, kill: bool, home: str | None, form: str
) -> int:
    """End a server cleanly, and wait for it.

    Without --port, the only one that runs. Exit code: 0 it has ended, 1 there was none or it still drains.

    Example: noetl server stop --timeout 120
    """
    from noetl import clictl

    post = clictl.post_meant(home_settings(home), clictl.SERVER, str(port) if port else None, pid_file)
    ended = clictl.stop(post, drain_seconds_max=drain_seconds_max, is_killing=kill)
    return print_stopped(post.title, ended, form)


@command.command("status")
@port_option
@pid_file_option
@home_option
@format_option
def status(port: int | None, pid_file: Path | None, home: str | None, form: str) -> int:
    """Say which servers run on this machine, and whether they answer.

    Without --port, all that were started from this home. Exit code: 0 running, 1 none runs, 3 one does not answer.

    Example: noetl server status --format json
    """
    from noetl import clictl

    rows = clictl.servers(home_settings(home), port, pid_file)
    none = f"no server runs{f' on port {port}' if port else ''}"
    return print_running(rows, form, COLUMNS, role="server", is_well="answers", none=none)
