"""noetl migrate: prints, shows or writes the new text, names what it left, and says so with its exit code."""

import io
import json
import subprocess
import sys

import pytest

from noetl.cli import exits
from noetl.cli.main import main

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: t }\n"
OLD = HEAD + 'workflow:\n  - step: a  # one\n    when: "{{ true }}"\n    tool: { kind: noop, args: { a: 1 } }\n'
NEW = HEAD + (
    "workflow:\n  - step: a  # one\n    spec:\n      policy:\n        admit:\n          rules:\n"
    '            - when: "{{ true }}"\n              then: { allow: true }\n'
    "            - else:\n                then: { allow: false }\n"
    "    tool: { kind: noop, input: { a: 1 } }\n"
)
LEFT = HEAD + (
    "workflow:\n  - step: a\n    tool: { kind: noop }\n    next:\n      spec: { mode: inclusive }\n      arcs:\n"
    "        - { step: b, args: { x: 1 } }\n        - { step: b, args: { x: 2 } }\n"
    '  - step: b\n    tool: { kind: http, url: "https://x.y/{{ args.x }}" }\n'
)


@pytest.fixture
def playbook(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(OLD, encoding="utf-8")
    return path


def test_the_new_text_is_printed_and_the_file_stays(playbook, capfd):
    assert main(["migrate", str(playbook)]) == exits.DONE

    captured = capfd.readouterr()
    assert captured.out == NEW
    assert captured.err == f"{playbook}: 2 changes from document 003\nnext: noetl migrate --write {playbook}\n"
    assert playbook.read_text(encoding="utf-8") == OLD


def test_standard_input_goes_to_standard_output(monkeypatch, capfdbinary):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OLD.encode()), encoding="utf-8"))

    assert main(["migrate", "-"]) == exits.DONE

    assert capfdbinary.readouterr().out == NEW.encode()


def test_diff_is_one_that_patch_takes(playbook, tmp_path, capfd):
    assert main(["migrate", "--diff", str(playbook)]) == exits.DONE

    shown = capfd.readouterr().out.replace(str(tmp_path)[1:] + "/", "")
    done = subprocess.run(["git", "apply", "-"], input=shown, text=True, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert playbook.read_text(encoding="utf-8") == NEW


def test_write_changes_files_in_place_and_a_second_time_nothing(playbook, tmp_path, capfd):
    (tmp_path / "q.yaml").write_text(OLD, encoding="utf-8")

    assert main(["migrate", "--write", str(tmp_path)]) == exits.DONE
    assert main(["migrate", "--write", str(tmp_path)]) == exits.DONE

    assert playbook.read_text(encoding="utf-8") == (tmp_path / "q.yaml").read_text(encoding="utf-8") == NEW
    assert f"{playbook}: nothing to migrate" in capfd.readouterr().err


@pytest.mark.spec("PB-11")
def test_what_was_left_is_named_with_its_place_and_its_reason(playbook, capfd):
    playbook.write_text(LEFT, encoding="utf-8")

    assert main(["migrate", str(playbook)]) == exits.FAILED

    captured = capfd.readouterr()
    assert captured.out == LEFT.replace("{{ args.x }}", "{{ input.x }}")
    assert captured.err == (
        f"{playbook}: 1 change from v10\n"
        f'{playbook}:10:30: left: args.x of the arc from "a" to "b" stays\n'
        "   10 |         - { step: b, args: { x: 1 } }\n"
        "      |                              ^\n"
        '   why: "a" can send two tokens at once, and more than one of them may have it\n'
        "\n"
        f'{playbook}:11:30: left: args.x of the arc from "a" to "b" stays\n'
        "   11 |         - { step: b, args: { x: 2 } }\n"
        "      |                              ^\n"
        '   why: "a" can send two tokens at once, and more than one of them may have it\n'
        "\n"
        f"next: noetl migrate --write {playbook}\n"
    )


def test_after_writing_places_are_those_of_the_new_file(playbook, capfd):
    playbook.write_text(LEFT.replace("  - step: a\n", '  - step: a\n    when: "{{ true }}"\n'), encoding="utf-8")

    assert main(["migrate", "--write", str(playbook)]) == exits.FAILED

    line = next(line for line in capfd.readouterr().err.split("\n") if "left:" in line)
    number, column = (int(word) for word in line.removeprefix(f"{playbook}:").split(":")[:2])
    assert playbook.read_text(encoding="utf-8").split("\n")[number - 1][column - 1 :].startswith("x: 1")


def test_what_is_still_wrong_is_said(playbook, capfd):
    playbook.write_text(OLD.replace("noop", "nop"), encoding="utf-8")

    assert main(["migrate", "--diff", str(playbook)]) == exits.FAILED

    assert "p.yaml (rewritten):14:19: error NL303: " in capfd.readouterr().err


def test_the_surface_can_be_given(playbook, capfd):
    playbook.write_text(
        HEAD + "workflow: [{ step: a, tool: { kind: http, endpoint: 'https://x.y' } }]\n", encoding="utf-8"
    )

    assert main(["migrate", "--from", "v10", "--diff", str(playbook)]) == exits.FAILED
    assert main(["migrate", "--from", "upstream", "--diff", str(playbook)]) == exits.DONE

    assert "+workflow: [{ step: a, tool: { kind: http, url: 'https://x.y' } }]" in capfd.readouterr().out


@pytest.mark.spec("UP-01", "UP-02")
def test_what_keeps_the_meanings_of_upstream_says_so(playbook, capfd):
    playbook.write_text(
        HEAD + "workflow: [{ step: a, tool: { kind: http, endpoint: 'https://x.y' } }]\n", encoding="utf-8"
    )

    assert main(["migrate", "--from", "upstream", "--write", str(playbook)]) == exits.DONE
    assert main(["check", "--strict", str(playbook)]) == exits.DONE

    said = capfd.readouterr().err
    assert f"{playbook}: 2 changes from the public NoETL, written\n" in said
    assert f"{playbook}: kept: executor.spec.compat: upstream, for " in said


def test_a_file_that_is_no_yaml_is_told_and_left_and_the_others_are_done(playbook, tmp_path, capfd):
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [1\n", encoding="utf-8")

    assert main(["migrate", "--write", str(bad), str(playbook), str(tmp_path / "gone.yaml")]) == exits.WRONG_INPUT

    said = capfd.readouterr().err
    assert "bad.yaml:1:4: error NL101" in said
    assert "gone.yaml" in said
    assert bad.read_text(encoding="utf-8") == "a: [1\n"
    assert playbook.read_text(encoding="utf-8") == NEW


@pytest.mark.parametrize("words", [["--diff", "--write"], ["OTHER"], ["--write", "-"]])
def test_a_wish_that_makes_no_sense_is_a_usage_error(playbook, tmp_path, words, capfd):
    other = tmp_path / "q.yaml"
    other.write_text(OLD, encoding="utf-8")
    words = [str(other) if word == "OTHER" else word for word in words]

    assert main(["migrate", str(playbook), *words]) == exits.WRONG_INPUT

    assert playbook.read_text(encoding="utf-8") == OLD
    assert capfd.readouterr().out == ""


def test_json_says_what_was_changed_and_what_was_left(playbook, capfd):
    playbook.write_text(LEFT, encoding="utf-8")

    assert main(["migrate", "--format", "json", str(playbook)]) == exits.FAILED

    (found,) = json.loads(capfd.readouterr().out)
    assert found["path"] == str(playbook)
    assert found["from"] == "v10"
    assert (found["changed"], found["written"]) == (True, False)
    assert found["changes"] == [{"old": "args", "new": "input", "line": 13, "column": 46}]
    assert [(one["line"], one["column"]) for one in found["left"]] == [(10, 30), (11, 30)]
    assert found["findings"] == []
    assert found["text"] == LEFT.replace("{{ args.x }}", "{{ input.x }}")
