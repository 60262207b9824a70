"""Exported executions brought to a server: looked at like its own, by who brought them, acted on by nobody."""

import asyncio
import json

import msgspec
import pytest

from noetl.api import exporting
from noetl.api.allowance import Allowances
from noetl.api.operations import Operation
from noetl.api.problems import Refusal
from noetl.api.table import OPERATIONS
from noetl.control import viewings
from noetl.control.catalog import Text
from noetl.control.exported import exported as export
from noetl.control.requests import RunRequest
from noetl.ids import VIEWING_ID_MIN
from noetl.testing.clocks import ClockByHand
from tests.api.site import WAITING, Site, site
from tests.control.parts import opened, text_of

EXECUTIONS, VIEWINGS = "/api/v1/executions", "/api/v1/viewings"
NDJSON = {"Content-Type": "application/x-ndjson"}
LOOP = """
workflow:
  - step: start
    loop: {in: "{{ range(3) }}", iterator: n}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, set: {ctx.done: true}}
"""
READS = [
    one for one in OPERATIONS if "{execution_id}" in one.path and one.role == "viewer" and one.method == "GET"
]  # fmt: skip
ACTS = [one for one in OPERATIONS if "{execution_id}" in one.path and one.role != "viewer"]
QUERIES = {
    "list_iterations": "run=1",
    "explain_step": "step=start",
    "read_result": "seq=1",
    "diff_executions": "other={}",
}


async def exported(api: Site, execution_id: str) -> bytes:
    status, _, body = await api.raw("GET", f"{EXECUTIONS}/{execution_id}/export")
    assert status == 200
    return body


async def brought(api: Site, body: bytes, role: str = "viewer") -> dict:
    status, _, answer = await api.raw("POST", VIEWINGS, role=role, headers=NDJSON, data=body)
    assert status == 201, answer
    return json.loads(answer)


def path_of(operation: Operation, execution_id: str) -> str:
    query = QUERIES.get(operation.id)
    return operation.path.replace("{execution_id}", execution_id) + (f"?{query.format(execution_id)}" if query else "")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A file from another store, whose executions and playbooks this one has never seen."""

    async def made():
        async with opened(tmp_path_factory.mktemp("elsewhere")) as parts:
            started = await parts.desk.start(RunRequest(data=text_of(LOOP, "team/loop"), name="loop.yaml"))
            await parts.until_quiet(started.execution_id)
            return b"".join([piece async for piece in export(parts.store, started.execution_id, 1.0)])

    return asyncio.run(made())


async def test_a_viewing_is_told_by_an_id_above_every_real_one(api, elsewhere):
    found = await brought(api, elsewhere)

    assert int(found["execution_id"]) >= VIEWING_ID_MIN
    assert (found["path"], found["events"]) == ("team/loop", json.loads(elsewhere.splitlines()[0])["events"])
    assert found["expires_at"].endswith("Z")


async def test_every_way_to_look_at_an_execution_works_with_a_viewing(api, elsewhere):
    found = await brought(api, elsewhere)

    for operation in READS:
        status, _, body = await api.raw("GET", path_of(operation, found["execution_id"]), role="viewer")

        assert status == (404 if operation.id == "read_result" else 200), f"{operation.id}: {body}"
        assert body


async def test_what_is_seen_of_a_viewing_is_what_was_seen_where_it_came_from(api):
    execution_id = await api.run(LOOP)
    body = await exported(api, execution_id)
    viewing = (await brought(api, body))["execution_id"]

    for part in ("", "/timeline", "/iterations?run=1", "/attempts", "/logs", "/summary", "/graph", "/landmarks"):
        here = await api.ask("GET", f"{EXECUTIONS}/{execution_id}{part}", role="viewer")
        there = await api.ask("GET", f"{EXECUTIONS}/{viewing}{part}", role="viewer")
        assert json.dumps(there).replace(viewing, execution_id) == json.dumps(here), part


async def test_a_viewing_exported_again_is_the_same_log(api, elsewhere):
    viewing = (await brought(api, elsewhere))["execution_id"]

    again = (await api.raw("GET", f"{EXECUTIONS}/{viewing}/export", role="viewer"))[2]

    assert again.splitlines()[1:] == elsewhere.splitlines()[1:]


async def test_only_who_brought_it_sees_it(api, elsewhere):
    found = await brought(api, elsewhere)

    for operation in READS:
        for role in ("runner", "author", "admin"):
            status, _, _ = await api.raw("GET", path_of(operation, found["execution_id"]), role=role)
            assert status == 404, operation.id


async def test_nobody_acts_on_it(api, elsewhere):
    found = await brought(api, elsewhere, role="admin")
    assert len(ACTS) >= 5

    for operation in ACTS:
        body = {"set": {"ctx.go": 1}} if operation.id == "signal_execution" else {}
        status, problem = await api.ask(operation.method, path_of(operation, found["execution_id"]), body)

        assert (status, problem.get("code")) == (409, "wrong-state"), operation.id


async def test_it_is_in_no_list_and_nobodys_parent(api, elsewhere):
    found = await brought(api, elsewhere)

    _, listed = await api.ask("GET", EXECUTIONS, role="viewer")
    _, children = await api.ask("GET", f"{EXECUTIONS}?parent={found['execution_id']}", role="viewer")
    _, playbooks = await api.ask("GET", "/api/v1/catalog", role="viewer")

    assert (listed["executions"], children["executions"], playbooks["playbooks"]) == ([], [], [])


async def test_a_token_for_one_path_sees_what_it_brought_from_another(api, elsewhere):
    api.tokens["other"] = await api.token(role="viewer", path_prefix="elsewhere")

    found = await brought(api, elsewhere, role="other")

    status, shown = await api.ask("GET", f"{EXECUTIONS}/{found['execution_id']}", role="other")
    assert (status, shown["path"]) == (200, "team/loop")


async def test_the_same_file_again_is_the_same_viewing_and_of_another_token_another(api, elsewhere):
    first, second = await brought(api, elsewhere), await brought(api, elsewhere)
    other = await brought(api, elsewhere, role="runner")

    assert first["execution_id"] == second["execution_id"] != other["execution_id"]
    assert len(api.parts.viewings) == 2


async def test_one_that_had_not_ended_is_seen_as_it_stood_and_its_streams_end(api):
    execution_id = await api.run(WAITING)
    found = await brought(api, await exported(api, execution_id))
    where = f"{EXECUTIONS}/{found['execution_id']}"

    _, shown = await api.ask("GET", where, role="viewer")
    for part in ("events", "logs"):
        told = await (await api.stream(f"{where}/{part}/stream")).all()
        assert told
        again = await api.raw("GET", f"{where}/{part}/stream?after={shown['events']}", role="viewer")
        assert again[0] == 204
    assert shown["status"] == "waiting"


async def test_a_reference_in_a_viewing_opens_nothing(api):
    """A file is anybody's: whoever could name a stored result in one would read it."""
    large = 'workflow: [{step: start, tool: {kind: noop, set: {ctx.a: "{{ workload.text | upper }}"}}}]'
    text = text_of(large).decode().replace("workflow:", "workload: {text: ''}\nworkflow:")
    status, started = await api.ask("POST", EXECUTIONS, {"text": text, "payload": {"text": "x" * 100_000}})
    assert status == 201
    await api.engine.until_quiet(int(started["execution_id"]))
    here = f"{EXECUTIONS}/{started['execution_id']}/results?seq=1"
    assert (await api.raw("GET", here))[0] == 200
    found = await brought(api, await exported(api, started["execution_id"]))

    status, _, body = await api.raw("GET", f"{EXECUTIONS}/{found['execution_id']}/results?seq=1", role="viewer")

    assert (status, json.loads(body)["code"]) == (404, "ref_missing")


async def test_a_viewing_answers_the_payloads_that_came_along_and_no_others(api):
    text = text_of(
        'workflow: [{step: start, tool: {kind: noop, set: {ctx.a: "{{ workload.text | upper }}"}}}]'
    ).decode()
    text = text.replace("workflow:", "workload: {text: ''}\nworkflow:")
    _, started = await api.ask("POST", EXECUTIONS, {"text": text, "payload": {"text": "y" * 100_000}})
    await api.engine.until_quiet(int(started["execution_id"]))
    where = f"{EXECUTIONS}/{started['execution_id']}/export?payload_bytes_max=1000000"
    whole = (await api.raw("GET", where))[2]

    found = await brought(api, whole)
    status, _, body = await api.raw("GET", f"{EXECUTIONS}/{found['execution_id']}/results?seq=1", role="viewer")

    assert (status, json.loads(body)) == (200, {"text": "y" * 100_000})


async def test_a_playbook_that_does_not_check_here_takes_only_its_graph_away(api, elsewhere):
    head, _, log = elsewhere.partition(b"\n")
    header = json.loads(head)
    text = header["playbooks"][0]["text"].replace("kind: noop", "kind: of_a_plugin")
    sha = Text(data=text.encode(), name="").sha
    header["playbooks"][0] |= {"text": text, "sha": sha}
    del header["events_sha256"]  # as an older NoETL wrote it
    log = log.replace(json.loads(head)["execution"]["sha"].encode(), sha.encode())

    found = await brought(api, json.dumps(header).encode() + b"\n" + log)

    where = f"{EXECUTIONS}/{found['execution_id']}"
    assert (await api.ask("GET", f"{where}/timeline", role="viewer"))[0] == 200
    assert (await api.ask("GET", f"{where}/events", role="viewer"))[0] == 200
    assert (await api.ask("GET", f"{where}/summary", role="viewer"))[0] == 422


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"{}", b"x" * 1000, b'{"format": "noetl.execution", "version": 1}\n'])
async def test_what_is_no_export_is_refused_with_its_line(api, body):
    status, _, answer = await api.raw("POST", VIEWINGS, role="viewer", headers=NDJSON, data=body)

    problem = json.loads(answer)
    assert (status, problem["code"]) == (422, "damaged-export")
    assert "line 1 " in problem["detail"]


async def test_a_damaged_line_is_told_and_nothing_is_held(api, elsewhere):
    lines = elsewhere.splitlines()
    lines[7] = lines[7][:-5]

    status, _, answer = await api.raw("POST", VIEWINGS, role="viewer", headers=NDJSON, data=b"\n".join(lines))

    assert status == 422
    assert "line 8 " in json.loads(answer)["detail"]
    assert len(api.parts.viewings) == 0


async def test_another_kind_of_body_and_one_that_is_too_large_are_refused(api, elsewhere):
    wrong = await api.raw("POST", VIEWINGS, headers={"Content-Type": "application/json"}, data=elsewhere)
    large = await api.raw("POST", VIEWINGS, headers={**NDJSON, "Content-Length": str(65 * 1024 * 1024)}, data=b"x")

    assert (wrong[0], large[0]) == (415, 413)


async def test_few_are_held_and_the_oldest_go_first(api, elsewhere, monkeypatch):
    monkeypatch.setattr(viewings, "VIEWINGS_MAX", 2)
    ids = []
    for number in range(3):
        changed = elsewhere.replace(b'"exported_at":"', b'"exported_at":"%d' % number)
        ids.append((await brought(api, changed))["execution_id"])

    statuses = [(await api.raw("GET", f"{EXECUTIONS}/{one}", role="viewer"))[0] for one in ids]

    assert statuses == [404, 200, 200]


async def test_they_are_bounded_in_bytes(api, elsewhere, monkeypatch):
    monkeypatch.setattr(viewings, "VIEWINGS_BYTES_MAX", len(elsewhere))

    await brought(api, elsewhere)
    await brought(api, elsewhere.replace(b'"exported_at":"', b'"exported_at":"x'))

    assert len(api.parts.viewings) == 1


async def test_a_viewing_is_gone_after_an_hour(api, elsewhere):
    found = await brought(api, elsewhere)

    api.parts.viewings._clock = ClockByHand(api.parts.clock.now() + 3601.0)

    status, problem = await api.ask("GET", f"{EXECUTIONS}/{found['execution_id']}", role="viewer")
    assert (status, problem["code"]) == (404, "unknown-execution")


async def test_more_than_a_few_at_once_are_asked_to_come_again(api):
    """Each holds its file in memory while it is read."""
    (operation,) = [one for one in OPERATIONS if one.id == "bring_viewing"]
    allowances = Allowances(api.parts.clock)

    with allowances.shared(operation), allowances.shared(operation), pytest.raises(Refusal) as refused:  # noqa: SIM117
        with allowances.shared(operation):
            pass
    with allowances.shared(operation):  # there is a place again
        pass

    assert (refused.value.status, refused.value.code) == (503, "busy")


async def test_the_front_door_keeps_to_that_before_it_reads_a_body(tmp_path, elsewhere):
    begun, release = asyncio.Event(), asyncio.Event()

    async def held(call):
        begun.set()
        await release.wait()
        return await exporting.bring_viewing(call)

    (known,) = [one for one in OPERATIONS if one.id == "bring_viewing"]
    slow = msgspec.structs.replace(known, handler=held, at_once_max=1)
    async with site(tmp_path, (slow,)) as api:
        first = asyncio.ensure_future(api.raw("POST", VIEWINGS, headers=NDJSON, data=elsewhere))
        await begun.wait()
        second = await api.raw("POST", VIEWINGS, headers=NDJSON, data=elsewhere)
        release.set()

        assert ((await first)[0], second[0]) == (201, 503)
        assert "Retry-After" in second[1]
