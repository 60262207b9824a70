"""The front door of the command line: version, help, completion, and what a person sees when something goes wrong."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from noetl import __version__
from noetl.cli import exits, voice
from noetl.cli import main as run_main
from noetl.cli.group import noetl
from noetl.cli.main import SPELT_ELSEWHERE, VERBS, Verb

FULL = Path("/dev/full")


@pytest.fixture
def verb(monkeypatch):
    """Give the table one more verb, `trial`, that does what the test says."""

    def add(body):
        command = click.command("trial")(body)
        monkeypatch.setitem(VERBS, "trial", Verb(f"{__name__}:trial", "For this test."))
        monkeypatch.setattr(sys.modules[__name__], "trial", command, raising=False)

    return add


def raises(error):
    def body():
        raise error

    return body


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_printed(flag, capsys):
    assert run_main([flag]) == exits.DONE
    assert capsys.readouterr().out == f"noetl {__version__}\n"


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_verb_with_its_line(flag, capsys):
    assert run_main([flag]) == exits.DONE

    said = capsys.readouterr().out
    for name, row in VERBS.items():
        assert f"  {name} " in said
        assert row.help in said


def test_no_verb_prints_the_help_and_is_a_usage_error(capsys):
    assert run_main([]) == exits.WRONG_INPUT

    said = capsys.readouterr().err
    assert "Commands:" in said
    assert said.startswith("Usage: noetl ")
    assert "error:" not in said
    assert said.lower().count("usage: noetl ") == 1


def test_every_verb_of_the_table_is_a_command_with_that_name():
    context = click.Context(noetl)
    commands = {name: noetl.get_command(context, name) for name in VERBS}

    assert {name: command.name for name, command in commands.items()} == {name: name for name in VERBS}
    assert all(command.help for command in commands.values())


@pytest.mark.parametrize(
    ("word", "advice"), [("chek", 'did you mean "check"?'), ("qqq", "the commands are: init, run,")]
)
def test_an_unknown_verb_is_answered_with_the_near_miss_or_the_list(word, advice, capsys):
    assert run_main([word]) == exits.WRONG_INPUT

    said = capsys.readouterr().err
    assert f'noetl has no command "{word}"' in said
    assert advice in said


@pytest.mark.spec("UP-10")
@pytest.mark.parametrize(("word", "verb"), [("status", "show"), ("exec", "run")])
def test_verbs_that_clients_of_the_public_noetl_call_mean_the_same(word, verb, capsys):
    assert run_main([word, "--help"]) == exits.DONE
    asked = capsys.readouterr().out
    assert run_main([verb, "--help"]) == exits.DONE

    assert asked.partition("\n")[2] == capsys.readouterr().out.partition("\n")[2]


@pytest.mark.spec("UP-10")
@pytest.mark.parametrize(("word", "verb"), SPELT_ELSEWHERE.items())
def test_verbs_of_the_public_noetl_that_are_called_otherwise_here_are_pointed_to(word, verb, capsys):
    assert run_main([word]) == exits.WRONG_INPUT

    assert f'did you mean "{verb}"?' in capsys.readouterr().err
    assert verb.split()[0] in VERBS or run_main([verb]) == exits.DONE


def test_an_interrupt_that_nothing_stopped_in_order_still_says_how_to_go_on(verb, capsys):
    def body():
        voice.unfinished = 4097
        raise KeyboardInterrupt

    verb(body)

    assert run_main(["trial"]) == exits.INTERRUPTED
    said = capsys.readouterr().err.lstrip()  # click ends the line with the ^C in it
    assert said == "interrupted; noetl resume 4097 goes on where it stopped\nnext: noetl resume 4097\n"
    assert run_main(["list", "--limit", "none"]) == exits.WRONG_INPUT
    assert voice.unfinished == 0


def test_an_unknown_option_is_a_usage_error(capsys):
    assert run_main(["--versoin"]) == exits.WRONG_INPUT
    assert "--version" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_the_shell(shell, capsys):
    assert run_main(["completion", shell]) == exits.DONE
    assert f"_NOETL_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_completion_of_an_unknown_shell_is_a_usage_error(capsys):
    assert run_main(["completion", "tcsh"]) == exits.WRONG_INPUT
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "offered"), [("mig", {"migrate"}), ("", set(VERBS)), ("--v", {"--version"})])
def test_the_shell_is_offered_verbs_and_options(typed, offered):
    environment = {"COMP_WORDS": f"noetl {typed}", "COMP_CWORD": "1", "_NOETL_COMPLETE": "bash_complete"}

    done = start([], environment)

    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == offered


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (click.ClickException("no such thing"), 1, "error: no such thing"),
        (click.UsageError("not like this"), exits.WRONG_INPUT, "error: not like this"),
        (KeyboardInterrupt(), exits.INTERRUPTED, "interrupted"),
        (
            FileNotFoundError(2, "No such file or directory", "a.yaml"),
            exits.WRONG_INPUT,
            'error: "a.yaml": No such file',
        ),
        (ConnectionRefusedError(111, "Connection refused"), exits.UNREACHABLE, "error: Connection refused"),
        (ValueError("odd"), exits.FAILED, "error: this is a fault of NoETL"),
    ],
)
def test_an_error_becomes_a_message_and_a_code(verb, capsys, error, code, message):
    verb(raises(error))

    assert run_main(["trial"]) == code

    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_what_was_printed_before_an_error_is_not_lost(verb, capfd):
    def body():
        click.echo("the first file is fine")
        raise FileNotFoundError(2, "No such file or directory", "b.yaml")

    verb(body)

    assert run_main(["trial"]) == exits.WRONG_INPUT
    assert capfd.readouterr().out == "the first file is fine\n"


def test_an_error_that_carries_its_exit_code_was_expected(verb, capsys):
    error = RuntimeError("cannot reach PostgreSQL at db:5432 (from NOETL_STORE_URL): connection refused")
    error.exit_code = exits.UNREACHABLE
    verb(raises(error))

    assert run_main(["trial"]) == exits.UNREACHABLE
    assert capsys.readouterr().err == f"error: {error}\n"


def test_the_traceback_of_a_fault_can_be_asked_for(verb, capsys, monkeypatch):
    monkeypatch.setenv("NOETL_TRACEBACK", "1")
    verb(raises(ValueError("odd")))

    assert run_main(["trial"]) == exits.FAILED
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("leave", [lambda: click.get_current_context().exit(4), lambda: 4], ids=["exit", "return"])
def test_a_verb_chooses_its_exit_code(verb, leave):
    verb(leave)

    assert run_main(["trial"]) == exits.WAITING


def test_the_group_works_under_clicks_own_runner():
    result = CliRunner().invoke(noetl, ["--version"])

    assert (result.exit_code, result.output) == (0, f"noetl {__version__}\n")


def start(arguments: list[str], environment: dict[str, str], **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "noetl", *arguments],
        env=os.environ | environment,
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


PRINT_ARROW = "import sys, click; from noetl.cli.main import _speak_utf8; _speak_utf8(); click.echo('a → b \\udcff')"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_is_utf8_whatever_the_locale_says(encoding):
    done = subprocess.run(
        [sys.executable, "-c", PRINT_ARROW],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.rstrip() == "a → b \\udcff".encode()


def test_a_reader_that_has_had_enough_is_not_an_error_message():
    reader, writer = os.pipe()
    os.close(reader)
    done = start(["--help"], {}, stdout=writer)
    os.close(writer)

    assert (done.returncode, done.stderr) == (exits.FAILED, "")


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_a_full_disk_is_a_message_without_a_traceback():
    with FULL.open("wb") as full:
        done = start(["--help"], {}, stdout=full)

    assert done.returncode == exits.FAILED
    assert done.stderr == "error: No space left on device\n"
