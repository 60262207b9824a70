"""The lifecycle of servers and workers on this machine (RO-01): start, stop, status, scale.

Comes in: settings, and what the command line asks. Goes out: a process that runs, in the foreground or apart from its
terminal, and rows that say what runs. One that goes on by itself is this same program, started with a pid file and a
log file; what was given as flags it gets by its environment, so that no password is among its arguments. What a server
or a worker does is none of this module's business: `hosting` and `worker` have that.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from noetl import __version__
from noetl.config import LOG_JSON, SETTINGS, Settings, cores
from noetl.daemons import posts, stopping
from noetl.daemons.detaching import start_detached
from noetl.daemons.log_files import writing_to
from noetl.daemons.pid_files import Facts, PidFile, Record
from noetl.daemons.places import shown_url
from noetl.daemons.posts import SERVER, WORKER, Post
from noetl.daemons.rows import Row, answers, server_row, servers, worker_row, workers
from noetl.errors import AlreadyRunning, OperatorError, RequestError
from noetl.stores.disk import disk_faults, prepare_folder

PROGRAM = (sys.executable, "-P", "-m", "noetl")  # -P: a file beside the user named as a module of ours is not run
READY_SECONDS_MAX = 60.0
SCALE_SECONDS_MAX = 90.0
LOOK_SECONDS = 0.05

__all__ = ["SERVER", "WORKER", "Post", "servers", "workers"]  # what the verbs use besides the functions below


# --- in the foreground -----------------------------------------------------------------------------------------------


def run_server(
    settings: Settings,
    *,
    pid_file: Path | None = None,
    log_file: Path | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> int:
    """Be a server until a signal ends it; `on_ready` is told its address once it answers."""
    from noetl.hosting import serve_forever

    prepare_home(settings)
    facts = server_facts(settings, log_file)
    post = posts.post_of(settings.home, SERVER, str(settings.server_port), pid_file)

    def is_ready(url: str) -> None:
        port = url.rpartition(":")[2].rstrip("/")
        if settings.server_port == 0 and pid_file is None:  # which port it is, is known only now
            held.append(posts.post_of(settings.home, SERVER, port).pid_file)
            held[0].claim(f"the server on port {port}", __version__, facts)
        held[0].tell({"url": url, "port": int(port)})
        say(settings, f"the server listens at {url}", {})
        if on_ready is not None:
            on_ready(url)

    held: list[PidFile] = []
    with writing_to(log_file) if log_file else nullcontext(), releasing(held):
        if settings.server_port or pid_file:
            post.pid_file.claim(post.title, __version__, facts)
            held.append(post.pid_file)
        say(settings, f"starting a server on {settings.server_host} port {settings.server_port}", facts)
        return serve_forever(settings, is_ready)


def run_worker(
    settings: Settings, *, drain_seconds: float, pid_file: Path | None = None, log_file: Path | None = None
) -> int:
    """Be a worker until a signal ends it. Only one with a pid file can be stopped and scaled by the commands."""
    from noetl import worker

    prepare_home(settings)
    facts = worker_facts(settings, log_file)
    post = posts.post_of(settings.home, WORKER, settings.pool, pid_file) if pid_file else None
    held = [post.pid_file] if post else []

    def wanted() -> int:
        said = posts.scaled(post) if post else None
        return said or settings.worker_processes or cores()

    def is_ready(processes: int) -> None:
        for file in held:
            file.tell({"processes": processes})
        say(settings, f"the worker of pool {settings.pool} has enrolled; processes: {processes}", {})

    with writing_to(log_file) if log_file else nullcontext(), releasing(held):
        if post:
            post.pid_file.claim(post.title, __version__, facts)
        say(settings, f"starting a worker, processes: {wanted()}", facts)
        return worker.start(
            settings,
            processes=wanted(),
            drain_seconds=drain_seconds,
            on_ready=is_ready,  # with how many processes have enrolled: at first, and after each change of the number
            wanted=wanted if post else None,  # asked again on SIGHUP
        )


def prepare_home(settings: Settings) -> None:
    """It is made here, for its owner alone; a folder made below it would bring it about with any rights."""
    with disk_faults(settings.home):
        prepare_folder(settings.home)


@contextmanager
def releasing(held: Sequence[PidFile]) -> Iterator[None]:
    try:
        yield
    finally:
        for file in held:
            file.release()


def server_facts(settings: Settings, log_file: Path | None) -> dict[str, str | int]:
    return {
        "store": shown_url(settings.store_url),
        "queue": shown_url(settings.queue_url),
        "token_file": str(settings.server_token_file or settings.home / "server.token"),
        "log_file": str(log_file or ""),
    }


def worker_facts(settings: Settings, log_file: Path | None) -> dict[str, str | int]:
    return {
        "pool": settings.pool,
        "queue": shown_url(settings.queue_url),
        "token_file": str(settings.server_token_file or settings.home / "worker.token"),
        "log_file": str(log_file or ""),
    }


def say(settings: Settings, what: str, facts: Facts) -> None:
    """One line for whoever started it. Nothing in it is secret."""
    shown = {name: value for name, value in facts.items() if value}
    if settings.log_format == LOG_JSON:  # as the lines of the log are that follow it
        line = {"ts": time.time(), "level": "INFO", "logger": __name__, "message": what, "action": "lifecycle", **shown}
        print(msgspec.json.encode(line).decode(), file=sys.stderr, flush=True)
        return
    details = "".join(f"; {name.replace('_', ' ')} {value}" for name, value in shown.items())
    print(f"noetl {__version__}: {what}{details}", file=sys.stderr, flush=True)


# --- apart from the terminal -----------------------------------------------------------------------------------------


def start_server(
    settings: Settings,
    flags: Mapping[str, Any],
    *,
    pid_file: Path | None = None,
    log_file: Path | None = None,
    ready_seconds_max: float = READY_SECONDS_MAX,
    program: Sequence[str] = PROGRAM,
) -> Row:
    """Start a server that goes on by itself; gives its row when it answers. Raises AlreadyRunning, DidNotStart."""
    if settings.server_port == 0:
        raise RequestError("a server that goes on by itself needs a port to be found by: --port 8642")
    prepare_home(settings)
    post = posts.post_of(settings.home, SERVER, str(settings.server_port), pid_file)
    record = detached(post, (*program, SERVER, "start"), flags, log_file, ready_seconds_max, answers)
    return server_row(post, record)


def start_worker(
    settings: Settings,
    flags: Mapping[str, Any],
    *,
    drain_seconds: float,
    pid_file: Path | None = None,
    log_file: Path | None = None,
    ready_seconds_max: float = READY_SECONDS_MAX,
    program: Sequence[str] = PROGRAM,
) -> Row:
    """Start a worker that goes on by itself; gives its row when its processes have enrolled."""
    prepare_home(settings)
    post = posts.post_of(settings.home, WORKER, settings.pool, pid_file)
    if flags.get("worker.processes") and not post.pid_file.running():
        post.scale_file.unlink(missing_ok=True)  # this number is meant now, and not an earlier one
    words = (*program, WORKER, "start", "--drain", f"{drain_seconds:g}")
    return worker_row(post, detached(post, words, flags, log_file, ready_seconds_max, lambda _record: True))


def detached(
    post: Post,
    words: Sequence[str],
    flags: Mapping[str, Any],
    log_file: Path | None,
    ready_seconds_max: float,
    is_up: Callable[[Record], bool],
) -> Record:
    if sys.platform == "win32":
        raise OperatorError("--detach is not there on Windows; start it in the foreground, or as a service")
    if running := post.pid_file.running():
        raise AlreadyRunning(post.title, running.pid, str(post.path))
    log = (log_file or post.log_file).absolute()
    return start_detached(
        [*words, "--pid-file", str(post.path.absolute()), "--log-file", str(log)],
        what=post.title,
        environ={**os.environ, **variables(flags)},
        pid_file=post.pid_file,
        log_file=log,
        ready_seconds_max=ready_seconds_max,
        answers=is_up,
    )


def variables(flags: Mapping[str, Any]) -> dict[str, str]:
    """What was given as flags, by key, as the variables that say the same."""
    names = {setting.key: setting.variable for setting in SETTINGS}
    return {names[key]: str(value).lower() if isinstance(value, bool) else str(value) for key, value in flags.items()}


# --- stopping and scaling --------------------------------------------------------------------------------------------


def post_meant(settings: Settings, role: str, name: str | None, pid_file: Path | None) -> Post:
    """The post of a name or a pid file; with neither, that of the only one which runs."""
    running = posts.posts_in(settings.home, role)
    if name is None and pid_file is None and len(running) == 1:
        return running[0][0]
    if name is None and pid_file is None and len(running) > 1:
        option = "--port" if role == SERVER else "--pool"
        raise RequestError(f"several run; choose one with {option}: {', '.join(post.name for post, _ in running)}")
    usual = str(settings.server_port) if role == SERVER else settings.pool
    return posts.post_of(settings.home, role, name or usual, pid_file)


def stop(post: Post, *, drain_seconds_max: float, is_killing: bool) -> Row:
    """End whoever has the post; gives what became of it: stopped, killed or still draining."""
    record = post.pid_file.running()
    if record is None:
        raise OperatorError(f"{post.title} does not run, as far as {post.path} says; nothing was stopped")
    began = time.monotonic()
    ended = stopping.stop(post.pid_file, record, drain_seconds_max=drain_seconds_max, is_killing=is_killing)
    return {
        "role": post.role,
        "name": post.name,
        "pid": record.pid,
        "ended": ended,
        "seconds": time.monotonic() - began,
    }


def scale(post: Post, processes: int, *, seconds_max: float = SCALE_SECONDS_MAX) -> Row:
    """Have a worker run so many processes from now on, also after it was stopped and started again."""
    record = post.pid_file.running()
    if record is None:
        raise OperatorError(
            f"{post.title} does not run apart from a terminal here; start it with: noetl worker start --detach"
        )
    posts.set_scale(post, processes)
    stopping.notify(record, signal.SIGHUP)
    until = time.monotonic() + seconds_max
    while (now := post.pid_file.running()) is not None and now.facts.get("processes") != processes:
        if time.monotonic() > until:
            raise OperatorError(
                f"{post.title} was told to have {processes} processes, and has {now.facts.get('processes')} after "
                f"{seconds_max:.0f} seconds; those that drain still end by themselves. Its log: {post.log_file}"
            )
        time.sleep(LOOK_SECONDS)
    if now is None:
        raise OperatorError(f"{post.title} ended meanwhile; the number holds for its next start. Log: {post.log_file}")
    return {**worker_row(post, now), "before": record.facts.get("processes")}


# --- how everything is -----------------------------------------------------------------------------------------------


def examine(settings: Settings) -> list[Row]:
    """What `noetl doctor` finds."""
    import asyncio
    import logging

    from noetl.checkup.examine import examine as examined

    logging.getLogger("noetl").addHandler(logging.NullHandler())  # what goes wrong is a finding, and said once

    return [msgspec.to_builtins(finding) for finding in asyncio.run(examined(settings))]
