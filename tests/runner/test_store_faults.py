"""A result store that does not answer when a row has no room for a payload fails the task, and nothing else (RS-01)."""

import textwrap
from pathlib import Path

import msgspec
import pytest

from noetl import server
from noetl.control.requests import Nobody, RunRequest
from tests.runner.runs import HEAD, Ran, settings_in

NOBODY_LISTENS = "postgresql://nobody@127.0.0.1:1/none"
CROWDED = """
workflow:
  - step: start
    {loop}
    tool:
      - name: make
        kind: noop
        input: {{text: "{{{{ 'x' * 40000 }}}}"}}
        {set_of_task}
        spec:
          policy:
            rules:
              - when: "{{{{ output.status == 'error' and output.error.retryable }}}}"
                then: {{do: retry, attempts: 2, delay: 0}}
              - else: {{then: {{do: continue}}}}
    {set_of_step}
"""
WRITES = 'set: {ctx.kept: "{{ output.data.text }}"}'


def run(folder: Path, **places: str) -> Ran:
    """A payload that fits into a row by itself, and whose writes leave no room for it."""
    places = {"loop": "", "set_of_task": "", "set_of_step": "", **places}
    settings = msgspec.structs.replace(settings_in(folder), results_stores=(NOBODY_LISTENS,))
    data = (HEAD + textwrap.dedent(CROWDED).format(**places)).encode()
    request = RunRequest(data=data, name="t.yaml", folder=str(folder), payload={})
    return Ran(settings, server.run(settings, request, Nobody()).summary)


@pytest.mark.spec("RS-01", "TK-08")
def test_a_task_whose_payload_the_store_does_not_take_fails_and_its_rules_judge_that(tmp_path: Path) -> None:
    ran = run(tmp_path, set_of_task=WRITES)

    done = [event["payload"] for event in ran.events("task.done")]
    assert [one["do"] for one in done] == ["retry", "fail"]
    assert (ran.status, ran.error["kind"]) == ("failed", "connection")
    assert ran.ctx == {}


@pytest.mark.spec("RS-01")
@pytest.mark.parametrize("loop", ["", "loop: {in: [1], iterator: n, spec: {mode: parallel}}"], ids=["step", "loop"])
def test_a_boundary_whose_payload_the_store_does_not_take_fails_its_step(tmp_path: Path, loop: str) -> None:
    places = {"set_of_task": WRITES} if loop else {"set_of_step": WRITES}

    ran = run(tmp_path, loop=loop, **places)

    assert (ran.status, ran.error["kind"]) == ("failed", "connection")
    assert ran.ctx == {}
