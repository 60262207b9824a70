"""noetl fmt: files in place, standard input to standard output, nothing half done."""

import io
import json
import os
import stat
import sys

import pytest

from noetl.cli import exits
from noetl.cli.main import main

UGLY = "workflow:\n- step:   a  # one\n- step: b\n"
NEAT = "workflow:\n  - step: a  # one\n\n  - step: b\n"


@pytest.fixture
def playbook(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(UGLY, encoding="utf-8")
    return path


def give_input(monkeypatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def test_a_file_is_laid_out_in_place(playbook, capsys):
    assert main(["fmt", str(playbook)]) == exits.DONE

    assert playbook.read_text(encoding="utf-8") == NEAT
    assert "1 file laid out" in capsys.readouterr().err


def test_a_second_time_changes_nothing(playbook, capsys):
    main(["fmt", str(playbook)])
    before = playbook.stat()

    assert main(["fmt", str(playbook)]) == exits.DONE

    assert playbook.stat().st_mtime_ns == before.st_mtime_ns
    assert "1 file as it should be" in capsys.readouterr().err


def test_several_files_that_need_nothing_are_counted_in_words_that_fit(playbook, tmp_path, capsys):
    playbook.write_text(NEAT, encoding="utf-8")
    (tmp_path / "neat.yaml").write_text(NEAT, encoding="utf-8")

    main(["fmt", "--check", str(tmp_path)])

    assert "0 files would change, 2 files as they should be" in capsys.readouterr().err


def test_check_names_what_would_change_and_changes_nothing(playbook, tmp_path, capsys):
    (tmp_path / "neat.yaml").write_text(NEAT, encoding="utf-8")

    assert main(["fmt", "--check", str(tmp_path)]) == exits.FAILED

    assert capsys.readouterr().out == f"{playbook}\n"
    assert playbook.read_text(encoding="utf-8") == UGLY


def test_check_is_content_with_what_is_as_it_should_be(playbook):
    main(["fmt", str(playbook)])

    assert main(["fmt", "--check", str(playbook)]) == exits.DONE


def test_diff_shows_the_change_and_makes_none(playbook, capsys):
    assert main(["fmt", "--diff", str(playbook)]) == exits.DONE

    shown = capsys.readouterr().out
    assert "-- step:   a  # one\n" in shown
    assert "+  - step: a  # one\n" in shown
    assert playbook.read_text(encoding="utf-8") == UGLY


def test_standard_input_goes_to_standard_output(monkeypatch, capfdbinary):
    give_input(monkeypatch, UGLY.encode())

    assert main(["fmt", "-"]) == exits.DONE

    assert capfdbinary.readouterr().out == NEAT.encode()


def test_mode_and_links_stay(playbook, tmp_path):
    playbook.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(playbook)

    assert main(["fmt", str(link)]) == exits.DONE

    assert link.is_symlink()
    assert stat.S_IMODE(playbook.stat().st_mode) == 0o640
    assert playbook.read_text(encoding="utf-8") == NEAT


def test_a_byte_order_mark_stays(playbook):
    playbook.write_bytes(b"\xef\xbb\xbf" + UGLY.encode())

    assert main(["fmt", str(playbook)]) == exits.DONE

    assert playbook.read_bytes() == b"\xef\xbb\xbf" + NEAT.encode()


def test_a_file_that_is_no_yaml_is_told_and_left_and_the_others_are_done(playbook, tmp_path, capsys):
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [1\n", encoding="utf-8")

    assert main(["fmt", str(bad), str(playbook), str(tmp_path / "gone.yaml")]) == exits.WRONG_INPUT

    said = capsys.readouterr().err
    assert "bad.yaml:1:4: error NL101" in said
    assert "gone.yaml" in said
    assert bad.read_text(encoding="utf-8") == "a: [1\n"
    assert playbook.read_text(encoding="utf-8") == NEAT


def test_a_file_that_would_mean_something_else_is_left(playbook, monkeypatch, capsys):
    monkeypatch.setattr("noetl.dsl.fmt.layout", lambda text: "other: 1\n")

    assert main(["fmt", str(playbook)]) == exits.WRONG_INPUT

    assert "would not mean the same" in capsys.readouterr().err
    assert playbook.read_text(encoding="utf-8") == UGLY


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(playbook, monkeypatch, capsys):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)

    assert main(["fmt", str(playbook)]) == exits.FAILED

    assert playbook.read_text(encoding="utf-8") == UGLY
    assert list(playbook.parent.iterdir()) == [playbook]
    assert "No space left" in capsys.readouterr().err


def test_json_says_what_became_of_each_file(playbook, tmp_path, capsys):
    (tmp_path / "neat.yaml").write_text(NEAT, encoding="utf-8")

    assert main(["fmt", "--check", "--format", "json", str(tmp_path)]) == exits.FAILED

    assert json.loads(capsys.readouterr().out) == [
        {"path": str(tmp_path / "neat.yaml"), "status": "unchanged"},
        {"path": str(playbook), "status": "changed"},
    ]
