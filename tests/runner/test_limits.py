"""Limits of executor.spec.policy: no row of the log is larger, wherever a payload comes from (RS-01, RS-06)."""

import textwrap
from pathlib import Path

import msgspec
import pytest

from noetl import server
from noetl.control.requests import Nobody, RunRequest
from noetl.engine.rows import ROW_RESERVE_BYTES
from tests.runner.runs import HEAD, Ran, run, settings_in

QUOTES = 2
PLAIN = """
workflow:
  - step: start
    tool: {kind: python, code: "result = 'x' * SIZE"}
"""
WORKBOOK = """
workflow:
  - step: start
    tool: {kind: workbook, task: make}
workbook:
  make: {kind: python, code: "result = 'x' * SIZE"}
"""
LOOP = """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: item, spec: {mode: MODE}}
    tool: {kind: python, code: "result = 'x' * SIZE"}
"""
CHILD = """
workflow:
  - step: start
    tool: {kind: playbook, path: t/child}
"""
PRINTS_AND_FAILS = """
workflow:
  - step: start
    tool: {kind: python, code: "print('p' * SIZE); raise ValueError('e' * SIZE)"}
"""
SETS = """
workflow:
  - step: start
    tool: {kind: python, code: "result = 'x' * (SIZE // 2 - 200)", set: {ctx.kept: "{{ output.data }}"}}
"""
AHEAD = """
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: second}]}
  - step: second
    tool: {kind: noop, input: {text: "{{ 'x' * SIZE }}"}}
"""
BODIES = {
    "a task": PLAIN,
    "a workbook call": WORKBOOK,
    "a sequential loop": LOOP.replace("MODE", "sequential"),
    "a parallel loop": LOOP.replace("MODE", "parallel"),
    "a failure": PRINTS_AND_FAILS,
    "a write": SETS,
}


def limited(limit: int, body: str, size: int, more: str = "") -> str:
    policy = f"executor: {{spec: {{policy: {{limits: {{max_payload_bytes: {limit}}}{more}}}}}}}"
    return policy + body.replace("SIZE", str(size))


def largest_row(ran: Ran) -> int:
    return max(len(msgspec.json.encode(event)) for event in ran.log)


def is_inline(ran: Ran, name: str) -> bool:
    (event,) = ran.events(name)
    return event["payload"]["output"].get("data") is not None


@pytest.mark.spec("RS-01", "RS-06")
@pytest.mark.parametrize("limit", [20_000, 64 * 1024])
@pytest.mark.parametrize("body", [PLAIN, WORKBOOK], ids=["a task", "a workbook call"])
@pytest.mark.parametrize(("over", "fits"), [(-1, True), (0, True), (1, False)])
def test_a_payload_is_inline_up_to_the_last_byte_that_fits(
    tmp_path: Path, limit: int, body: str, over: int, fits: bool
) -> None:
    size = limit - ROW_RESERVE_BYTES - QUOTES + over

    ran = run(tmp_path, limited(limit, body, size))

    assert ran.status == "success"
    assert is_inline(ran, "task.done") is is_inline(ran, "step.done") is fits
    assert largest_row(ran) <= limit


@pytest.mark.spec("RS-01", "RS-06")
@pytest.mark.slow
@pytest.mark.parametrize("limit", [4096, 64 * 1024])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_no_row_is_over_the_limit_however_large_the_payload(tmp_path: Path, limit: int, body: str) -> None:
    for number, size in enumerate((limit // 3, limit // 2, limit - 2000, limit - 1, limit, limit + 1, 3 * limit)):
        ran = run(tmp_path / str(number), limited(limit, body, size))

        assert largest_row(ran) <= limit, size


@pytest.mark.spec("RS-01")
@pytest.mark.parametrize("size", [900, 1000, 1100, 2000])
def test_no_row_of_a_job_that_ran_ahead_is_over_a_small_limit(tmp_path: Path, size: int) -> None:
    ran = run(tmp_path, limited(2048, AHEAD, size))

    assert ran.status == "success", ran.error
    assert largest_row(ran) <= 2048


@pytest.mark.spec("RS-06")
def test_reference_first_stores_what_is_small_too(tmp_path: Path) -> None:
    ran = run(tmp_path, limited(64 * 1024, PLAIN, 3, ", results: {reference_first: true}"))

    assert not is_inline(ran, "task.done")
    assert ran.output["ref"]["meta"]["bytes"] == 3 + QUOTES


@pytest.mark.spec("RS-06")
@pytest.mark.parametrize("more", ["", ", results: {reference_first: true}"], ids=["large", "reference_first"])
def test_a_pipeline_goes_on_with_the_data_that_is_stored(tmp_path: Path, more: str) -> None:
    body = """
workflow:
  - step: start
    tool:
      - {name: first, kind: python, code: "result = 'x' * SIZE"}
      - {name: second, kind: python, input: {text: "{{ first.data }}"}, code: "result = len(input['text'])"}
    set: {ctx.length: "{{ second.data }}"}
"""

    ran = run(
        tmp_path, limited(4096, body, 10_000).replace("{max_payload_bytes: 4096}", "{max_payload_bytes: 4096}" + more)
    )

    assert ran.ctx["length"] == 10_000
    assert is_inline(ran, "step.done") is not bool(more)


@pytest.mark.spec("RS-06")
@pytest.mark.parametrize("size", [1000, 3000, 10_000])
def test_a_childs_result_is_held_to_the_callers_limit(tmp_path: Path, size: int) -> None:
    child = HEAD.replace("name: t", "name: child, path: t/child") + textwrap.dedent(PLAIN.replace("SIZE", str(size)))
    server.catalog_register(settings_in(tmp_path), child.encode(), "child.yaml", "", False, False)

    ran = run(tmp_path, limited(4096, CHILD, 0))

    assert ran.status == "success"
    assert largest_row(ran) <= 4096
    assert is_inline(ran, "step.done") is (size <= 2000)


@pytest.mark.spec("RS-08")
def test_a_ttl_stands_in_the_reference(tmp_path: Path) -> None:
    body = """
workflow:
  - step: start
    tool:
      kind: python
      code: "result = 'x' * SIZE"
      spec: {result: {ttl: 3600}}
"""

    ran = run(tmp_path, limited(4096, body, 10_000))

    assert ran.output["ref"]["meta"]["ttl"] == 3600


@pytest.mark.spec("RS-01")
def test_a_value_that_a_rule_hands_to_the_next_task_has_to_fit_too(tmp_path: Path) -> None:
    body = """
    workflow:
      - step: start
        tool:
          - name: make
            kind: python
            code: "result = 'x' * 100000"
            spec: {policy: {rules: [{else: {then: {do: continue, set_prev: "{{ output.data }}"}}}]}}
          - {name: end, kind: noop}
    """
    settings, data = settings_in(tmp_path), (HEAD + textwrap.dedent(body)).encode()
    request = RunRequest(data=data, name="t.yaml", folder=str(tmp_path), payload={}, is_legacy=True)

    ran = Ran(settings, server.run(settings, request, Nobody()).summary)

    assert (ran.status, ran.error["kind"]) == ("failed", "limit")
