"""Help for authors over the API: graphs of texts, completion, pages of kinds and rules, the schema."""

import msgspec
import pytest

from noetl.api.authoring_documents import Completions, Description, GraphAnswer, KindsDocument, RulePage
from noetl.dsl.schema import schema
from noetl.embedded import kinds_of
from tests.control.parts import text_of

CATALOG = "/api/v1/catalog"
FLOW = """
workflow:
  - step: start
    tool: {kind: noop}
    next:
      arcs:
        - step: end
  - step: end
    tool:
      - name: last
        kind: python
        code: |
          result = 1

    # nothing more
"""


async def asked(api, method: str, path: str, kind: type, body=None, role: str = "author"):
    status, found = await api.ask(method, path, body, role=role)
    assert status == 200, found
    msgspec.convert(found, kind, strict=True)
    return found


async def test_the_graph_of_a_text_has_the_lines_of_its_steps_and_tasks(api):
    text = text_of(FLOW).decode()

    found = await asked(api, "POST", f"{CATALOG}/graph", GraphAnswer, {"text": text})

    start, end = found["graph"]["steps"]
    lines = text.splitlines()
    assert lines[start["line"] - 1].strip() == "- step: start"
    assert lines[start["end_line"] - 1].strip() == "- step: end"
    assert lines[end["tasks"][0]["line"] - 1].strip() == "- name: last"
    assert (lines[end["end_line"] - 1].strip(), end["tasks"][0]["end_line"]) == ("result = 1", end["end_line"])
    assert found["graph"]["arcs"][0]["target"] == "end"


@pytest.mark.parametrize(
    ("change", "steps", "arcs"),
    [
        (("step: end\n  -", "step: nowhere\n  -"), ["start", "end"], 0),
        (("kind: noop", "kind: nothing"), ["start", "end"], 1),
        (("step: end\n    tool", "step: start\n    tool"), ["start"], 0),
        (("arcs:", "arx:"), ["start", "end"], 0),
        (("  - step: end\n    tool:", "  - tool:"), ["start"], 0),
    ],
)
async def test_a_text_with_findings_has_the_best_graph_there_is(api, change, steps, arcs):
    text = text_of(FLOW.replace(*change)).decode()

    found = await asked(api, "POST", f"{CATALOG}/graph", GraphAnswer, {"text": text})

    assert [step["name"] for step in found["graph"]["steps"]] == steps
    assert len(found["graph"]["arcs"]) == arcs
    assert found["findings_count"] > 0


@pytest.mark.parametrize("text", ["a: [", "just words", "- 1\n- 2"])
async def test_a_text_that_is_no_playbook_has_no_graph(api, text):
    found = await asked(api, "POST", f"{CATALOG}/graph", GraphAnswer, {"text": text})

    assert (found["graph"], found["findings_count"] > 0) == (None, True)


async def test_the_graph_of_a_version_is_for_whoever_sees_it(api):
    await api.ask("POST", CATALOG, {"text": text_of(FLOW, "orders").decode()})
    token = await api.token(role="viewer", path_prefix="others/")

    found = await asked(api, "GET", f"{CATALOG}/graph?path=orders&version=1", GraphAnswer, role="viewer")
    status, _ = await api.ask("GET", f"{CATALOG}/graph?path=orders", headers={"Authorization": f"Bearer {token}"})

    assert ([step["name"] for step in found["graph"]["steps"]], status) == (["start", "end"], 404)


async def test_completion_works_on_a_text_that_is_being_written(api):
    text = "apiVersion: noetl.io/v2\nkind: Playbook\nworkflow:\n  - step: a\n    tool: {kind: ht"
    line = text.rpartition("\n")[2]

    body = {"text": text, "line": 5, "column": len(line) + 1}
    found = await asked(api, "POST", f"{CATALOG}/complete", Completions, body)

    assert [item["label"] for item in found["items"]] == ["http"]
    assert found["start_column"] == len(line) - 1


async def test_a_description_names_the_step_and_the_task(api):
    text = text_of(FLOW).decode()
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "kind: python" in one)

    body = {"text": text, "line": line, "column": 18}
    found = await asked(api, "POST", f"{CATALOG}/describe", Description, body)

    assert (found["title"], found["step"], found["task"]) == ("kind: python", "end", "last")
    assert "## Fields" in found["markdown"]


@pytest.mark.parametrize("place", [{"line": 0, "column": 1}, {"line": 1, "column": 0}, {"line": 1}])
async def test_a_place_that_cannot_be_is_refused(api, place):
    status, problem = await api.ask("POST", f"{CATALOG}/complete", {"text": "", **place})

    assert (status, problem["code"]) == (400, "bad-body")


async def test_a_place_beyond_the_end_is_none_to_fall_over(api):
    for what in ("complete", "describe"):
        status, _ = await api.ask("POST", f"{CATALOG}/{what}", {"text": "a: 1", "line": 99, "column": 99})
        assert status == 200


async def test_the_schema_is_the_one_that_the_command_line_prints(api):
    found = await asked(api, "GET", "/api/v1/schema", dict, role="viewer")

    kinds = kinds_of(api.parts.settings)
    assert found == msgspec.json.decode(msgspec.json.encode(schema(kinds)))


async def test_every_kind_has_its_page_and_its_fields(api):
    found = await asked(api, "GET", "/api/v1/kinds", KindsDocument, role="viewer")

    kinds = {row["kind"]: row for row in found["kinds"]}
    (url,) = [field for field in kinds["http"]["fields"] if field["name"] == "url"]
    assert url["is_required"] is True
    assert kinds["http"]["markdown"].startswith("# kind: http")
    assert "noop" in kinds


async def test_a_rule_has_its_page_by_code_and_by_name(api):
    by_code = await asked(api, "GET", "/api/v1/rules/NL301", RulePage, role="viewer")
    by_name = await asked(api, "GET", f"/api/v1/rules/{by_code['rule']}", RulePage, role="viewer")
    status, problem = await api.ask("GET", "/api/v1/rules/NL300")

    assert (by_code, by_code["rule"]) == (by_name, "jump-to-unknown-task")
    assert (status, problem["code"]) == (404, "unknown-rule")
