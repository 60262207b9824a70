"""Executions explained over the API: graphs, moments, landmarks, why, expressions at any event."""

import msgspec
import pytest

from noetl.api.authoring_documents import GraphAnswer
from noetl.api.explaining_documents import Evaluation, Landmarks, MomentDocument, WhyDocument
from tests.api.site import site

EXECUTIONS = "/api/v1/executions"
ORDERS = """
workload: {limit: 10}
workflow:
  - step: start
    tool: {name: count, kind: noop, input: {rows: 12}, set: {ctx.rows: "{{ output.data.rows }}"}}
    next:
      arcs:
        - {step: small, when: "{{ ctx.rows <= workload.limit }}"}
        - {step: large, when: "{{ ctx.rows > workload.limit }}", set: {ctx.size: "large"}}
        - {step: never}
  - step: small
    tool: {kind: noop}
  - step: large
    spec: {policy: {admit: {rules: [{when: "{{ ctx.size == 'large' }}", then: {allow: true}},
                                    {else: {then: {allow: false}}}]}}}
    loop: {in: "{{ range(ctx.rows // 4) }}", iterator: page}
    tool: {name: fetch, kind: noop, input: {page: "{{ iter.page }}", size: "{{ ctx.size }}"}}
  - step: never
    tool: {kind: noop}
"""


async def got(api, execution_id: str, what: str, kind: type, role: str = "viewer"):
    """A document, checked against its declaration."""
    status, found = await api.ask("GET", f"{EXECUTIONS}/{execution_id}/{what}", role=role)
    assert status == 200, found
    msgspec.convert(found, kind, strict=True)
    return found


async def event_at(api, execution_id: str, name: str, number: int = 0) -> int:
    """The seq of an event of that name."""
    _, page = await api.ask("GET", f"{EXECUTIONS}/{execution_id}/events")
    seqs = [int(one["event_id"].rpartition("-")[2]) for one in page["events"] if one["name"] == name]
    return seqs[number]


# --- moments ---------------------------------------------------------------------------------------------------------


async def test_a_moment_shows_each_arc_with_the_values_it_saw(api):
    execution_id = await api.run(ORDERS)
    at = await event_at(api, execution_id, "next.evaluated")

    found = await got(api, execution_id, f"moment?at={at}", MomentDocument)

    arcs = [one for one in found["verdicts"] if one["place"] == "arc"]
    assert [(one["target"], one["result"], one["is_chosen"], one["was_asked"]) for one in arcs] == [
        ("small", False, False, True),
        ("large", True, True, True),
        ("never", None, False, False),
    ]
    assert arcs[0]["reads"] == [
        {"name": "ctx.rows", "value": 12, "note": ""},
        {"name": "workload.limit", "value": 10, "note": ""},
    ]
    assert arcs[1]["when"] == "{{ ctx.rows > workload.limit }}"
    assert found["changes"] == [{"path": "ctx.size", "before": None, "after": "large", "is_new": True}]
    assert found["marking"]["tokens"][0]["step"] == "large"
    assert (found["seq"], found["event"]["name"]) == (at, "next.evaluated")


async def test_the_last_moment_is_what_the_execution_came_to(api):
    execution_id = await api.run(ORDERS)

    found = await got(api, execution_id, "moment", MomentDocument)

    assert found["seq"] == found["last_seq"]
    assert found["status"] == "success"
    assert found["ctx"] == {"rows": 12, "size": "large"}
    statuses = {row["step"]: row["status"] for row in found["steps"]}
    assert statuses == {"start": "success", "small": "not_run", "large": "success", "never": "not_run"}
    assert found["marking"] == {"tokens": [], "omitted_tokens": 0, "runs": [], "omitted_runs": 0}


async def test_a_moment_shows_what_a_task_was_given_and_what_it_wrote(api):
    execution_id = await api.run(ORDERS)

    done = await got(api, execution_id, f"moment?at={await event_at(api, execution_id, 'task.done')}", MomentDocument)
    page = await event_at(api, execution_id, "task.started", 2)
    later = await got(api, execution_id, f"moment?at={page}", MomentDocument)

    assert done["inputs"] == {"count": {"rows": 12}}
    assert [(one["place"], one["target"]) for one in done["verdicts"]] == [("set", "ctx.rows")]
    assert later["inputs"] == {"fetch": {"page": 1, "size": "large"}}
    assert later["marking"]["runs"][0]["loop"] == {"count": 3, "next": 2, "in_flight": 1, "done": 1, "failed": 0}
    assert later["marking"]["runs"][0]["jobs"][0]["task"] == "fetch"


async def test_every_moment_of_an_execution_is_a_document_as_declared(api):
    execution_id = await api.run(ORDERS)
    last = (await got(api, execution_id, "moment", MomentDocument))["last_seq"]

    for seq in range(1, last + 1):
        found = await got(api, execution_id, f"moment?at={seq}", MomentDocument)
        assert (found["seq"], [one["note"] for one in found["verdicts"] if "another" in one["note"]]) == (seq, [])
        assert found["status"] in ("running", "success")  # a token on its way to its step waits for nobody


@pytest.mark.parametrize("at", [0, 10_000])
async def test_a_moment_that_is_not_there_is_refused(api, at):
    execution_id = await api.run(ORDERS)

    status, problem = await api.ask("GET", f"{EXECUTIONS}/{execution_id}/moment?at={at}")

    assert (status, problem["status"]) == (400, 400)


async def test_landmarks_name_the_steps_that_ran(api):
    execution_id = await api.run(ORDERS)

    found = await got(api, execution_id, "landmarks", Landmarks)

    steps = [(mark["name"], mark["step"]) for mark in found["marks"] if mark["kind"] == "step"]
    assert steps == [("step.scheduled", "start"), ("step.done", "start"), ("step.scheduled", "large")]
    assert [mark["name"] for mark in found["marks"] if mark["kind"] == "loop"] == ["loop.started", "loop.done"]
    assert found["marks"][-1]["seq"] == found["last_seq"]


# --- why -------------------------------------------------------------------------------------------------------------


async def test_why_a_step_ran_names_the_arc_and_the_rule_that_let_it(api):
    execution_id = await api.run(ORDERS)

    found = await got(api, execution_id, "why?step=large", WhyDocument)

    (visit,) = found["visits"]
    assert (found["status"], visit["happened"], visit["run"]) == ("success", "ran", 2)
    assert [(one["place"], one["is_chosen"]) for one in visit["verdicts"]] == [
        ("arc", True),
        ("admission", True),
        ("admission", False),
    ]
    (sentence,) = found["sentences"]
    assert sentence.startswith("Run 2 (event ")
    assert '"start" ended, and arc 2' in sentence
    assert "{{ ctx.rows > workload.limit }} was true (ctx.rows = 12, workload.limit = 10)" in sentence
    assert "Rule 1 of its gate lets it in" in sentence


async def test_why_a_step_did_not_run_names_what_was_false_and_what_was_taken_instead(api):
    execution_id = await api.run(ORDERS)

    small = await got(api, execution_id, "why?step=small", WhyDocument)
    never = await got(api, execution_id, "why?step=never", WhyDocument)

    assert (small["status"], small["visits"][0]["happened"]) == ("not_run", "refused")
    assert "{{ ctx.rows <= workload.limit }} was false (ctx.rows = 12, workload.limit = 10)" in small["sentences"][0]
    assert 'It went to "large" instead' in small["sentences"][0]
    assert "was not asked: an earlier one had decided" in never["sentences"][0]


async def test_why_of_a_step_that_nothing_came_near_to_names_what_leads_to_it(api):
    text = """
    workflow:
      - step: start
        tool: {kind: noop}
        next: {arcs: [{step: middle, when: "{{ ctx.go }}"}]}
      - step: middle
        next: {arcs: [{step: end}]}
      - step: end
        tool: {kind: noop}
    """
    execution_id = await api.run(text)

    found = await got(api, execution_id, "why?step=end", WhyDocument)

    assert [visit["happened"] for visit in found["visits"]] == ["not_reached"]
    assert found["sentences"] == ['"middle" leads to it, and has not run.']


async def test_why_of_a_step_that_the_playbook_does_not_have_names_the_near_miss(api):
    execution_id = await api.run(ORDERS)

    status, problem = await api.ask("GET", f"{EXECUTIONS}/{execution_id}/why?step=larg")

    assert (status, 'did you mean "large"?' in problem["detail"]) == (400, True)


# --- expressions -----------------------------------------------------------------------------------------------------


async def evaluated(api, execution_id: str, expression: str, **place):
    body = {"expression": expression, **place}
    status, found = await api.ask("POST", f"{EXECUTIONS}/{execution_id}/evaluate", body, role="viewer")
    assert status == 200, found
    msgspec.convert(found, Evaluation, strict=True)
    return found


@pytest.mark.parametrize(
    ("expression", "value", "kind"),
    [
        ("ctx.rows", 12, "number"),
        ("{{ ctx.rows }}", 12, "number"),
        ("rows: {{ ctx.rows }}", "rows: 12", "text"),
        ("ctx.rows > workload.limit", True, "boolean"),
        ("[ctx.rows, 1]", [12, 1], "list"),
        ("start.data", {"rows": 12}, "mapping"),
        ("none", None, "null"),
        ("ctx.nothing", None, "null"),
        ("range(3)", [0, 1, 2], "list"),
    ],
)
async def test_an_expression_is_read_where_the_execution_stands(api, expression, value, kind):
    execution_id = await api.run(ORDERS)

    found = await evaluated(api, execution_id, expression)

    assert (found["value"], found["type"], found["error"]) == (value, kind, None)


async def test_an_expression_is_read_as_the_task_of_an_iteration_read_it(api):
    execution_id = await api.run(ORDERS)
    at = await event_at(api, execution_id, "task.started", 2)

    found = await evaluated(api, execution_id, "iter.page + 1", at=at, step="large", iteration=1, task="fetch")

    assert (found["value"], found["seq"]) == (2, at)
    assert found["reads"] == [{"name": "iter.page", "value": 1, "note": ""}]
    assert {"iter", "ctx", "_attempt", "page", "start"} <= set(found["scope"])


async def test_an_expression_of_a_run_that_just_ended_is_read_right_before(api):
    execution_id = await api.run(ORDERS)
    at = await event_at(api, execution_id, "next.evaluated")

    found = await evaluated(api, execution_id, "event.name ~ ' ' ~ output.data.rows", at=at, run=1)

    assert found["value"] == "step.done 12"


@pytest.mark.parametrize(
    ("expression", "column"),
    [("ctx.rows +", 11), ("1 / 0", 1), ("{{ ctx.rows | nope }}", 15), ("ctx.rows + 'a'", 1)],
)
async def test_a_mistake_in_an_expression_is_an_answer_with_its_place(api, expression, column):
    execution_id = await api.run(ORDERS)

    found = await evaluated(api, execution_id, expression)

    assert (found["type"], found["value"]) == ("", None)
    assert found["error"]["message"]
    assert found["error"]["column"] == column


@pytest.mark.parametrize(
    "place", [{"step": "nowhere"}, {"run": 77}, {"step": "large", "iteration": 99}, {"task": "fetch"}]
)
async def test_a_place_that_is_not_there_is_refused(api, place):
    execution_id = await api.run(ORDERS)

    status, problem = await api.ask("POST", f"{EXECUTIONS}/{execution_id}/evaluate", {"expression": "1", **place})

    assert (status, problem["code"]) == (400, "bad-request")


async def test_an_expression_that_would_never_end_is_cut_off(api):
    execution_id = await api.run(ORDERS)

    found = await evaluated(api, execution_id, "range(10000000) | map('string') | join('x') | length")

    assert "more work" in found["error"]["message"] or "may have" in found["error"]["message"]


async def test_an_execution_of_somebody_elses_path_cannot_be_explained(api):
    execution_id = await api.run(ORDERS)
    token = await api.token(role="viewer", path_prefix="others/")
    headers = {"Authorization": f"Bearer {token}"}

    asked = [
        await api.ask("GET", f"{EXECUTIONS}/{execution_id}/{what}", headers=headers)
        for what in ("graph", "moment", "landmarks", "why?step=start")
    ]
    asked.append(await api.ask("POST", f"{EXECUTIONS}/{execution_id}/evaluate", {"expression": "1"}, headers=headers))

    assert [status for status, _ in asked] == [404] * 5


# --- graphs ----------------------------------------------------------------------------------------------------------


async def test_the_graph_of_an_execution_has_the_steps_that_a_planner_added(api):
    text = """
    workflow:
      - step: start
        spec: {policy: {plan: true}}
        tool:
          kind: python
          code: |
            result = [{"step": "extra", "tool": {"kind": "noop"}, "next": {"arcs": [{"step": "end"}]}}]
      - step: end
        tool: {kind: noop}
    """
    execution_id = await api.run(text)

    found = await got(api, execution_id, "graph", GraphAnswer)

    steps = {step["name"]: step for step in found["graph"]["steps"]}
    assert {name: step["is_planned"] for name, step in steps.items()} == {"start": False, "end": False, "extra": True}
    assert (steps["extra"]["line"], steps["extra"]["tasks"][0]["line"]) == (0, 0)
    assert steps["start"]["line"] < steps["start"]["end_line"] < steps["end"]["line"]
    assert ("extra", "end") in {(arc["source"], arc["target"]) for arc in found["graph"]["arcs"]}


async def test_markup_is_text_like_any_other(api):
    evil = "<script>alert(1)</script>"
    text = f"""
    workflow:
      - step: start
        tool: {{kind: noop, set: {{ctx.evil: "{evil}"}}}}
        next: {{arcs: [{{step: end, when: "{{{{ ctx.evil == '{evil}' }}}}"}}]}}
      - step: end
        tool: {{kind: noop}}
    """
    execution_id = await api.run(text)

    at = await event_at(api, execution_id, "next.evaluated")
    _, headers, _ = await api.raw("GET", f"{EXECUTIONS}/{execution_id}/moment?at={at}")
    found = await got(api, execution_id, f"moment?at={at}", MomentDocument)

    assert headers["Content-Type"].startswith("application/json")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert found["verdicts"][0]["reads"] == [{"name": "ctx.evil", "value": evil, "note": ""}]


SECRET = "hush-hush-4711"
WITH_SECRET = """
keychain: [{name: api, kind: bearer}]
workflow:
  - step: start
    tool:
      name: call
      kind: python
      input: {token: "{{ keychain.api.token }}", n: 1}
      code: |
        result = {"said": input["token"], "n": input["n"]}
      set: {ctx.said: "{{ output.data.said }}"}
      spec: {policy: {rules: [{when: "{{ input.token == 'x' }}", then: {do: fail}}, {else: {then: {do: continue}}}]}}
"""


@pytest.mark.spec("KC-05")
async def test_a_planted_secret_is_in_no_explanation(tmp_path, monkeypatch):
    monkeypatch.setenv("NOETL_SECRET_API", f'{{"token": "{SECRET}"}}')
    async with site(tmp_path) as api:
        execution_id = await api.run(WITH_SECRET)
        last = (await got(api, execution_id, "moment", MomentDocument))["last_seq"]

        said = [await api.raw("GET", f"{EXECUTIONS}/{execution_id}/moment?at={seq}") for seq in range(1, last + 1)]
        said.append(await api.raw("GET", f"{EXECUTIONS}/{execution_id}/why?step=start"))
        at = await event_at(api, execution_id, "task.started")
        found = await evaluated(api, execution_id, "keychain.api.token ~ ''", at=at, step="start", task="call")
        shown = await got(api, execution_id, f"moment?at={at}", MomentDocument)

    assert not any(SECRET.encode() in body for _, _, body in said)
    assert found["value"] == "***"
    assert found["reads"] == [{"name": "keychain.api.token", "value": "***", "note": "secret"}]
    assert shown["inputs"]["call"]["token"] == "***"
    assert shown["inputs"]["call"]["n"] == 1


async def test_an_execution_that_was_brought_along_can_be_explained_too(api):
    execution_id = await api.run(ORDERS)
    _, _, exported = await api.raw("GET", f"{EXECUTIONS}/{execution_id}/export")

    media = {"Content-Type": "application/x-ndjson"}
    _, _, data = await api.raw("POST", "/api/v1/viewings", data=exported, headers=media, role="viewer")
    viewing = msgspec.json.decode(data)["execution_id"]

    wanted = await got(api, execution_id, "why?step=large", WhyDocument)
    assert {**await got(api, viewing, "why?step=large", WhyDocument), "execution_id": execution_id} == wanted
    assert (await got(api, viewing, "moment", MomentDocument))["ctx"] == {"rows": 12, "size": "large"}
    assert (await got(api, viewing, "graph", GraphAnswer))["graph"]["entry"] == "start"
    assert (await evaluated(api, viewing, "ctx.rows"))["value"] == 12
