"""The way in: `noetl VERB …`. Has the words understood, runs the verb, and turns whatever happens into an exit code.

Comes in: the arguments. Goes out: an exit code of exits.py. Most lines are click's to understand (`group.py`); the
plain `noetl run FILE` is not, because click would be a tenth of its time (`plain.py`). A verb's module is imported when
that verb is asked for and not before; the one-line helps stand in the table here for the same reason. No traceback ever
reaches a person: an expected error says what to do, an unexpected one how to report it.
"""

import atexit
import contextlib
import gc
import io
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from noetl import __version__
from noetl.cli import exits, voice
from noetl.cli.plain import plain_run
from noetl.cli.voice import say

TRACEBACK_VARIABLE = "NOETL_TRACEBACK"
GARBAGE_THRESHOLD = 100_000  # a verb lives a moment: looking for garbage every 700 objects is a third of its time
OS_ERRORS: tuple[tuple[tuple[type[OSError], ...], int], ...] = (
    ((FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError), exits.WRONG_INPUT),
    ((ConnectionError, TimeoutError), exits.UNREACHABLE),
)


class Verb(NamedTuple):
    target: str  # module:attribute
    help: str


VERBS = {
    "init": Verb("noetl.cli.init:command", "Begin a project: a playbook that runs, its test, settings."),
    "run": Verb("noetl.cli.run:command", "Run a playbook to its end, with live progress."),
    "resume": Verb("noetl.cli.resume:command", "Go on with an execution where it stopped."),
    "rerun": Verb("noetl.cli.rerun:command", "Run an execution again from any step or event, as a new one."),
    "list": Verb("noetl.cli.list:command", "List executions, newest first."),
    "show": Verb("noetl.cli.show:command", "Show an execution: its steps over time, the error."),
    "events": Verb("noetl.cli.events:command", "Print the log of an execution, or follow it."),
    "replay": Verb("noetl.cli.replay:command", "Fold a log again: the state at any event, or a check."),
    "why": Verb("noetl.cli.why:command", "Say why a step ran, or did not, with the values it saw."),
    "diff": Verb("noetl.cli.diff:command", "Compare two executions: where they part first."),
    "replay-test": Verb("noetl.cli.replay_test:command", "Say whether an edit would have changed past executions."),
    "eval": Verb("noetl.cli.evaluate:command", "Evaluate an expression against an execution at any event."),
    "export": Verb("noetl.cli.export:command", "Write an execution, with all it needs, to one file."),
    "import": Verb("noetl.cli.importing:command", "Keep an exported execution as a finished record."),
    "cancel": Verb("noetl.cli.cancel:command", "End an execution before its end."),
    "signal": Verb("noetl.cli.signal:command", "Write to the ctx of an execution that waits."),
    "sweep": Verb("noetl.cli.sweep:command", "Remove stored results that nothing needs any more."),
    "catalog": Verb("noetl.cli.catalog:command", "Keep playbooks under a path, version by version."),
    "schedule": Verb("noetl.cli.schedule:command", "Start playbooks by themselves, by cron or every so often."),
    "trigger": Verb("noetl.cli.trigger:command", "Start playbooks by requests and messages from outside."),
    "keychain": Verb("noetl.cli.keychain:command", "Keep credentials encrypted, for playbooks to use by name."),
    "ui": Verb("noetl.cli.ui:command", "Open the web pages in a browser."),
    "server": Verb("noetl.cli.server:command", "Start, stop and look at servers of this machine."),
    "worker": Verb("noetl.cli.worker:command", "Start, stop, scale and look at workers of this machine."),
    "token": Verb("noetl.cli.token:command", "Make, list and revoke the tokens that servers ask for."),
    "doctor": Verb("noetl.cli.doctor:command", "Check store, queue, servers and workers, and say what to do."),
    "plan": Verb("noetl.cli.plan:command", "Say what would run, at worst how long, and what it needs."),
    "check": Verb("noetl.cli.check:command", "Find the faults of playbooks, all in one pass."),
    "test": Verb("noetl.cli.test:command", "Run the tests of playbooks, in simulated time."),
    "explain": Verb("noetl.cli.explain:command", "Print the page of a finding's code: what, why, wrong, right."),
    "fmt": Verb("noetl.cli.fmt:command", "Lay playbooks out in the one usual way; comments stay."),
    "migrate": Verb("noetl.cli.migrate:command", "Rewrite older playbooks in today's spelling."),
    "schema": Verb("noetl.cli.schema:command", "Print the JSON Schema that editors complete and check with."),
    "graph": Verb("noetl.cli.graph:command", "Draw a playbook's steps, arcs, loops and joins."),
    "completion": Verb("noetl.cli.completion:command", "Print the script that completes noetl in your shell."),
}

# What clients of the public NoETL are used to (UP-10): where the meaning is the same it works, else it is pointed to.
ALIASES = {"status": "show", "exec": "run"}
SPELT_ELSEWHERE = {
    "execute": "run",
    "executions": "list",
    "register": "catalog register",
    "credential": "keychain",
    "help": "--help",
    "version": "--version",
}


def main(args: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    _expect_a_short_life()
    _speak_utf8()
    voice.heard, voice.unfinished = list(sys.argv[1:] if args is None else args), 0
    code = _run(list(voice.heard))
    _settle_output()
    return code


@cache
def _expect_a_short_life() -> None:
    """Hardly look for garbage, and not at all at the end: what the process still holds goes with it.

    The interpreter's last collections walk all that was ever imported; frozen, it is left out. That saves a fifth of a
    short run, as much as leaving by os._exit would, and still flushes, joins and calls whoever asked to be called.
    """
    gc.set_threshold(GARBAGE_THRESHOLD)
    atexit.register(gc.freeze)


def _run(words: list[str]) -> int:
    try:
        code = _done(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _tell_interrupted()
        return exits.INTERRUPTED
    except BrokenPipeError:  # the reader, say `head`, has had enough: nothing failed
        return exits.DONE
    except Exception as error:
        return _report(error)
    return code


def _tell_interrupted() -> None:
    """Ctrl-C, once more than a run needs to stop in order: its execution is as safe as after a crash."""
    if not voice.unfinished:
        say("interrupted", err=True)
        return
    from noetl.cli.advice import advise

    say(f"interrupted; noetl resume {voice.unfinished} goes on where it stopped", err=True)
    advise("stopped", id=voice.unfinished)


def _done(words: list[str]) -> int:
    plain = plain_run(words)
    if plain is not None:
        from noetl.cli.playing import play_file

        return play_file(plain.file, plain.form, is_quiet=plain.is_quiet)
    from noetl.cli.group import run_verb

    return run_verb(words)


def _speak_utf8() -> None:
    """Print UTF-8 whatever the locale says; what has no UTF-8, such as an odd file name, is escaped and never fails."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: noetl … >&-
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty() and stream.encoding.lower().replace("-", "") != "utf8":
                from noetl.cli.plain_terminal import speak_plainly

                speak_plainly(stream)
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _settle_output() -> None:
    """Write what is left; where that fails, point the stream nowhere, or the interpreter would complain at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception) -> int:
    """Say what went wrong. An error that carries an `exit_code` was expected, and so were those of the system."""
    if os.environ.get(TRACEBACK_VARIABLE):
        import traceback

        traceback.print_exception(error)
    code: Any = getattr(error, "exit_code", None)
    if isinstance(code, int):
        say(f"error: {error}", err=True)
        _advise_after(error, _guess_file(getattr(error, "path", None)))
        return code
    if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
        say("error: an argument or a file name is not UTF-8 text; give it in UTF-8", err=True)
        return exits.WRONG_INPUT
    if isinstance(error, OSError):
        say(f"error: {_os_error(error)}", err=True)
        _advise_after(error, _guess_file(error.filename if isinstance(error, FileNotFoundError) else None))
        return next((code for kinds, code in OS_ERRORS if isinstance(error, kinds)), exits.FAILED)
    say(
        f"error: this is a fault of NoETL {__version__}, not yours: {type(error).__name__}: {error}\n"
        f"   fix: set {TRACEBACK_VARIABLE}=1, run the same command again and report what it prints",
        err=True,
    )
    return exits.FAILED


def _guess_file(name: object) -> str | None:
    """Say which file may have been meant, if one is called nearly so, and give it."""
    if not isinstance(name, str):
        return None
    from noetl.cli.near import near_file

    if near := near_file(name):
        say(f'   fix: did you mean "{near}"?', err=True)
    return near


def _advise_after(error: Exception, near: str | None) -> None:
    """What to do next, of the errors that the table of advice knows."""
    from noetl.cli.advice import GROUPS, NEXT, advise, is_bare, role_wanted

    verb, *rest = voice.heard[:2] or [""]
    command = " ".join([verb, *(rest if verb in GROUPS else ())])
    situation = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in NEXT), None)
    if near is not None and is_bare(voice.heard):
        situation = "misnamed"
    elif situation and rest and (rest[0].isdecimal() or rest[0] == "last") and f"{situation}.of_id" in NEXT:
        situation = f"{situation}.of_id"
    elif situation == "RequestError" and f"noetl {verb} list" in str(error):
        situation = "UnknownDocument"
    if situation:
        facts = {"name": getattr(error, "name", None), "role": role_wanted(str(error)), "kind": ...}
        advise(situation, verb=verb, command=command.split(), id=rest, file=near or ..., **facts)


def _os_error(error: OSError) -> str:
    place = f'"{os.fsdecode(error.filename)}": ' if isinstance(error.filename, str | bytes) else ""
    return place + (error.strerror or str(error) or type(error).__name__)
