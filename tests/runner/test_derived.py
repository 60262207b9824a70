"""Secrets that templates make of secrets are redacted too; what is made of public fields is left alone."""

import json
from pathlib import Path

import pytest

from noetl.expressions import parse
from tests.runner.runs import Ran, run
from tests.stores.unpacked import unpacked

CANARY = "CANARY-s3cr3t-99887766"
ENTRY = {
    "host": "db.example.com",
    "user": "app_user",
    "password": CANARY,
    "database": "orders",
    "options": "-c statement_timeout=500",
}
HEAD = "keychain: [{name: db, kind: postgres_credential}, {name: unused, kind: bearer}]\n"
ECHO = "result = dict(input)"


@pytest.fixture(autouse=True)
def credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_SECRET_DB", json.dumps(ENTRY))
    monkeypatch.setenv("NOETL_SECRET_UNUSED", "unused-s3cret")


def echoed(folder: Path, template: str) -> Ran:
    """A run whose task gives its input back, made by a template."""
    task = {"kind": "python", "input": {"t": template, "code": ECHO}}
    return run(folder, f"{HEAD}workflow: [{{step: start, tool: {json.dumps(task)}}}]\n")


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize(
    "expression",
    [
        "keychain.db.password | b64encode",
        "keychain.db.password | reverse",
        "keychain.db.password | upper",
        "keychain.db.password | sha256",
        "keychain.db.password[:12]",
        "'Signature ' ~ (keychain.db.password | sha256)",
        "keychain.db.user ~ ':' ~ (keychain.db.password | lower)",
        "[keychain.db.password | upper, {'a': keychain.db.password | reverse}]",
    ],
)
def test_what_a_template_made_of_a_secret_is_redacted(tmp_path: Path, expression: str) -> None:
    made = evaluated(expression)

    ran = echoed(tmp_path, "{{ " + expression + " }}")

    stored = b"".join(unpacked(file) for file in tmp_path.rglob("*") if file.is_file())
    assert ran.status == "success", ran.summary
    for text in made:
        assert text not in json.dumps([ran.summary, ran.log])
        assert text.encode() not in stored


def evaluated(expression: str) -> list[str]:
    """The texts that an expression gives."""
    found = parse("{{ " + expression + " }}").evaluate({"keychain": {"db": ENTRY}})
    return [word for text in texts_in(found) for word in text.split() if len(word) > 10]


def texts_in(found: object) -> list[str]:
    if isinstance(found, dict):
        return [text for value in found.values() for text in texts_in(value)]
    if isinstance(found, list):
        return [text for value in found for text in texts_in(value)]
    return [str(found)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("keychain.db.host", "db.example.com"),
        ("keychain.db.options", "-c statement_timeout=500"),
        ("keychain.db.host ~ '/' ~ keychain.db.user | upper", "db.example.com/APP_USER"),
        ("'production-system' if keychain.db.password else 'test-system'", "production-system"),
        ("keychain.db.password | length", len(CANARY)),
    ],
)
def test_what_is_made_of_public_fields_or_written_in_the_template_is_left_alone(
    tmp_path: Path, expression: str, expected: object
) -> None:
    ran = echoed(tmp_path, "{{ " + expression + " }}")

    assert ran.output["data"]["t"] == expected


@pytest.mark.spec("KC-05")
def test_a_whole_entry_gives_its_public_fields_and_hides_the_others(tmp_path: Path) -> None:
    ran = echoed(tmp_path, "{{ keychain.db }}")

    given = ran.output["data"]["t"]
    assert (given["host"], given["user"], given["password"]) == ("db.example.com", "app_user", "***")


@pytest.mark.spec("KC-05", "PB-06")
def test_what_a_workbook_task_makes_of_its_callers_secret_is_redacted(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        HEAD
        + """
workflow:
  - step: start
    tool: {kind: workbook, task: echo, input: {t: "{{ keychain.db.password }}", h: "{{ keychain.db.host }}"}}
workbook:
  echo:
    kind: python
    input: {own: "{{ input.t | upper }}", host: "{{ input.h | upper }}", code: "result = dict(input)"}
""",
    )

    assert (ran.output["data"]["own"], ran.output["data"]["host"]) == ("***", "DB.EXAMPLE.COM")


@pytest.mark.spec("KC-03")
def test_a_secret_too_short_to_be_redacted_still_reaches_its_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_SECRET_DB", json.dumps({**ENTRY, "password": "abc"}))
    monkeypatch.setenv("NOETL_SECRET_UNUSED", "abc")

    ran = echoed(tmp_path, "{{ keychain.db.password ~ '!' }}")

    assert ran.output["data"]["t"] == "abc!"


@pytest.mark.spec("KC-05")
def test_what_a_kind_calls_secret_is_so_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_SECRET_BUS", json.dumps({"url": f"nats://me:{CANARY}@bus.example.com"}))
    task = {"kind": "python", "input": {"t": "{{ keychain.bus.url | sha256 }}", "code": ECHO}}

    ran = run(
        tmp_path, f"keychain: [{{name: bus, kind: nats}}]\nworkflow: [{{step: start, tool: {json.dumps(task)}}}]\n"
    )

    assert ran.output["data"]["t"] == "***"
