"""What a form and an editor ask of a playbook: its inputs with their defaults, and its mechanical faults repaired."""

import msgspec

from noetl.api.drafting import Repaired, Workload
from tests.control.parts import text_of

CATALOG = "/api/v1/catalog"
FLOW = """
workload: {day: "2026-03-01", limit: 250, regions: [eu, us]}
workflow:
  - step: start
    loop: {in: "{{ workload.regions }}", iterator: region, mode: parallel}
    tool: {kind: noop}
"""
REPAIRED = FLOW.replace("mode: parallel}", "spec: { mode: parallel }}")


async def test_the_inputs_of_a_playbook_have_their_defaults(api):
    _, row = await api.ask("POST", CATALOG, {"text": text_of(REPAIRED).decode()}, role="author")

    status, found = await api.ask("GET", f"{CATALOG}/workload?path={row['path']}", role="viewer")

    assert status == 200
    msgspec.convert(found, Workload, strict=True)
    assert found["workload"] == {"day": "2026-03-01", "limit": 250, "regions": ["eu", "us"]}
    assert (found["path"], found["version"]) == (row["path"], 1)


async def test_the_inputs_are_those_of_the_version_that_is_asked_for(api):
    for limit in ("250", "300"):
        text = text_of(REPAIRED.replace("250", limit)).decode()
        _, row = await api.ask("POST", CATALOG, {"text": text}, role="author")

    asked = [await api.ask("GET", f"{CATALOG}/workload?path={row['path']}&version={one}") for one in (1, 2)]

    assert [found["workload"]["limit"] for _, found in asked] == [250, 300]


async def test_a_playbook_that_is_not_there_has_no_inputs(api):
    status, found = await api.ask("GET", f"{CATALOG}/workload?path=nowhere")

    assert (status, found["code"]) == (404, "unknown-playbook")


async def test_mechanical_faults_are_repaired_and_nothing_is_kept(api):
    text = text_of(FLOW).decode()

    status, found = await api.ask("POST", f"{CATALOG}/fix", {"text": text}, role="author")

    assert status == 200
    msgspec.convert(found, Repaired, strict=True)
    assert found["repaired"] == 1
    _, report = await api.ask("POST", f"{CATALOG}/check", {"text": found["text"]}, role="author")
    assert report["findings"] == []
    _, listed = await api.ask("GET", CATALOG)
    assert listed["playbooks"] == []


async def test_a_text_that_cannot_be_repaired_comes_back_as_it_was(api):
    status, found = await api.ask("POST", f"{CATALOG}/fix", {"text": "workflow: [\n"}, role="author")

    assert (status, found) == (200, {"text": "workflow: [\n", "repaired": 0})
