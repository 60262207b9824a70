"""Playbooks with the habits of the public NoETL, run whole with `--compat upstream` by the real worker and tools."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from noetl.testing.http_server import Answer, running_api
from tests.runner.runs import HEAD, Ran, run

# --- spellings (UP-04) -----------------------------------------------------------------------------------------------


def upstream(folder: Path, body: str, **payload: Any) -> Ran:
    ran = run(folder, body, is_upstream=True, **payload)
    assert ran.status == "success", ran.error
    return ran


@pytest.mark.spec("UP-04", "UP-01")
def test_endpoint_and_payload_make_the_request(tmp_path: Path) -> None:
    with running_api() as api:
        ran = upstream(
            tmp_path,
            f"""
            workflow:
              - step: send
                tool: {{kind: http, method: POST, endpoint: "{api.url}/echo", payload: {{a: 1}}}}
                next:
                  arcs: [{{step: end, set: {{got: "{{{{ send.json.a }}}}", code: "{{{{ send.status_code }}}}"}}}}]
              - {{step: end, tool: {{kind: noop, input: {{seen: "{{{{ got }}}}"}}}}}}
            """,
        )

    assert ran.ctx == {"got": 1, "code": 200}
    assert ran.output["data"] == {"seen": 1}


@pytest.mark.spec("UP-04", "UP-08")
def test_rules_with_fixed_backoff_booleans_and_else_do_decide(tmp_path: Path) -> None:
    with running_api() as api:
        api.script("/flaky", Answer(status=503), Answer(status=503), Answer(json={"n": 7}))
        ran = upstream(
            tmp_path,
            f"""
            workflow:
              - step: start
                tool:
                  - name: fetch
                    kind: http
                    endpoint: "{api.url}/flaky"
                    set: {{found: "{{{{ output.data.n }}}}"}}
                    spec:
                      policy:
                        rules:
                          - {{when: false, then: {{do: fail}}}}
                          - when: "{{{{ outcome.status == 'error' }}}}"
                            then: {{do: retry, attempts: 3, backoff: fixed, delay: 0.01}}
                          - else: {{do: continue}}
                  - {{name: show, kind: python, args: {{n: "{{{{ found }}}}"}}, code: "result = n"}}
            """,
        )
        statuses = [seen.status for seen in api.requests("/flaky")]

    assert statuses == [503, 503, 200]
    assert ran.output["data"] == 7


@pytest.mark.spec("UP-04")
def test_a_workbook_that_is_a_list_is_called_by_name(tmp_path: Path) -> None:
    ran = upstream(
        tmp_path,
        """
        workbook:
          - name: double
            tool: {kind: python, args: {n: "{{ input.n }}"}, code: "result = n * 2"}
        workflow:
          - {step: start, tool: {kind: workbook, name: double, args: {n: 21}}}
        """,
    )

    assert ran.output["data"] == 42


@pytest.mark.spec("UP-04", "UP-07")
def test_loop_names_are_those_of_the_iteration(tmp_path: Path) -> None:
    ran = upstream(
        tmp_path,
        """
        workflow:
          - step: each
            loop: {in: "{{ ['a', 'b', 'c'] }}", iterator: one}
            tool:
              kind: noop
              input: {all: "{{ [loop_index, iter._index, iter._total, iter._first, iter._last, iter.one] }}"}
            next: {arcs: [{step: end, set: {stats: "{{ each.stats }}"}}]}
          - {step: end, tool: {kind: noop, input: {rows: "{{ each.results | map(attribute='all') | list }}"}}}
        """,
    )

    assert ran.output["data"]["rows"] == [
        [0, 0, 3, True, False, "a"],
        [1, 1, 3, False, False, "b"],
        [2, 2, 3, False, True, "c"],
    ]
    assert ran.ctx["stats"] == {"total": 3, "success": 3, "failed": 0}


EVENT_NAMES = """
    workflow:
      - step: start
        LOOP
        tool: {kind: python, args: {n: "{{ workload.n }}"}, code: "result = 1 // n"}
        next:
          arcs:
            - {step: done, when: "{{ event.name == 'NAME' }}"}
            - {step: broken, when: "{{ event.name == 'call.error' }}"}
      - {step: done, tool: {kind: noop, input: {went: done}}}
      - {step: broken, tool: {kind: noop, input: {went: broken}}}
    """


@pytest.mark.spec("UP-04")
@pytest.mark.parametrize("name", ["call.done", "step.exit"])
@pytest.mark.parametrize("loop", ["", 'loop: {in: "{{ [1] }}", iterator: i}'])
@pytest.mark.parametrize(("n", "went"), [(1, "done"), (0, "broken")])
def test_guards_may_use_the_event_names_of_the_field(tmp_path: Path, name: str, loop: str, n: int, went: str) -> None:
    ran = upstream(tmp_path, EVENT_NAMES.replace("NAME", name).replace("LOOP", loop), n=n)

    assert ran.output["data"] == {"went": went}


# --- children (UP-06) ------------------------------------------------------------------------------------------------

CHILD = """
metadata: {name: child, path: examples/child}
executor: {spec: {compat: upstream}}
workload: {n: 0}
workflow:
  - step: double
    tool: {kind: python, args: {n: "{{ workload.n }}"}, code: "result = {'twice': n * 2}"}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop, input: {last: true}}}
"""


@pytest.fixture
def child(tmp_path: Path) -> None:
    (tmp_path / "child.yaml").write_text(HEAD.replace("metadata: {name: t}\n", "") + CHILD)


@pytest.mark.spec("UP-06", "UP-01")
@pytest.mark.usefixtures("child")
@pytest.mark.parametrize("word", ["payload", "input", "args"])
@pytest.mark.parametrize(("return_step", "expected"), [("return_step: double,", {"twice": 42}), ("", {"last": True})])
def test_a_caller_waits_for_its_child_and_gets_the_steps_value(
    tmp_path: Path, word: str, return_step: str, expected: dict[str, Any]
) -> None:
    ran = upstream(
        tmp_path,
        f"""
        workflow:
          - step: call
            tool: {{kind: playbook, path: child, {return_step} {word}: {{n: 21}}}}
            next: {{arcs: [{{step: end, set: {{got: "{{{{ call.data }}}}", twice: "{{{{ call.twice }}}}"}}}}]}}
          - {{step: end, tool: {{kind: noop}}}}
        """,
    )

    assert ran.ctx == {"got": expected, "twice": expected.get("twice")}


@pytest.mark.spec("UP-06", "PB-07")
@pytest.mark.usefixtures("child")
def test_a_caller_names_the_version_of_its_child(tmp_path: Path) -> None:
    body = "workflow: [{step: call, tool: {kind: playbook, path: child, version: VERSION, payload: {n: 1}}}]"
    first = upstream(tmp_path, body.replace("VERSION", "latest"))
    (tmp_path / "child.yaml").write_text((tmp_path / "child.yaml").read_text().replace("last: true", "last: changed"))
    newest = upstream(tmp_path, body.replace("VERSION", "latest"))

    old = upstream(tmp_path, body.replace("VERSION", "1").replace("path: child", "path: examples/child"))

    assert [ran.output["data"]["last"] for ran in (first, newest, old)] == [True, "changed", True]


# --- payloads kept outside the log (UP-07) ---------------------------------------------------------------------------

LARGE = """
    workflow:
      - step: make
        output: {select: SELECT, store: {kind: auto}}
        tool:
          kind: python
          code: |
            items = [{"id": n, "text": "x" * 200} for n in range(500)]
            result = {"total": 500, "status": "fine", "paging": {"next": "p2"}, "items": items}
        next: {arcs: [{step: read, when: "{{ event.name == 'call.done' }}"}]}
      - step: read
        tool: {kind: noop, input: {seen: "{{ make.TEMPLATE }}"}}
    """


def read_beside(folder: Path, template: str, select: str = "[total]", *, is_failed: bool = False) -> Ran:
    body = LARGE.replace("SELECT", select).replace("TEMPLATE", template)
    ran = run(folder, body, is_upstream=True)
    assert ran.status == ("failed" if is_failed else "success"), ran.error
    return ran


@pytest.mark.spec("UP-07", "UP-04")
@pytest.mark.parametrize(
    ("select", "template", "expected"),
    [
        ("[total]", "total", 500),
        ("[total]", "data.total", 500),
        ("[paging.next]", "next", "p2"),
        ("[data.paging.next]", "next", "p2"),
        ('[{path: "$.items[1].id", as: second}]', "second", 1),
        ("{second: items.1.id, cursor: paging.next}", "cursor", "p2"),
        ("[nowhere]", "nowhere", None),
        ("[status]", "status", "fine"),
        ("[total]", "status", "ok"),
        ("[total]", "error", None),
        ("[total]", "_store", "blob"),
        ("[total]", "_ref.meta.content_type", "application/json"),
    ],
)
def test_a_stored_value_answers_what_was_selected_and_where_it_is(
    tmp_path: Path, select: str, template: str, expected: object
) -> None:
    assert read_beside(tmp_path, template, select).output["data"] == {"seen": expected}


@pytest.mark.spec("UP-07")
def test_a_stored_value_answers_how_it_begins_in_a_few_bytes(tmp_path: Path) -> None:
    seen = read_beside(tmp_path, "_preview").output["data"]["seen"]

    assert (seen["total"], seen["paging"], seen["items"][0]["id"]) == (500, {"next": "p2"}, 0)
    assert len(str(seen)) < 1100


@pytest.mark.spec("UP-07", "RS-04")
@pytest.mark.parametrize("template", ["items", "data.items", "items | length", "data"])
def test_what_was_not_selected_of_a_stored_value_is_refused_and_never_missing(tmp_path: Path, template: str) -> None:
    ran = read_beside(tmp_path, template, is_failed=True)

    assert ran.error["kind"] == "ref_misuse"
    assert "resolve" in ran.error["message"]


@pytest.mark.spec("UP-07")
def test_a_selection_that_is_too_large_fails_its_task_and_says_what_to_do(tmp_path: Path) -> None:
    ran = read_beside(tmp_path, "items", "[items]", is_failed=True)

    assert (ran.error["kind"], ran.error["step"]) == ("limit", "make")
    assert "spec.result.select may keep" in ran.error["message"]


@pytest.mark.spec("UP-07")
@pytest.mark.parametrize("select", ["[7]", "[{as: x}]", "{x: 7}", "['$']"])
def test_a_selection_that_is_none_says_how_to_write_one(tmp_path: Path, select: str) -> None:
    ran = read_beside(tmp_path, "x", select, is_failed=True)

    assert ran.error["kind"] == "type"
    assert "{path: items.0.id, as: first}" in ran.error["message"]


@pytest.mark.spec("UP-07", "RS-05")
@pytest.mark.parametrize("size", [2, 2000])
@pytest.mark.parametrize("field", ["ref", "result_ref"])
def test_an_artifact_that_is_got_is_the_payload_large_or_small(tmp_path: Path, size: int, field: str) -> None:
    ran = upstream(
        tmp_path,
        f"""
        workflow:
          - step: make
            tool: {{kind: python, args: {{size: {size}}}, code: "result = {{'items': ['x' * 50] * size}}"}}
            next: {{arcs: [{{step: get}}]}}
          - step: get
            tool:
              - {{name: load, kind: artifact, action: get, args: {{{field}: "{{{{ make._ref }}}}"}}}}
              - {{name: count, kind: noop, input: {{count: "{{{{ load.items | length }}}}"}}}}
        """,
    )

    assert ran.output["data"] == {"count": size}


@pytest.mark.spec("UP-07")
def test_the_value_of_a_large_loop_answers_its_stats_and_refuses_its_results(tmp_path: Path) -> None:
    body = """
        workflow:
          - step: each
            loop: {in: "{{ range(200) }}", iterator: n}
            tool: {kind: python, args: {n: "{{ iter.n }}"}, code: "result = 'x' * 1000"}
            next: {arcs: [{step: end}]}
          - {step: end, tool: {kind: noop, input: {seen: "{{ each.TEMPLATE }}"}}}
        """

    stats = upstream(tmp_path, body.replace("TEMPLATE", "stats")).output["data"]["seen"]
    refused = run(tmp_path, body.replace("TEMPLATE", "results | length"), is_upstream=True)

    assert stats == {"total": 200, "success": 200, "failed": 0}
    assert (refused.status, refused.error["kind"]) == ("failed", "ref_misuse")


@pytest.mark.spec("UP-07", "UP-06")
def test_what_a_child_selected_is_read_by_its_caller(tmp_path: Path) -> None:
    large = textwrap.dedent(LARGE).partition("    next: ")[0].replace("SELECT", "[total]")
    child = "executor: {spec: {compat: upstream}}\n" + large
    (tmp_path / "child.yaml").write_text(HEAD.replace("name: t", "name: child") + child)

    ran = upstream(
        tmp_path,
        """
        workflow:
          - {step: call, tool: {kind: playbook, path: child}, next: {arcs: [{step: end}]}}
          - {step: end, tool: {kind: noop, input: {seen: "{{ [call.total, call._preview.paging.next] }}"}}}
        """,
    )

    assert ran.output["data"] == {"seen": [500, "p2"]}


@pytest.mark.spec("UP-07")
def test_what_is_selected_has_its_name_also_while_the_payload_is_small(tmp_path: Path) -> None:
    ran = upstream(
        tmp_path,
        """
        workflow:
          - step: make
            output: {select: [{path: "$.items[1].id", as: second}]}
            tool: {kind: python, code: "result = {'items': [{'id': 5}, {'id': 6}]}"}
            next: {arcs: [{step: end, when: "{{ make.second == 6 and output.data.second == 6 }}"}]}
          - {step: end, tool: {kind: noop, input: {second: "{{ make.second }}", whole: "{{ make }}"}}}
        """,
    )

    assert ran.output["data"] == {"second": 6, "whole": {"items": [{"id": 5}, {"id": 6}]}}


@pytest.mark.spec("RS-04")
@pytest.mark.parametrize("size", [10, 100_000])
def test_without_the_upstream_surface_what_was_selected_is_in_the_meta_of_the_output(tmp_path: Path, size: int) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: make
            tool:
              kind: python
              code: "result = {'total': 5, 'text': 'x' * SIZE}"
              spec: {result: {select: [total]}}
            next: {arcs: [{step: read, when: "{{ output.meta.selected.total == 5 }}"}]}
          - {step: read, tool: {kind: noop, input: {total: "{{ make.meta.selected.total }}"}}}
        """.replace("SIZE", str(size)),
    )

    assert ran.output["data"] == {"total": 5}
