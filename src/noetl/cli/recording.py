"""noetl run --record: a run for real, written down as a test. What could not be written is refused before it runs."""

from __future__ import annotations

import os
from pathlib import Path

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.files import STANDARD_INPUT, write_whole
from noetl.cli.playing import play
from noetl.cli.voice import say
from noetl.cli.words import in_bytes
from noetl.config import Settings
from noetl.dsl.findings import printable
from noetl.errors import NoetlError
from noetl.rehearsal.recording import Recorded, recorded, recording_name
from noetl.rehearsal.taps import Taps
from noetl.running import run as run_here
from noetl.server import Observer, RunRequest, RunResult


def play_recorded(
    settings: Settings, request: RunRequest, target: str, file: str, form: str, *, is_quiet: bool, is_forced: bool
) -> int:
    """Run it, say how it ended, and write the test."""
    refuse_early(settings, request, target, file, is_forced=is_forced)
    heard: list[tuple[Taps, RunResult]] = []

    def run(settings: Settings, request: RunRequest, observer: Observer) -> RunResult:
        taps = Taps(settings, observer)
        result = run_here(settings, request, taps.observer, taps)
        heard.append((taps, result))
        return result

    code = play(settings, request, form, is_quiet=is_quiet, run=run)
    if not heard:
        return code
    taps, result = heard[0]
    if result.is_interrupted:
        say("the run is not recorded: it was interrupted", err=True)
        return code
    playbook = os.path.relpath(target, Path(file).absolute().parent)
    try:
        made = recorded(settings, request, taps, result.summary, file, playbook)
    except NoetlError as error:
        say(f"error: {printable(str(error))}", err=True)
        return code or exits.FAILED
    write(file, made)
    tell(file, made)
    return code


def refuse_early(settings: Settings, request: RunRequest, target: str, file: str, *, is_forced: bool) -> None:
    """Nothing has run yet. Raises UsageError."""
    if settings.server_url:
        raise click.UsageError("--record listens to the tools of a run in this process: run it without --server")
    if request.data is None or target == STANDARD_INPUT:
        raise click.UsageError("--record writes a test that names the playbook's file: run a file")
    if request.is_legacy and request.is_upstream:
        raise click.UsageError("a test names one surface: record it with --legacy or with --compat upstream, not both")
    if request.request_key is not None:
        raise click.UsageError(
            "--record needs a run of its own, and --request-key may give one that was: give one of them"
        )
    folder = Path(file).parent
    for path in (Path(file), folder / recording_name(file)):
        if path.is_dir():
            raise click.UsageError(f'"{printable(str(path))}" is a folder; name a file, such as tests/NAME.test.yaml')
        if path.exists() and path.samefile(target):
            raise click.UsageError(f'"{printable(str(path))}" is the playbook itself; name another file for its test')
        if path.exists() and not is_forced:
            raise click.UsageError(f'"{printable(str(path))}" is there already; --force writes over it')
    folder.mkdir(parents=True, exist_ok=True)


def write(file: str, made: Recorded) -> None:
    recording = str(Path(file).parent / recording_name(file))
    if made.recording is not None:
        write_whole(recording, made.recording)
    else:
        Path(recording).unlink(missing_ok=True)
    write_whole(file, made.test)


def tell(file: str, made: Recorded) -> None:
    more = ""
    if made.recording is not None:
        more = f", and {in_bytes(len(made.recording))} of answers to {recording_name(file)} beside it"
    say(f"recorded to {printable(file)}{more}", err=True)
    if made.fault:
        say(f"   note: it does not pass as it is: {printable(made.fault)}", err=True)
    elif made.left_out:
        names = ", ".join(f"expect.{key}" for key in made.left_out)
        say(f"   note: {names} left out: it would come out otherwise without the real time or ids", err=True)
    advise("recorded", file=file)
