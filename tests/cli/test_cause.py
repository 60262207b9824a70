"""`noetl show` alone tells what failed, where, why, with which values, what was done since, and what to do next."""

import pytest

from noetl.cli.cause import expression_of
from noetl.cli.main import main
from tests.cli.remote_server import serving
from tests.cli.running import HEAD, noetl

CHILD = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: tests/child}
workload: {n: 1}
workflow:
  - step: inner
    tool:
      - name: divide
        kind: python
        input: {n: "{{ workload.n }}", label: "row {{ workload.n }} of 日本"}
        code: |
          return 1 / (input["n"] - 1)
"""
PARENT = (
    HEAD
    + """workflow:
  - step: call
    tool: [{name: sub, kind: playbook, path: tests/child, input: {n: 1}}]
"""
)
LOOP = (
    HEAD
    + """workload: {rows: [3, 1, 0, 2]}
workflow:
  - step: each
    loop: {in: "{{ workload.rows }}", iterator: row, spec: {mode: sequential}}
    tool:
      - {name: look, kind: noop, input: {row: "{{ iter.row }}"}}
      - name: divide
        kind: python
        input: {n: "{{ iter.row }}"}
        code: |
          return 6 / input["n"]
"""
)
RETRIED = (
    HEAD
    + """workflow:
  - step: get
    tool:
      - name: fetch
        kind: http
        url: "http://127.0.0.1:9/{{ 'x' }}"
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: {do: retry, attempts: 3, delay: 0.01}
"""
)
WAIT = (
    HEAD
    + """workflow:
  - step: approve
    spec:
      policy:
        admit:
          on_deny: wait
          rules:
            - {when: "{{ ctx.review.ok }}", then: {allow: true}}
            - else: {then: {allow: false}}
    tool: {kind: noop}
"""
)
TEXTS = {"child": CHILD, "parent": PARENT, "loop": LOOP, "retried": RETRIED, "wait": WAIT}


@pytest.fixture
def said(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / ".noetl"))
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    main(["catalog", "register", "child.yaml"])

    def run(*words):
        code = main(words)
        return code, *capfd.readouterr()

    return run


def shown(said, name):
    said("run", f"{name}.yaml", "-q")
    return said("show", "last")


def test_a_failed_iteration_is_told_with_its_line_its_code_and_its_values(said):
    _, output, told = shown(said, "loop")

    assert 'error: step "each", iteration 2, task "divide" (loop.yaml:10:9): ZeroDivisionError' in output
    assert "   why: exception\n" in output
    assert '   code: line 1: return 6 / input["n"]\n' in output
    assert "   with: n = 0\n" in output
    assert told == "next: noetl why 1 each\nnext: noetl rerun 1 --from-failed\n"


def test_retries_are_counted_and_templates_in_texts_are_filled(said):
    _, output, _ = shown(said, "retried")

    assert "   why: connection, attempt 3, passing: it may work another time\n" in output
    assert '   with: url = "http://127.0.0.1:9/x"\n' in output


def test_a_failed_child_leads_down_to_the_root_cause(said):
    _, output, told = shown(said, "parent")

    assert 'error: step "call", task "sub" (parent.yaml:6:12): child execution 2 failed' in output
    assert '   below: execution 2, tests/child@1: step "inner", task "divide" (child.yaml:8:9): ZeroDiv' in output
    assert '   with: n = 1\n   with: label = "row 1 of 日本"\n' in output
    assert told.splitlines()[0] == "next: noetl show 2"


def test_what_is_waited_for_is_named_in_the_command(said):
    code, _, told = said("run", "wait.yaml")
    _, _, later = said("show", "last")

    assert code == 4
    assert told.endswith("next: noetl signal 1 --set ctx.review.ok=VALUE\nnext: noetl resume 1\n")
    assert later == "next: noetl signal 1 --set ctx.review.ok=VALUE\nnext: noetl why 1 approve\n"


@pytest.mark.slow
def test_a_server_tells_the_same(said, tmp_path):
    local = shown(said, "parent")[1]

    with serving(tmp_path / ".noetl") as server:
        over_server = noetl("show", "1", "--server", server.url, home=tmp_path)

    assert over_server.stdout == local


@pytest.mark.parametrize(
    ("value", "expression"),
    [
        ("plain", "'plain'"),
        ("", "''"),
        ("{{ a.b }}", "(a.b)"),
        ("x{{ a }}y", "'x' ~ (a) ~ 'y'"),
        ([1, None, True, {"k'": "é"}], "[1, none, true, {\"k'\": '\\xe9'}]"),
    ],
)
def test_a_value_with_templates_becomes_one_expression(value, expression):
    assert expression_of(value) == expression
