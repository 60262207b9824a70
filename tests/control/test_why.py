"""Why a step ran, waited, was skipped or was passed by: visits and sentences, over a real store."""

import pytest

from noetl.control.catalog import Catalog
from noetl.control.reading import row_of
from noetl.control.why import why
from noetl.errors import RequestError
from noetl.reviewing import explainer_of
from tests.control.parts import opened, run


async def told(folder, body: str, *steps: str, **payload):
    """What is said of some steps of an execution."""
    async with opened(folder) as parts:
        execution_id = await run(parts, body, **payload)
        explainer = explainer_of(parts.store, parts.catalog, parts.clock, parts.access.read_by)
        row = await row_of(parts.store, execution_id)
        return [await why(explainer, row, step) for step in steps]


def happened(found) -> list[str]:
    return [visit["happened"] for visit in found["visits"]]


async def test_the_entry_ran_because_the_workflow_begins_with_it(tmp_path):
    (found,) = await told(tmp_path, "workflow: [{step: start, tool: {kind: noop}}]", "start")

    assert (found["status"], happened(found)) == ("success", ["ran"])
    assert found["sentences"] == ["Run 1 (event 4): it is where the workflow begins."]


@pytest.mark.spec("ST-11")
async def test_a_join_ran_with_the_tokens_of_its_sources(tmp_path):
    body = """
    workflow:
      - step: start
        next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
      - {step: a, tool: {kind: noop}, next: {arcs: [{step: end}]}}
      - {step: b, tool: {kind: noop}, next: {arcs: [{step: end}]}}
      - {step: end, spec: {policy: {admit: {join: all}}}, tool: {kind: noop}}
    """

    (found,) = await told(tmp_path, body, "end")

    (visit,) = found["visits"]
    assert 'it took those of "a", "b"' in found["sentences"][0]
    assert [(one["step"], one["target"]) for one in visit["verdicts"]] == [("a", "end"), ("b", "end")]


@pytest.mark.spec("ST-06")
async def test_a_step_that_was_denied_waited_and_was_skipped(tmp_path):
    rules = "[{when: '{{ ctx.go }}', then: {allow: true}}, {else: {then: {allow: false}}}]"
    body = f"""
    workflow:
      - {{step: start, tool: {{kind: noop}}, next: {{arcs: [{{step: held}}]}}}}
      - {{step: held, spec: {{policy: {{admit: {{rules: {rules}}}}}}}, tool: {{kind: noop}}}}
    """

    (found,) = await told(tmp_path, body, "held")

    assert (found["status"], happened(found)) == ("skipped", ["waited", "skipped"])
    waited, skipped = found["sentences"]
    assert '"start" ended, and arc 1' in waited
    assert "was turned away; it waits until ctx changes" in waited
    assert "Rule 2 of its gate turns it away, which has no condition." in waited
    assert "nothing runs that could change that" in skipped


async def test_a_step_that_waits_for_a_signal_says_so(tmp_path):
    rules = "[{when: '{{ ctx.go }}', then: {allow: true}}, {else: {then: {allow: false}}}]"
    body = f"""
    workflow:
      - {{step: start, spec: {{policy: {{admit: {{on_deny: wait, rules: {rules}}}}}}}, tool: {{kind: noop}}}}
    """

    (found,) = await told(tmp_path, body, "start")

    assert happened(found) == ["waited"]
    assert "a token came from the beginning, and was turned away; it waits for a signal" in found["sentences"][0]


@pytest.mark.spec("ST-12")
async def test_an_undone_step_ran_once_more_to_undo_itself(tmp_path):
    body = """
    workflow:
      - step: start
        tool: {kind: noop}
        spec: {policy: {compensation: {tool: {name: undo, kind: noop}}}}
        next: {arcs: [{step: bad}]}
      - step: bad
        tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: fail}}}]}}}
    """

    (found,) = await told(tmp_path, body, "start")

    assert happened(found) == ["ran", "ran"]
    assert found["sentences"][1].endswith("it undid run 1.")


async def test_a_failure_that_was_handled_says_that_the_step_failed(tmp_path):
    body = """
    workflow:
      - step: start
        tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: fail}}}]}}}
        next: {arcs: [{step: on}, {step: mend, when: "{{ event.name == 'step.failed' }}"}]}
      - {step: on, tool: {kind: noop}}
      - {step: mend, tool: {kind: noop}}
    """

    on, mend = await told(tmp_path, body, "on", "mend")

    assert '"start" failed, and arc 1' in on["sentences"][0]
    assert "the step failed, and this arc does not ask for that" in on["sentences"][0]
    assert '"start" failed, and arc 2' in mend["sentences"][0]
    assert '(event.name = "step.failed")' in mend["sentences"][0]


async def test_a_step_that_ran_often_tells_its_first_and_its_last_visits(tmp_path):
    body = """
    workflow:
      - step: start
        tool: {kind: noop, set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}}
        next: {arcs: [{step: start, when: "{{ ctx.n < 80 }}"}, {step: end}]}
      - {step: end, tool: {kind: noop}}
    """

    start, end = await told(tmp_path, body, "start", "end")

    assert len(start["visits"]) <= 50
    assert len(start["visits"]) + start["omitted_visits"] >= 80
    assert start["visits"][0]["run"] == 1
    assert "ctx.n = 79" in start["sentences"][-2]
    assert [visit["seq"] for visit in start["visits"]] == sorted(visit["seq"] for visit in start["visits"])
    assert happened(end)[-1] == "ran"
    assert happened(end)[0] == "refused"


async def test_a_step_that_no_arc_leads_to_says_so(tmp_path):
    body = "workflow: [{step: start, tool: {kind: noop}}, {step: lonely, tool: {kind: noop}}]"

    (found,) = await told(tmp_path, body, "lonely")

    assert (found["sentences"], happened(found)) == (["No arc leads to it."], ["not_reached"])


async def test_a_step_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RequestError, match='did you mean "start"'):
        await told(tmp_path, "workflow: [{step: start, tool: {kind: noop}}]", "strat")


async def test_a_playbook_whose_kinds_cannot_run_here_can_still_be_explained(tmp_path, monkeypatch):
    async with opened(tmp_path) as parts:
        execution_id = await run(parts, "workflow: [{step: start, tool: {kind: noop}}]")
        row = await row_of(parts.store, execution_id)
        catalog = Catalog(parts.store, parts.catalog.kinds, parts.clock)
        monkeypatch.setattr("noetl.control.catalog.refuse_missing", _refuse)

        found = await why(explainer_of(parts.store, catalog, parts.clock, parts.access.read_by), row, "start")

        assert found["status"] == "success"
        with pytest.raises(RequestError, match="not here"):
            await catalog.loaded(row.sha, [])


def _refuse(*_: object) -> None:
    raise RequestError("not here")


async def test_a_step_that_failed_names_the_rule_that_let_it_and_what_it_saw(tmp_path):
    rules = (
        '[{when: "{{ output.error.retryable }}", then: {do: retry}}, {when: "{{ workload.n > 2 }}", then: {do: fail}}]'
    )
    body = f"""
    workload: {{n: 3}}
    workflow:
      - step: start
        tool: {{kind: noop, name: work, spec: {{policy: {{rules: {rules}}}}}}}
    """

    (found,) = await told(tmp_path, body, "start")

    assert (found["status"], happened(found)) == ("failed", ["ran", "failed"])
    assert 'task "work" failed: ' in found["sentences"][1]
    assert "Rule 2 of its policy" in found["sentences"][1]
    assert "says fail: {{ workload.n > 2 }} was true (workload.n = 3)" in found["sentences"][1]
    verdicts = found["visits"][1]["verdicts"]
    assert [(one["place"], one["target"], one["result"]) for one in verdicts] == [
        ("policy", "retry", False),
        ("policy", "fail", True),
    ]


async def test_of_a_loop_that_failed_often_the_first_failures_are_told(tmp_path):
    body = """
    workflow:
      - step: start
        loop: {in: "{{ range(20) | list }}", iterator: n}
        spec: {policy: {failure: {mode: best_effort}}}
        tool: {kind: python, name: work, input: {code: "raise ValueError('no')"}}
    """

    (found,) = await told(tmp_path, body, "start")

    assert happened(found) == ["ran", "failed", "failed", "failed"]
    assert found["omitted_visits"] == 17
    assert 'iteration 0, task "work" failed: ValueError: no' in found["sentences"][1]
    assert "It has no rules, so an error fails it." in found["sentences"][1]


@pytest.mark.spec("TK-14")
async def test_of_a_workbook_task_that_failed_it_is_said_where_its_rules_are(tmp_path):
    body = """
    workbook:
      ask:
        kind: python
        code: "raise ValueError('no')"
        spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: fail}}]}}
    workflow: [{step: start, tool: {kind: workbook, task: ask}}]
    """

    (found,) = await told(tmp_path, body, "start")

    assert (
        'It has no rules of its own, so an error fails it; those of the workbook task "ask" (line 7)'
        in (found["sentences"][1])
    )
