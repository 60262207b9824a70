"""noetl-sim: what it says of a seed that holds, and of one that does not."""

import re
import shlex

import pytest

from noetl.control.turn import Turn
from noetl.engine.commands import JobAdded
from noetl.testing.simulator.command import main
from noetl.testing.simulator.regressions import kept, read


@pytest.fixture
def forgetful(monkeypatch):
    """A product that forgets to queue the second step of every execution."""
    note = Turn._note

    def forget(self, changes):
        return note(self, [one for one in changes if not isinstance(one, JobAdded) or one.key[1] != 2])

    monkeypatch.setattr(Turn, "_note", forget)
    return monkeypatch


def test_seeds_that_hold_are_counted(capsys):
    code = main(["--seed", "3", "--count", "2", "--shape", "embedded"])

    assert code == 0
    assert re.fullmatch(r"2 seeds, \d+ faults, \d+ events: nothing is broken\n", capsys.readouterr().out)


def test_a_trace_is_everything_that_happened(capsys):
    main(["--seed", "3", "--shape", "embedded", "--trace"])

    lines = capsys.readouterr().out.splitlines()
    assert re.match(r" +0\.0000 outside +process\.1 begins", lines[0])
    assert any("playbook.execution.requested" in line for line in lines)


@pytest.mark.parametrize("shape", ["cluster", "embedded"])
def test_a_seed_that_fails_is_described_and_can_be_run_again(forgetful, capsys, shape):
    code = main(["--seed", "20", "--count", "50", "--shape", shape])

    text = capsys.readouterr().out
    assert code == 1
    assert text.startswith(("I9: ", "I12: "))
    assert re.search(rf"^seed \d+, {shape}, commit \S+$", text, re.MULTILINE)
    assert '"executions":' in text
    assert re.search(r"the last \d+ of \d+ things that happened:\n +\d+\.\d+ \S+ ", text)
    seed = re.search(r"^seed (\d+)", text, re.MULTILINE)[1]
    words = text.splitlines()[-1].removeprefix("again: noetl-sim ").split()
    assert words[:2] == ["--seed", seed]
    assert main(words) == 1


def test_what_is_chosen_of_a_configuration_is_said_again(forgetful, capsys):
    code = main(["--seed", "20", "--count", "50", "--with", '{"executions": 2, "rates": {}}'])

    text = capsys.readouterr().out
    words = shlex.split(text.splitlines()[-1].removeprefix("again: noetl-sim "))
    assert code == 1
    assert '"executions":2' in text
    assert "faults: 0" in text
    assert main(words) == 1


def test_what_no_configuration_has_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--seed", "20", "--with", '{"execution": 2}'])

    assert "--with" in capsys.readouterr().err


def test_a_mutant_is_met_in_the_worlds_in_which_it_does_harm_and_its_command_meets_it_again(capsys):
    code = main(["--seed", "300", "--count", "100", "--mutant", "jobsnotrebuilt"])

    text = capsys.readouterr().out
    words = text.splitlines()[-1].removeprefix("again: noetl-sim ").split()
    assert code == 1
    assert "embedded, commit " in text
    assert words[2:] == ["--shape", "embedded", "--mutant", "jobsnotrebuilt", "--trace"]
    assert main(words) == 1


def test_an_unknown_mutant_is_refused_with_the_names_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["--mutant", "nosuchthing"])

    assert "nofence" in capsys.readouterr().err


def test_a_smaller_case_is_kept_and_holds_once_the_fault_is_gone(forgetful, capsys, tmp_path):
    forgetful.chdir(tmp_path)
    main(["--seed", "20", "--count", "50", "--shape", "embedded", "--shrink"])
    [file] = kept()

    code_before = main(["--case", str(file)])
    forgetful.undo()
    code_after = main(["--case", str(tmp_path / file)])

    assert read(tmp_path / file).case.only == ()
    assert f"kept as {file}: noetl-sim --case {file} --trace" in capsys.readouterr().out
    assert (code_before, code_after) == (1, 0)
