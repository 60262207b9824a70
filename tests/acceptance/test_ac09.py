"""AC-9, the acceptance criteria of document 003: one test or more for each of its five clauses.

Its surface (eval, next as a list, next_mode) runs under --legacy; what it asks for must hold on the newest one as well.
"""

import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named
from tests.stores.unpacked import unpacked

# --- 1: pipe is neither needed nor supported -------------------------------------------------------------------------


@pytest.mark.spec("AC-9", "PB-09")
@pytest.mark.parametrize("flags", [(), ("--legacy",)], ids=["canonical", "legacy"])
def test_pipe_is_refused_with_the_form_to_use_instead(noetl: Noetl, flags: tuple[str, ...]) -> None:
    playbook = """
        workflow:
          - step: start
            pipe:
              - kind: noop
        """

    ended = noetl.run(playbook, *flags)

    errors = [finding for finding in ended.document["findings"] if finding["severity"] == "error"]
    assert ended.code == 2
    assert [(error["line"], "pipe" in error["message"]) for error in errors][:1] == [(6, True)]
    assert "tool" in errors[0]["fix"]


# --- 2: task rules control retry, jump and break deterministically ---------------------------------------------------

RULES = """
workload: {api: ""}
workflow:
  - step: start
    tool:
      - call:
          kind: http
          url: "{{ workload.api }}/flaky"
          eval:
            - expr: "{{ outcome.status == 'error' and _attempt < 3 }}"
              do: retry
              attempts: 5
              backoff: fixed
              delay: 0.01
            - expr: "{{ outcome.status == 'error' }}"
              do: fail
            - expr: "{{ outcome.result.data.page == 1 }}"
              do: jump
              to: call
            - expr: "{{ outcome.result.data.page >= 1 }}"
              do: jump
              to: last
            - else:
                do: fail
      - never:
          kind: noop
      - last:
          kind: noop
          eval:
            - else:
                do: break
      - beyond:
          kind: noop
"""
PATH = [("call", 1, "retry"), ("call", 2, "jump"), ("call", 1, "retry"), ("call", 2, "jump"), ("last", 1, "break")]


@pytest.mark.slow
@pytest.mark.spec("AC-9", "TK-06", "TK-07", "PB-10")
def test_rules_take_the_same_way_every_time(noetl: Noetl, api: ApiServer) -> None:
    ways = []
    for _ in range(3):
        answers = [Answer(status=503), Answer(json={"page": 1}), Answer(status=503), Answer(json={"page": 2})]
        api.script("/flaky", *answers)
        found = noetl.succeed(RULES, "--legacy", "--set", f"api={api.url}")
        done = named(noetl.events(found["execution_id"]), "task.done")
        ways.append([(event["task_label"], event["attempt"], event["payload"]["do"]) for event in done])

    assert ways == [PATH] * 3


# --- 3: iterations are isolated, and parallel ones cannot overwrite what they share ----------------------------------

SHARED = """
workflow:
  - step: each
    loop:
      in: "{{ [3, 1, 2] }}"
      iterator: item
      spec:
        mode: parallel
        policy: %s
    tool:
      kind: noop
      set: {ctx.winner: "{{ iter.item }}"}
"""


@pytest.mark.spec("AC-9", "SC-12")
def test_parallel_iterations_that_write_one_key_fail_instead_of_overwriting_each_other(noetl: Noetl) -> None:
    ended = noetl.run(SHARED % "{}")

    assert (ended.code, ended.document["error"]["kind"]) == (1, "ctx_conflict")
    assert "winner" in ended.document["error"]["message"]
    assert ended.document["ctx"] == {}


@pytest.mark.spec("AC-9", "SC-12")
def test_a_declared_reducer_makes_one_value_of_them(noetl: Noetl) -> None:
    found = noetl.succeed(SHARED % "{reducers: {ctx.winner: max}}")

    assert found["ctx"] == {"winner": 3}


@pytest.mark.spec("AC-9", "SC-03", "SC-13", "PB-10")
def test_the_variables_of_the_oldest_surface_are_not_shared_between_parallel_iterations(noetl: Noetl) -> None:
    playbook = """
        workflow:
          - step: each
            loop:
              in: "{{ range(8) }}"
              iterator: item
              spec: {mode: parallel}
            tool:
              - remember:
                  kind: noop
                  eval:
                    - else:
                        do: continue
                        set_vars: {mine: "{{ iter.item }}"}
                        set_iter: {own: "{{ iter.item }}"}
              - show:
                  kind: noop
                  args: {item: "{{ iter.item }}", mine: "{{ vars.mine }}", own: "{{ iter.own }}"}
        """

    found = noetl.succeed(playbook, "--legacy")

    assert found["output"]["data"] == [{"item": item, "mine": item, "own": item} for item in range(8)]


# --- 4: the server routes --------------------------------------------------------------------------------------------

LISTED = """
workflow:
  - step: start
    spec: {next_mode: %s}
    tool:
      - done: {kind: noop}
    next:
      - step: one
        when: "{{ true }}"
      - step: two
        when: "{{ true }}"
  - step: one
    tool:
      - done: {kind: noop}
  - step: two
    tool:
      - done: {kind: noop}
"""


@pytest.mark.spec("AC-9", "PB-10", "RT-02", "RT-07", "TK-13", "RO-02")
@pytest.mark.parametrize(("mode", "targets"), [("exclusive", ["one"]), ("inclusive", ["one", "two"])])
def test_the_server_sends_tokens_by_next_and_its_mode(noetl: Noetl, mode: str, targets: list[str]) -> None:
    found = noetl.succeed(LISTED % mode, "--legacy")

    events = noetl.events(found["execution_id"])
    routed = named(events, "next.evaluated", step="start")
    assert [fired["step"] for fired in routed[0]["payload"]["fired"]] == targets
    assert {event["source"] for event in events if event["name"] in ("next.evaluated", "step.scheduled")} == {"server"}
    assert {event["name"] for event in events if event["source"] == "worker"} == {
        "step.started",
        "task.started",
        "task.done",
        "step.done",
    }


# --- 5: the log holds outcomes and references, not large bodies ------------------------------------------------------


@pytest.mark.spec("AC-9", "RS-01", "EV-04")
def test_a_large_body_is_in_no_byte_of_the_store(noetl: Noetl, api: ApiServer) -> None:
    mark = "a-mark-in-the-body"
    api.script("/body", Answer(json={"text": mark * 10_000}))
    playbook = f"""
        workflow:
          - step: fetch
            tool: {{kind: http, url: "{api.url}/body"}}
            next:
              arcs: [{{step: end}}]
          - step: end
            tool: {{kind: noop, input: {{status: "{{{{ fetch.http.status }}}}"}}}}
        """

    found = noetl.succeed(playbook)

    output = named(noetl.events(), "task.done", step="fetch")[0]["payload"]["output"]
    assert found["output"]["data"] == {"status": 200}
    assert (output["status"], output["http"]["status"], output["ref"]["meta"]["bytes"] > 100_000) == ("ok", 200, True)
    kept = {file.name: mark.encode() in unpacked(file) for file in noetl.home.glob("noetl.db*") if file.is_file()}
    assert kept
    assert not any(kept.values()), kept
    assert any(mark.encode() in file.read_bytes() for file in noetl.results.rglob("*") if file.is_file())
