"""No credential reaches a stored byte, whichever way an author's templates carry it (KC-05, I14)."""

import json
from pathlib import Path

import pytest

from tests.runner.runs import Ran, run
from tests.stores.unpacked import unpacked

CANARY = "CANARY-s3cr3t-99887766"
HEAD = "keychain: [{name: tok, kind: secret_manager}]\n"


@pytest.fixture(autouse=True)
def credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_SECRET_TOK", json.dumps({"value": CANARY}))


def assert_unseen(folder: Path, ran: Ran) -> None:
    stored = b"".join(unpacked(file) for file in folder.rglob("*") if file.is_file())
    shown = json.dumps([ran.summary, ran.log])
    for form in (CANARY, CANARY[::-1], CANARY.upper(), CANARY[:16]):
        assert form.encode() not in stored, form
        assert form not in shown, form


@pytest.mark.spec("KC-05", "KC-02", "TP-02")
@pytest.mark.parametrize(
    "template",
    ["input.t", "input.t | reverse", "input.t | upper", "input.t[:16]", "'x' ~ input.t", "input.nested.t", "_prev"],
)
def test_a_set_does_not_see_a_field_made_from_a_credential(tmp_path: Path, template: str) -> None:
    body = f"""
        workflow:
          - step: start
            tool:
              kind: python
              input:
                t: "{{{{ keychain.tok.value }}}}"
                nested: {{t: "{{{{ keychain.tok.value }}}}"}}
                code: result = len(input["t"])
              set: {{ctx.leak: "{{{{ {template} }}}}"}}
    """

    ran = run(tmp_path, HEAD + body.replace("        ", "", 1).replace("\n        ", "\n"))

    assert ran.output["data"] == len(CANARY)
    assert_unseen(tmp_path, ran)


@pytest.mark.spec("KC-05", "TP-04")
def test_a_condition_that_is_a_credential_fails_without_showing_it(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        HEAD
        + """
workflow:
  - step: start
    tool:
      kind: python
      input: {t: "{{ keychain.tok.value }}", code: "result = 1"}
      spec: {policy: {rules: [{when: "{{ input.t }}", then: {do: continue}}, {else: {then: {do: continue}}}]}}
""",
    )

    assert ran.status == "failed"
    assert_unseen(tmp_path, ran)


@pytest.mark.spec("KC-05")
def test_what_a_tool_prints_returns_and_raises_is_redacted(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        HEAD
        + """
workflow:
  - step: start
    tool:
      - name: shows
        kind: python
        input: {t: "{{ keychain.tok.value }}", code: "print(input['t']); result = {'x': input['t'], input['t']: 1}"}
      - name: fails
        kind: python
        input: {t: "{{ keychain.tok.value }}", code: "raise ValueError(input['t'])"}
        spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.said: "{{ output.error.message }}"}}}}]}}
      - name: echoes
        kind: shell
        input: {command: "echo $T; echo $T >&2; exit 3", env: {T: "{{ keychain.tok.value }}"}}
        spec: {policy: {rules: [{else: {then: {do: continue}}}]}}
""",
    )

    assert "ValueError: ***" in ran.ctx["said"]
    assert_unseen(tmp_path, ran)


@pytest.mark.spec("KC-05", "PB-06")
def test_a_workbook_call_does_not_show_what_it_was_given(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        HEAD
        + """
workflow:
  - step: start
    tool:
      kind: workbook
      task: count
      input: {t: "{{ keychain.tok.value }}"}
      set: {ctx.caller: "{{ input.t }}"}
workbook:
  count:
    kind: python
    input: {own: "{{ input.t }}!", code: "result = len(input['own'])"}
    set: {ctx.called: "{{ input.t }}", ctx.own: "{{ input.own | upper }}"}
""",
    )

    assert ran.output["data"] == len(CANARY) + 1
    assert ran.ctx == {"called": "***", "own": "***", "caller": "***"}
    assert_unseen(tmp_path, ran)
