"""Lines of the log: one for each record, with its ids, without secrets, and never two that were one."""

import json
import logging
import sys

import pytest

from noetl.keychain.redaction import Redactor
from noetl.logs import FIELD_CHARACTERS_MAX, JSON, TEXT, logging_to, logging_to_stderr

log = logging.getLogger("noetl.control.rescue")
SECRET = "hunter2-and-more"


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_of_json_has_the_action_the_ids_and_who_says_it(capsys):
    with logging_to_stderr(JSON, "info", {"server": "s-1"}):
        log.warning("leases expired", extra={"action": "leases_expired", "execution_id": 7})

    (line,) = lines(capsys)
    assert line.pop("ts") > 0
    assert line == {
        "level": "WARNING",
        "logger": "noetl.control.rescue",
        "message": "leases expired",
        "server": "s-1",
        "action": "leases_expired",
        "execution_id": "7",
    }


def test_a_line_for_people_says_the_same(capsys):
    with logging_to_stderr(TEXT, "info", {"server": "s-1"}):
        log.warning("leases expired", extra={"action": "leases_expired", "execution_id": 7})

    line = capsys.readouterr().err
    assert line.endswith("Z WARNING leases expired server=s-1 action=leases_expired execution_id=7\n")


@pytest.mark.parametrize("form", [TEXT, JSON])
@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_what_is_below_the_level_is_not_written(form, level, capsys):
    with logging_to_stderr(form, level):
        for name in ("debug", "info", "warning", "error"):
            getattr(log, name)("word %s", name)

    written = capsys.readouterr().err
    assert [name in written for name in ("word debug", "word info", "word warning", "word error")].count(True) == (
        4 - ["debug", "info", "warning", "error"].index(level)
    )


def raise_with(text):
    raise ValueError(f"refused {text}")


@pytest.mark.parametrize("form", [TEXT, JSON])
def test_a_known_secret_stands_in_no_part_of_a_line(form, capsys):
    with logging_to_stderr(form, "info", clean=Redactor([SECRET]).clean):
        try:
            raise_with(SECRET)
        except ValueError:
            log.exception("failed with %s", SECRET, extra={"action": "failed", "url": f"https://a:{SECRET}@b/c"})

    written = capsys.readouterr().err
    assert SECRET not in written
    assert written.count("***") >= 3
    assert "raise_with" in written


@pytest.mark.parametrize("form", [TEXT, JSON])
def test_a_line_that_cannot_be_cleaned_is_left_out_and_missed(form, capsys):
    def clean(_data):
        raise ValueError(SECRET)

    with logging_to_stderr(form, "info", clean=clean):
        log.warning("it is %s", SECRET)

    written = capsys.readouterr().err
    assert SECRET not in written
    assert "line_left_out" in written


@pytest.mark.parametrize("form", [TEXT, JSON])
def test_what_is_logged_cannot_make_a_line_of_its_own(form, capsys):
    with logging_to_stderr(form, "info"):
        log.info("a\nforged\x1b[2J line", extra={"path": "x\r\ny"})

    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert "\x1b" not in written
    assert "\r" not in written


def test_a_value_for_people_cannot_be_taken_for_other_fields(capsys):
    with logging_to_stderr("text", "info"):
        log.info("token revoked", extra={"who": 'x deed=token_created who="admin"', "token": "1f0c"})

    line = capsys.readouterr().err
    assert line.endswith(' token revoked who="x deed=token_created who=\\"admin\\"" token=1f0c\n')


@pytest.mark.parametrize("form", [TEXT, JSON])
def test_a_line_has_a_bound(form, capsys):
    with logging_to_stderr(form, "info"):
        log.info("x" * 100_000, extra={"detail": "y" * 100_000})

    assert len(capsys.readouterr().err) < 2 * FIELD_CHARACTERS_MAX + 200


def test_a_traceback_for_people_stands_below_its_line(capsys):
    with logging_to_stderr(TEXT, "info"):
        try:
            raise_with("it")
        except ValueError:
            log.exception("failed")

    head, *rest = capsys.readouterr().err.splitlines()
    assert head.endswith("failed")
    assert rest[-1] == "    ValueError: refused it"
    assert all(line.startswith("    ") for line in rest)


def test_what_the_web_server_says_has_the_same_form(capsys):
    with logging_to_stderr(JSON, "info"):
        logging.getLogger("uvicorn.error").info("Started process [%d]", 7, extra={"color_message": "\x1b[36m%d"})

    (line,) = lines(capsys)
    assert (line["message"], "color_message" in line) == ("Started process [7]", False)


def test_afterwards_logging_is_as_it_was(capsys):
    logger = logging.getLogger("noetl")
    before = (list(logger.handlers), logger.level, logger.propagate)

    with logging_to_stderr(TEXT, "debug"):
        assert (list(logger.handlers), logger.level, logger.propagate) != before

    assert (list(logger.handlers), logger.level, logger.propagate) == before


def test_a_terminal_that_is_gone_stops_nobody(monkeypatch, tmp_path):
    gone = (tmp_path / "gone").open("w")
    gone.close()
    monkeypatch.setattr(sys, "stderr", gone)

    with logging_to_stderr(TEXT, "info"):
        log.info("nobody hears this")

    assert (tmp_path / "gone").read_text() == ""


def test_a_run_logs_beside_its_store_and_only_when_there_is_something_to_say(tmp_path):
    with logging_to(tmp_path / "noetl.log"):
        pass
    assert not (tmp_path / "noetl.log").exists()

    with logging_to(tmp_path / "noetl.log"):
        log.error("engine fault", extra={"action": "engine_fault", "execution_id": 7})

    (line,) = (tmp_path / "noetl.log").read_text().splitlines()
    assert json.loads(line)["action"] == "engine_fault"


def test_a_log_file_is_for_its_owner_only(tmp_path):
    file = tmp_path / "noetl.log"

    with logging_to(file):
        logging.getLogger("noetl.trial").error("something broke", extra={"action": "trial"})

    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(file.read_text())["action"] == "trial"
