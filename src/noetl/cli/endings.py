"""How run and resume end: the result, the error, what to do next, and the exit code.

The output's data goes to standard output, so that `noetl run f.yaml > out` keeps it; everything else goes to standard
error. As JSON the summary is the one document on standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from noetl.cli import exits, voice
from noetl.cli.advice import advise
from noetl.cli.sentences import error_sentence
from noetl.cli.voice import say
from noetl.cli.words import as_json, coloured, data_lines, duration_ms, plural, status_word

if TYPE_CHECKING:
    from noetl.config import Settings
    from noetl.server import RunResult

EXIT_CODES = {
    "success": exits.DONE,
    "failed": exits.FAILED,
    "cancelled": exits.FAILED,
    "incident": exits.FAILED,
    "waiting": exits.WAITING,
}
ENDED = frozenset(("success", "failed", "cancelled"))
OUTPUT_LINES_MAX = 20  # on a terminal; into a file goes all of it
PlaceOf = Callable[[str, "str | None"], str]  # step and task → file:line:column


def finish(result: RunResult, form: str, place_of: PlaceOf, settings: Settings | None = None) -> int:
    """Print what came of it and give the exit code."""
    summary, voice.unfinished = result.summary, 0
    is_stopped = result.is_interrupted and summary["status"] not in ENDED  # the last task may end it after Ctrl-C
    stopped = stopped_words(result) if is_stopped else ""
    with suppress(BrokenPipeError):  # whoever read it has had enough: the run ended as it did
        show(summary, form, stopped, place_of)
        if form == "text":
            advise_on(result, is_stopped, settings)
    return exits.INTERRUPTED if is_stopped else EXIT_CODES.get(summary["status"], exits.FAILED)


def advise_on(result: RunResult, is_stopped: bool, settings: Settings | None) -> None:
    number, status = result.summary["execution_id"], result.summary["status"]
    if is_stopped:
        advise("left" if result.runs_on else "stopped", id=number)
    else:
        wanted = what_it_awaits(settings, int(number)) if settings and status == "waiting" else None
        undone = ".undone" if status == "failed" and result.is_undone else ""
        advise(f"ended.{status}{undone}", id=number, assignment=wanted or ...)


def what_it_awaits(settings: Settings, execution_id: int) -> str | None:
    from noetl.cli.awaited import awaited  # most runs wait for nothing

    return awaited(settings, execution_id)


def stopped_words(result: RunResult) -> str:
    """What became of an execution that this command no longer watches."""
    number = result.summary["execution_id"]
    if not result.runs_on:
        return f"stopped; noetl resume {number} goes on where it stopped"
    return (
        f"execution {number} goes on at {result.runs_on}; to end it: noetl cancel {number} --server {result.runs_on}, "
        f"to watch it again: noetl resume {number} --server {result.runs_on}"
    )


def show(summary: dict[str, Any], form: str, stopped: str, place_of: PlaceOf) -> None:
    if form == "json":
        say(as_json(summary))
    else:
        show_output(summary)
    if stopped:
        say(stopped, err=True)
    elif form == "text":
        show_end(summary, place_of)


def show_output(summary: dict[str, Any]) -> None:
    output = summary["output"] or {}
    data = output.get("data")
    if data is None:
        if output.get("ref"):
            say(f"the output is kept outside the log: {as_json(output['ref'])}", err=True)
        return
    lines = data_lines(data)
    cut = len(lines) - OUTPUT_LINES_MAX if sys.stdout.isatty() else 0
    say("\n".join(lines[: OUTPUT_LINES_MAX if cut > 0 else None]))
    if cut > 0:
        say(f"… {plural(cut, 'more line')}: noetl show {summary['execution_id']} --format json", err=True)


def show_end(summary: dict[str, Any], place_of: PlaceOf) -> None:
    """The error if there is one, the status, and what to do next."""
    execution, status, error = summary["execution_id"], summary["status"], summary["error"]
    if error and status != "success":
        place = place_of(error["step"], error.get("task")) if error.get("step") else ""
        say(f"{coloured('error:', 'red', bold=True)} {error_sentence(error, place)}", err=True)
    took = "" if summary["duration_ms"] is None else f" in {duration_ms(summary['duration_ms'])}"
    say(f"{status_word(status)}{took} · execution {execution}", err=True)
