"""AC-8, result references: no event is over the payload limit, and large results are kept outside the log.

The limit is looked up in the store's own file, event by event, and in the lines that `noetl events` prints.
"""

import hashlib
import json
from typing import Any

import msgspec
import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named

LIMIT_BYTES = 64 * 1024
MARK = "needle-in-a-haystack"
RECORDS = [{"id": number, "text": f"{MARK} {'x' * 90}"} for number in range(3000)]  # some 400 KB
PLAYBOOK = """
workload: {api: ""}
workflow:
  - step: fetch
    tool:
      - name: load
        kind: http
        url: "{{ workload.api }}/records"
      - name: count
        kind: python
        code: |
          result = len(input["rows"])
        input: {rows: "{{ _prev }}"}
        set: {ctx.count: "{{ output.data }}"}
      - name: again
        kind: http
        url: "{{ workload.api }}/records"
        set: {ctx.records_ref: "{{ output.ref }}"}
    next:
      arcs: [{step: read_back}]
  - step: read_back
    tool:
      - name: resolve
        kind: resolve
        ref: "{{ ctx.records_ref }}"
      - name: last
        kind: python
        code: |
          result = {"count": len(input["rows"]), "last": input["rows"][-1]["id"]}
        input: {rows: "{{ resolve.data }}"}
"""


@pytest.fixture
def large(api: ApiServer) -> ApiServer:
    api.script("/records", Answer(json=RECORDS))
    return api


def assert_rows_within(noetl: Noetl, limit_bytes: int) -> None:
    log = noetl.log()
    assert len(log) > 5
    assert [event["name"] for event in log if len(msgspec.json.encode(event)) > limit_bytes] == []


@pytest.mark.slow
@pytest.mark.spec("AC-8", "RS-01", "TL-05", "SC-07")
def test_no_row_of_the_log_is_over_the_limit_and_the_large_result_is_still_at_hand(
    noetl: Noetl, large: ApiServer
) -> None:
    found = noetl.succeed(PLAYBOOK, "--set", f"api={large.url}")

    assert found["ctx"]["count"] == len(RECORDS)  # within its pipeline a large result is data as any other
    assert found["output"]["data"] == {"count": len(RECORDS), "last": len(RECORDS) - 1}
    assert_rows_within(noetl, LIMIT_BYTES)
    printed = noetl("events", found["execution_id"], "--format", "json").out
    assert max(map(len, printed.splitlines())) < LIMIT_BYTES
    assert MARK not in printed


@pytest.mark.slow
@pytest.mark.spec("AC-8", "RS-01", "RS-02", "RS-03")
def test_the_event_has_a_reference_whose_file_is_what_it_says(noetl: Noetl, large: ApiServer) -> None:
    found = noetl.succeed(PLAYBOOK, "--set", f"api={large.url}")

    output = named(noetl.events(), "task.done", task_label="load")[0]["payload"]["output"]
    assert output.get("data") is None
    assert output["ref"]["type"] in ("relational", "nats", "object_store", "blob")
    stored = stored_payload(noetl, output["ref"])
    assert json.loads(stored) == RECORDS
    assert found["ctx"]["records_ref"]["meta"]["sha256"] == output["ref"]["meta"]["sha256"]


def stored_payload(noetl: Noetl, ref: dict[str, Any]) -> bytes:
    """The file of the size and the checksum that a reference names."""
    files = [file for file in noetl.results.rglob("*") if file.is_file()]
    found = {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in files}
    payload = found[ref["meta"]["sha256"]].read_bytes()
    assert len(payload) == ref["meta"]["bytes"]
    return payload


@pytest.mark.slow
@pytest.mark.spec("AC-8", "RS-01", "LP-02", "LP-08", "LP-10")
def test_long_lists_that_loops_take_and_give_are_kept_outside_too(noetl: Noetl) -> None:
    playbook = """
        workflow:
          - step: make
            tool:
              kind: python
              code: |
                result = [{"n": n, "text": "x" * 90} for n in range(1500)]
            set: {ctx.rows_ref: "{{ output.ref }}"}
            next:
              arcs: [{step: each}]
          - step: each
            loop:
              in: "{{ ctx.rows_ref }}"
              iterator: row
              spec: {mode: parallel, max_in_flight: 50}
            tool:
              kind: noop
              input: {n: "{{ iter.row.n }}", text: "{{ iter.row.text }}"}
            set: {ctx.given_ref: "{{ output.ref }}"}
            next:
              arcs: [{step: read_back}]
          - step: read_back
            tool:
              - name: resolve
                kind: resolve
                ref: "{{ ctx.given_ref }}"
              - name: sums
                kind: python
                code: |
                  result = [len(input["rows"]), sum(row["n"] for row in input["rows"])]
                input: {rows: "{{ resolve.data }}"}
        """

    found = noetl.succeed(playbook)

    assert found["output"]["data"] == [1500, sum(range(1500))]
    assert_rows_within(noetl, LIMIT_BYTES)


@pytest.mark.spec("AC-8", "RS-01", "RS-06")
def test_the_limit_can_be_set(noetl: Noetl) -> None:
    playbook = """
        executor:
          spec:
            policy:
              limits: {max_payload_bytes: 4096}
        workflow:
          - step: start
            tool:
              kind: python
              code: |
                result = "x" * 5000
            next:
              arcs: [{step: end}]
          - step: end
            tool: {kind: noop, input: {a: 1}}
        """

    noetl.succeed(playbook)

    output = named(noetl.events(), "task.done", step="start")[0]["payload"]["output"]
    assert output["ref"]["meta"]["bytes"] == 5002
    assert_rows_within(noetl, 4096)


@pytest.mark.spec("AC-8", "RS-01", "SC-02")
def test_a_ctx_value_over_the_limit_fails_and_says_to_keep_a_reference(noetl: Noetl, large: ApiServer) -> None:
    playbook = """
        workload: {api: ""}
        workflow:
          - step: fetch
            tool:
              kind: http
              url: "{{ workload.api }}/records"
              set: {ctx.records: "{{ output.data }}"}
        """

    ended = noetl.run(playbook, "--set", f"api={large.url}")

    assert (ended.code, ended.document["error"]["kind"]) == (1, "limit")
    assert "output.ref" in ended.document["error"]["message"]
    assert_rows_within(noetl, LIMIT_BYTES)


@pytest.mark.spec("AC-8", "RS-01")
def test_printed_lines_do_not_make_an_event_larger_than_the_limit(noetl: Noetl) -> None:
    playbook = """
        workflow:
          - step: start
            tool:
              kind: python
              code: |
                for number in range(5000):
                    print(number, "x" * 90)
                result = 1
        """

    noetl.succeed(playbook)

    assert_rows_within(noetl, LIMIT_BYTES)


WAYS = {
    "a value of ctx": "tool: {kind: noop, set: {ctx.v: LARGE}}",
    "a value of step": "tool: {kind: noop, set: {step.v: LARGE}}",
    "a value of iter": "loop: {in: '{{ [1] }}', iterator: n}\n    tool: {kind: noop, set: {iter.v: LARGE}}",
    "the set of a step": "tool: {kind: noop}\n    set: {ctx.v: LARGE}",
    "the set of an arc": "tool: {kind: noop}\n    next: {arcs: [{step: end, set: {ctx.v: LARGE}}]}",
    "the args of an arc": "tool: {kind: noop}\n    next: {arcs: [{step: end, args: {v: LARGE}}]}",
}


@pytest.mark.spec("AC-8", "RS-01")
@pytest.mark.parametrize("way", WAYS)
def test_a_value_over_the_limit_is_refused_wherever_it_is_written(noetl: Noetl, way: str) -> None:
    start = WAYS[way].replace("LARGE", "\"{{ 'abcdefghij' * 10000 }}\"")

    ended = noetl.run(f"workflow:\n  - step: start\n    {start}\n  - step: end\n    tool: {{kind: noop}}\n")

    assert (ended.code, ended.document["error"]["kind"]) == (1, "limit")
    assert_rows_within(noetl, LIMIT_BYTES)


@pytest.mark.spec("RS-01")
def test_a_large_payload_does_not_make_an_event_larger_than_the_limit(noetl: Noetl) -> None:
    (noetl.folder / "payload.json").write_text(json.dumps({"text": "x" * 100_000}))
    body = """
workflow:
  - step: start
    spec:
      policy:
        admit:
          on_deny: wait
          rules: [{when: "{{ ctx.go }}", then: {allow: true}}, {else: {then: {allow: false}}}]
    tool: {kind: noop, input: {length: "{{ workload.text | length }}"}}
"""

    waiting = noetl.run(body, "--payload", "@payload.json")
    number = waiting.document["execution_id"]
    noetl("signal", number, "--set", "ctx.go=true")
    done = noetl("resume", number, "--format", "json")

    assert done.document["output"]["data"] == {"length": 100_000}
    assert_rows_within(noetl, LIMIT_BYTES)
