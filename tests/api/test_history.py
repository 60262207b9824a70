"""An execution over time, over the API: timeline, iterations, attempts, and what was said, in pages and live."""

import asyncio
import json

import pytest

from noetl.api.history_documents import AttemptRow, IterationRow, LogLine, TimelinePage, TimelineRun
from tests.api.site import HELLO, WAITING, site
from tests.control.parts import text_of

EXECUTIONS = "/api/v1/executions"
WORK = """
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: load}]}
  - step: load
    loop: {in: "{{ range(5) }}", iterator: n, spec: {mode: parallel, max_in_flight: 5, policy: {on_error: best_effort}}}
    tool:
      - name: fetch
        kind: python
        input: {n: "{{ iter.n }}"}
        code: |
          print("row", input["n"])
          if input["n"] == 3:
              print("ERROR no row 3")
              raise ValueError("no row 3")
        spec:
          isolation: inline
          policy:
            rules:
              - {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}
              - {else: {then: {do: continue}}}
      - {name: save, kind: noop}
"""


@pytest.fixture
async def api(tmp_path):
    async with site(tmp_path, python_inline=True) as found:
        yield found


@pytest.fixture
async def worked(api):
    """An execution with a loop in which one iteration failed after a retry; its address."""
    return f"{EXECUTIONS}/{await api.run(WORK)}"


async def got(api, path, status=200, role="viewer"):
    found = await api.ask("GET", path, role=role)
    assert found[0] == status, found
    return found[1]


async def pages_of(api, path, name, limit):
    """All rows of a list that comes in pages."""
    rows, after = [], 0
    mark = "&" if "?" in path else "?"
    while after is not None:
        page = await got(api, f"{path}{mark}limit={limit}&after={after}")
        rows += page[name]
        after = page["next"]
    return rows


# --- over time -------------------------------------------------------------------------------------------------------


async def test_the_timeline_has_the_runs_of_show_with_the_declared_fields(api, worked):
    page, shown = await got(api, f"{worked}/timeline"), await got(api, worked)

    assert set(page) == set(TimelinePage.__annotations__)
    assert {frozenset(row) for row in page["runs"]} == {frozenset(TimelineRun.__annotations__)}
    assert [(row["run"], row["step"], row["status"]) for row in page["runs"]] == [
        (row["run"], row["step"], row["status"]) for row in shown["runs"]
    ]
    assert (page["duration_ms"], page["last_seq"]) == (shown["duration_ms"], shown["events"])
    assert [row["sources"] for row in page["runs"]] == [[], [1]]
    assert all(row["is_critical"] for row in page["runs"])


async def test_iterations_come_in_pages_and_by_status(api, worked):
    rows = await pages_of(api, f"{worked}/iterations?run=2", "iterations", 2)
    failed = await got(api, f"{worked}/iterations?run=2&status=failed")

    assert {frozenset(row) for row in rows} == {frozenset(IterationRow.__annotations__)}
    assert [row["iteration"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["attempts"] for row in rows] == [2, 2, 2, 2, 2]
    assert failed["counts"] == {"done": 4, "failed": 1, "cancelled": 0, "in_flight": 0, "not_started": 0}
    assert [(row["iteration"], "no row 3" in row["error"]) for row in failed["iterations"]] == [(3, True)]


async def test_attempts_are_those_of_an_iteration_with_what_followed(api, worked):
    rows = await pages_of(api, f"{worked}/attempts?run=2&iteration=3", "attempts", 1)

    assert {frozenset(row) for row in rows} == {frozenset(AttemptRow.__annotations__)}
    assert [(row["task"], row["attempt"], row["status"], row["do"]) for row in rows] == [
        ("fetch", 1, "error", "retry"),
        ("fetch", 2, "error", "fail"),
    ]
    assert len(await pages_of(api, f"{worked}/attempts", "attempts", 3)) == 11


@pytest.mark.parametrize(
    "asked",
    [
        "iterations",
        "iterations?run=0",
        "iterations?run=2&status=lost",
        "timeline?limit=0",
        "timeline?limit=1001",
        "timeline?after=-1",
        "attempts?iteration=-1",
        "attempts?run=1&x=1",
        "logs?level=loud",
        "logs?q=",
        "logs?step=",
        "logs?limit=9999999999999",
    ],
)
async def test_what_is_not_declared_is_refused(api, worked, asked):
    await got(api, f"{worked}/{asked}", 400)


async def test_a_run_that_is_no_loop_has_no_iterations(api, worked):
    problem = await got(api, f"{worked}/iterations?run=1", 404)

    assert problem["code"] == "no-loop"


async def test_an_execution_under_way_is_shown_as_it_stands_and_then_as_it_went_on(api):
    execution_id = await api.run(WAITING)
    where = f"{EXECUTIONS}/{execution_id}"
    before = await got(api, f"{where}/timeline")

    await api.ask("POST", f"{where}/signal", {"set": {"ctx.go": True}})
    await api.engine.until_quiet(int(execution_id))

    after = await got(api, f"{where}/timeline")
    assert (before["runs"], before["duration_ms"], before["critical_ms"]) == ([], None, 0)
    assert [row["status"] for row in after["runs"]] == ["success"]
    assert after["last_seq"] > before["last_seq"]


@pytest.mark.parametrize("part", ["timeline", "iterations?run=1", "attempts", "logs", "logs/stream", "export"])
async def test_a_token_for_another_path_sees_none_of_it(api, worked, part):
    api.tokens["other"] = await api.token(role="admin", path_prefix="elsewhere")

    await got(api, f"{worked}/{part}", 404, role="other")


@pytest.mark.spec("EV-01", "EV-02")
async def test_events_in_the_middle_are_those_of_the_whole_log(api, worked):
    whole = (await got(api, f"{worked}/events?limit=1000"))["events"]

    for after in (0, 1, 7, len(whole) - 2):
        page = await got(api, f"{worked}/events?after={after}&limit=3")
        assert page["events"] == whole[after : after + 3]


# --- lines -----------------------------------------------------------------------------------------------------------


async def test_lines_are_what_was_printed_and_what_happened(api, worked):
    rows = await pages_of(api, f"{worked}/logs", "lines", 3)

    assert {frozenset(row) for row in rows} == {frozenset(LogLine.__annotations__)}
    assert rows == sorted(rows, key=lambda row: (row["seq"], row["line"]))
    assert len({(row["seq"], row["line"]) for row in rows}) == len(rows)
    printed = [row for row in rows if row["source"] == "task"]
    assert sorted({row["text"] for row in printed}) == ["ERROR no row 3", "row 0", "row 1", "row 2", "row 3", "row 4"]
    assert [row["level"] for row in printed if row["text"] == "ERROR no row 3"] == ["error", "error"]
    assert {(row["step"], row["task"], row["iteration"]) for row in printed if row["text"] == "row 4"} == {
        ("load", "fetch", 4)
    }
    told = [row["text"] for row in rows if row["source"] == "engine"]
    assert told[0] == "trial@1 was asked for"
    assert told[-1].startswith("ended:")


@pytest.mark.parametrize(
    ("asked", "claim"),
    [
        ("step=load", lambda row: row["step"] == "load"),
        ("run=2&iteration=3", lambda row: (row["run"], row["iteration"]) == (2, 3)),
        ("task=fetch", lambda row: row["task"] == "fetch"),
        ("level=warning", lambda row: row["level"] in ("warning", "error")),
        ("level=error", lambda row: row["level"] == "error"),
        ("q=ROW%203", lambda row: "row 3" in row["text"].lower()),
        ("q=row&level=error", lambda row: "row" in row["text"] and row["level"] == "error"),
    ],
)
async def test_lines_are_filtered_and_none_is_lost_on_the_way(api, worked, asked, claim):
    every = await pages_of(api, f"{worked}/logs", "lines", 100)

    found = await pages_of(api, f"{worked}/logs?{asked}", "lines", 1)

    assert found == [row for row in every if claim(row)]
    assert found


async def test_a_text_that_is_rare_is_looked_for_in_bounded_steps(api, worked, monkeypatch):
    monkeypatch.setattr("noetl.control.log_lines.READ_MAX", 3)

    found = await pages_of(api, f"{worked}/logs?q=row%204", "lines", 100)

    assert [row["text"] for row in found] == ["row 4"]


async def test_a_stream_of_lines_has_those_there_are_and_ends_with_the_execution(api, worked):
    every = await pages_of(api, f"{worked}/logs", "lines", 100)

    stream = await api.stream(f"{worked}/logs/stream")
    told = await stream.all()

    assert [one["data"] for one in told] == every
    assert {one["event"] for one in told} == {"line"}


async def test_the_last_of_an_events_lines_has_its_number_so_that_none_is_missed(api, worked):
    told = await (await api.stream(f"{worked}/logs/stream?iteration=3")).all()

    several = [one for one in told if one["data"]["seq"] == told[0]["data"]["seq"]]
    assert len(several) > 1
    assert [("id" in one) for one in several] == [False] * (len(several) - 1) + [True]
    assert several[-1]["id"] == str(several[-1]["data"]["seq"])


async def test_who_comes_back_gets_what_is_missing_and_then_no_more(api, worked):
    every = await pages_of(api, f"{worked}/logs", "lines", 100)
    middle = every[len(every) // 2]["seq"]
    last = (await got(api, worked))["events"]

    told = await (await api.stream(f"{worked}/logs/stream", **{"Last-Event-ID": str(middle)})).all()
    over = await api.raw("GET", f"{worked}/logs/stream?after={last}")

    assert [one["data"] for one in told] == [row for row in every if row["seq"] > middle]
    assert over[0] == 204


async def test_lines_come_as_they_are_committed_and_only_those_asked_for(api):
    execution_id = await api.run(WAITING)
    where = f"{EXECUTIONS}/{execution_id}"
    stream = await api.stream(f"{where}/logs/stream?step=start")
    coming = stream.__aiter__()
    first = await anext(coming)

    await api.ask("POST", f"{where}/signal", {"set": {"ctx.go": True}})

    rest = [one["data"]["text"] async for one in coming]
    assert first["data"]["text"] == "waits for a signal"
    assert rest[0] == "started"
    assert rest[-1].startswith("done in")


async def test_many_who_follow_get_the_same_lines(api):
    execution_id = await api.run(WAITING)
    where = f"{EXECUTIONS}/{execution_id}"
    streams = [await api.stream(f"{where}/logs/stream") for _ in range(5)]
    taken = [asyncio.ensure_future(stream.all()) for stream in streams]

    await api.ask("POST", f"{where}/signal", {"set": {"ctx.go": True}})

    told = [[one["data"] for one in rows] for rows in await asyncio.gather(*taken)]
    every = await pages_of(api, f"{where}/logs", "lines", 100)
    assert told == [every] * 5


async def test_a_stream_that_begins_beyond_the_end_holds_nobody_up(api):
    execution_id = await api.run(WAITING)
    where = f"{EXECUTIONS}/{execution_id}"
    beyond = await api.stream(f"{where}/events/stream?after=2000000000")
    others = [await api.stream(f"{where}/events/stream"), await api.stream(f"{where}/logs/stream?after=2000000000")]
    taken = [asyncio.ensure_future(stream.all()) for stream in (beyond, *others)]

    await api.ask("POST", f"{where}/signal", {"set": {"ctx.go": True}})

    from_the_end, whole, lines = await asyncio.gather(*taken)
    assert whole[-1]["event"] == from_the_end[-1]["event"] == "playbook.processed"
    assert lines[-1]["data"]["text"] == "ended: success"


# --- exporting -------------------------------------------------------------------------------------------------------


async def test_an_export_is_a_file_with_a_header_and_one_event_a_line(api):
    execution_id = await api.run(HELLO, "team/greeting")

    status, headers, body = await api.raw("GET", f"{EXECUTIONS}/{execution_id}/export", role="viewer")

    header, *events = map(json.loads, body.splitlines())
    shown = await got(api, f"{EXECUTIONS}/{execution_id}")
    assert (status, headers["Content-Type"]) == (200, "application/x-ndjson")
    assert headers["Content-Disposition"] == f'attachment; filename="greeting-{execution_id}.noetl"'
    assert (header["format"], header["version"]) == ("noetl.execution", 2)
    assert header["events"] == len(events) == shown["events"]
    assert header["execution"]["execution_id"] == execution_id
    assert [one["text"] for one in header["playbooks"]] == [text_of(HELLO, "team/greeting").decode()]
    assert events[0]["name"] == "playbook.execution.requested"
