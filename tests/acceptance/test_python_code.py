"""Python code in whole runs: its context under the upstream surface, and the levels of isolation an operator gives."""

import pytest

CONTEXT = """
workload: {add: 5}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'rows': 2}"}
    next: {arcs: [{step: middle}]}
  - step: middle
    tool: {kind: python, code: "result = 7"}
    next: {arcs: [{step: end}]}
  - step: end
    tool:
      kind: python
      code: |
        result = [context["start"]["rows"], context["middle"], context["workload"]["add"], execution_id]
"""
ISOLATED = """
workflow:
  - step: start
    tool:
      kind: python
      code: "result = __import__('os').getpid()"
      spec: {isolation: %s}
"""


@pytest.mark.spec("UP-02")
def test_context_has_step_values_and_the_workload(noetl):
    found = noetl.succeed(CONTEXT, "--compat", "upstream")

    assert found["output"]["data"] == [2, 7, 5, found["execution_id"]]


def test_inline_needs_the_operators_word(noetl):
    refused = noetl.run(ISOLATED % "inline")
    noetl.environ["NOETL_PYTHON_INLINE"] = "true"
    allowed = noetl.succeed(ISOLATED % "inline")

    assert refused.code == 1
    assert "NOETL_PYTHON_INLINE" in refused.document["error"]["message"]
    assert isinstance(allowed["output"]["data"], int)


def test_a_task_that_asks_for_a_sandbox_fails_where_there_is_none(noetl, tmp_path):
    noetl.environ["PATH"] = str(tmp_path)

    refused = noetl.run(ISOLATED % "sandbox")

    assert refused.code == 1
    assert "never run without" in refused.document["error"]["message"]


FAILING = """
workflow:
  - step: start
    tool:
      kind: python
      code: |
        def inner(x):
            return 1 / x
        def main():
            return inner(0)
"""


@pytest.mark.spec("TK-04", "TK-19")
def test_a_recorded_failure_has_the_authors_own_lines(noetl):
    noetl.run(FAILING)

    failed = next(event for event in noetl.events() if event["name"] == "task.done")

    details = str(failed)
    assert "line 4, in main: return inner(0)" in details
    assert "line 2, in inner: return 1 / x" in details
    assert "python_code.py" not in details
