"""An execution as a file: what is written is what can be brought back, and what is damaged is told by its line."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from noetl.clock import SystemClock
from noetl.control import brought as module
from noetl.control.brought import Damaged, brought
from noetl.control.exported import ExportedPlaybook, exported, file_name
from noetl.control.shares import digest
from noetl.embedded import kinds_of
from noetl.engine.apply import replay
from noetl.engine.events import LoopStarted, Patch, SignalReceived, StepScheduled, TaskStarted, encode
from noetl.projections.pages import timeline_page
from noetl.stores.contract import Execution
from tests.control.parts import begin, opened, run, settings_of
from tests.golden.keeping import goldens

ID = 2**62 + 1
LOOP = """
workflow:
  - step: start
    loop: {in: "{{ [1, 2, 3] }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {kind: noop, set: {iter.seen: "{{ iter.n }}"}}
"""
WAITING = """
workflow:
  - step: start
    spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                   {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
"""


async def file_of(parts, execution_id) -> bytes:
    return b"".join([piece async for piece in exported(parts.store, execution_id, 1.0)])


def known_kinds():
    return kinds_of(settings_of(Path("nowhere")))


def read(body, execution_id=ID):
    return brought(body, execution_id, known_kinds(), SystemClock().monotonic)


def headed(lines, **changes) -> bytes:
    header = {"format": "noetl.execution", "version": 1, "events": len(lines), **changes}
    return b"\n".join([json.dumps(header).encode(), *lines])


@pytest.fixture
async def whole(tmp_path):
    async with opened(tmp_path) as parts:
        return await file_of(parts, await run(parts, LOOP))


# --- writing and reading ---------------------------------------------------------------------------------------------


async def test_what_is_exported_comes_back_as_it_was(tmp_path):
    async with opened(tmp_path) as parts:
        execution_id = await run(parts, LOOP)
        body, row = await file_of(parts, execution_id), await parts.store.execution(execution_id)
        log = await parts.store.events(execution_id)

        found = read(body)

        assert [(seq, msgspec.structs.replace(event, lease=0)) for seq, event in found.events(0, 1000)] == [
            (seq, msgspec.structs.replace(event, lease=0)) for seq, event in log
        ]
        assert (found.row.path, found.row.version, found.row.sha) == (row.path, row.version, row.sha)
        assert (found.row.status, found.row.head) == (row.status, row.head)
        assert found.header.execution["execution_id"] == str(execution_id)
        assert found.header.playbooks[0].as_text.sha == row.sha


async def test_events_come_in_pages_as_a_store_gives_them(whole):
    found = read(whole)
    log = found.events(0, 1000)

    assert [found.events(after, 3) for after in (0, 3, len(log) - 1, len(log), 5000)] == [
        log[:3],
        log[3:6],
        log[-1:],
        [],
        [],
    ]


async def test_a_lease_is_not_exported_but_that_there_was_one(whole):
    leases = {event.lease for _, event in read(whole).events(0, 1000)}

    assert leases == {0, 1}


async def test_an_execution_that_has_not_ended_is_exported_as_it_stands(tmp_path):
    async with opened(tmp_path) as parts:
        body = await file_of(parts, await run(parts, WAITING))

    assert (read(body).row.status, read(body).row.ended_at) == ("waiting", None)


@pytest.mark.spec("EV-05")
@pytest.mark.parametrize("golden", goldens(), ids=lambda golden: golden.name)
def test_every_kept_log_can_be_brought(golden):
    found = read(headed(golden.lines))

    assert found.row.digest == digest(replay(ID, golden.log))
    assert timeline_page(found.ledger, 0, 10_000)["last_seq"] == len(golden.lines)


def with_playbook(golden):
    """A kept log, with its playbook as it would have been exported."""
    given = ExportedPlaybook(path="trial", version=1, sha="", text=golden.text, name="trial.yaml")
    given = msgspec.structs.replace(given, sha=given.as_text.sha)
    named = b'"sha":"%s"' % given.sha.encode()
    lines = [re.sub(rb'"sha":"[^"]*"', named, line) for line in golden.lines]
    return headed(lines, playbooks=[msgspec.to_builtins(given)])


@pytest.mark.parametrize("golden", goldens(), ids=lambda golden: golden.name)
def test_every_kept_log_fits_its_playbook(golden):
    assert read(with_playbook(golden)).row.head == len(golden.lines)


def test_a_log_whose_steps_or_tasks_its_playbook_lacks_is_refused():
    golden = next(one for one in goldens() if one.name.endswith("flow"))
    body = with_playbook(golden)
    step = re.search(rb'"name":"step.scheduled"[^\n]*"step":"(\w+)"', body)[1]
    task = re.search(rb'"task":"(\w+)"', body)[1]
    header, _, log = body.partition(b"\n")

    for name, what in ((step, "step"), (task, "task")):
        renamed = log.replace(b'"%s":"%s"' % (what.encode(), name), b'"%s":"elsewhere"' % what.encode())
        assert f'no {what} "elsewhere"' in refusal(header + b"\n" + renamed)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("orders", "orders-7.noetl"),
        ("team/orders daily", "orders-daily-7.noetl"),
        ("../..", "execution-7.noetl"),
        ("x" * 300, f"{'x' * 100}-7.noetl"),
        ('a"; b', "a-b-7.noetl"),
        ("ö\r\n", "execution-7.noetl"),
    ],
)
def test_a_file_is_named_after_its_playbook_and_is_a_name_everywhere(path, name):
    assert file_name(Execution(id=7, sha="", path=path, version=1)) == name


# --- damage ----------------------------------------------------------------------------------------------------------


def refusal(body) -> str:
    with pytest.raises(Damaged) as found:
        read(body)
    return str(found.value)


async def test_a_file_that_was_cut_short_is_told_where(whole):
    lines = whole.splitlines(keepends=True)

    assert refusal(b"".join(lines[:-3])).startswith(f"line {len(lines) - 2} of the exported execution: it ends here")
    assert refusal(whole[:-20]).startswith(f"line {len(lines)} ")
    assert refusal(whole[:100]).startswith("line 1 ")


async def test_an_event_too_many_or_one_that_is_missing_is_told(whole):
    lines = whole.splitlines()
    middle = len(lines) // 2
    swapped = [*lines[:5], lines[6], lines[5], *lines[7:]]
    header = json.loads(lines[0])
    fewer = json.dumps({**header, "events": header["events"] - 1}).encode()

    assert "and here is another" in refusal(whole + lines[-1] + b"\n")
    assert "does not follow" in refusal(b"\n".join([fewer, *lines[1:middle], *lines[middle + 1 :]]))
    assert "does not follow" in refusal(b"\n".join(swapped))


async def test_a_line_that_is_no_event_is_told(whole):
    lines = whole.splitlines()

    for line, why in (
        (b'{"name": "task.exploded", "ts": 1.0}', "no event that this NoETL knows"),
        (b'{"name": "step.done", "ts": "now"}', "no event"),
        (b"{", "no event"),
        (b"\xff\xfe", "no event"),
        (b"", "1 to"),
    ):
        assert why in refusal(b"\n".join([*lines[:4], line, *lines[5:]]))
        assert refusal(b"\n".join([*lines[:4], line, *lines[5:]])).startswith("line 5 ")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no header"),
        (b"{}", "no header"),
        (b"\n\n", "no header"),
        (b"[]\n{}", "no header"),
        (b'{"format": "other", "version": 1, "events": 1}\n{}', "format"),
        (b'{"format": "noetl.execution", "version": 3, "events": 1}\n{}', "another NoETL"),
        (b'{"format": "noetl.execution", "version": 1, "events": 0}\n', "from 1 to"),
        (b'{"format": "noetl.execution", "version": 1, "events": 900000}\n', "from 1 to"),
        (b'{"format": "noetl.execution", "version": 1, "events": -1}\n', "from 1 to"),
        (b'{"format": "noetl.execution", "version": 1, "events": 1e400}\n', "no header"),
        (b'{"format": "noetl.execution", "version": 1, "events": 1}\n', "after 0 of 1"),
        (b"PK\x03\x04 a zip\n", "no header"),
    ],
)
def test_what_is_no_export_at_all_is_refused(body, why):
    assert why in refusal(body)


async def test_a_text_that_its_sha_is_not_of_is_refused(whole):
    head, _, rest = whole.partition(b"\n")
    header = json.loads(head)
    header["playbooks"][0]["text"] += "# changed"

    assert "not the one that its sha is of" in refusal(json.dumps(header).encode() + b"\n" + rest)


async def test_a_value_that_was_altered_is_noticed_though_the_log_still_adds_up(whole):
    altered = re.sub(rb'"ts":(\d+)\.', lambda found: b'"ts":%d.' % (int(found[1]) + 1), whole)
    head, _, rest = altered.partition(b"\n")
    older = json.loads(head)
    del older["events_sha256"]

    assert altered != whole
    assert "not those that were written" in refusal(altered)
    assert read(json.dumps(older).encode() + b"\n" + rest)  # which had no means to tell
    assert read(whole.replace(b"\n", b"\r\n"))  # the ends of lines say nothing


# --- hostile ---------------------------------------------------------------------------------------------------------


def begun():
    """The first lines of a log."""
    golden = next(one for one in goldens() if one.name.endswith("flow"))
    return golden.lines[:3]


def test_what_is_nested_deeply_is_refused_before_it_is_built():
    deep = b'{"name": "signal.received", "ts": 1.0, "patches": [["ctx.a", ' + b"[" * 5000 + b"]" * 5000 + b"]]}"

    assert "deeper than" in refusal(headed([*begun(), deep]))
    assert "deeper than" in refusal(b'{"execution": ' + b"[" * 5000 + b"\n{}")


def test_a_log_that_makes_ctx_grow_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LOOK_EVENTS", 10)
    grow = [encode(SignalReceived(ts=1.0, patches=[Patch(f"ctx.k{n}", "x" * 200_000)])) for n in range(20)]

    assert "ctx has more than" in refusal(headed([*begun(), *grow]))


def test_a_log_that_takes_too_long_to_fold_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LOOK_EVENTS", 1)
    ticks = iter(range(0, 10_000, 10))

    with pytest.raises(Damaged, match="took longer than"):
        brought(headed(begun()), ID, known_kinds(), lambda: float(next(ticks)))


@pytest.mark.parametrize(
    "event",
    [
        StepScheduled(ts=1.0, run=2**40, step="x", tokens=[1]),
        StepScheduled(ts=1.0, run=-5, step="x", tokens=[1]),
        StepScheduled(ts=1.0, run=1, step="x", tokens=[99]),
        StepScheduled(ts=float("1e308"), run=1, step="x", tokens=[1]),
        StepScheduled(ts=-1.0, run=1, step="x", tokens=[1]),
        StepScheduled(ts=1.0, run=1, step="x", tokens=[1], compensates=10**30),
        TaskStarted(ts=1.0, run=1, task="t", kind="k", visit=1, attempt=1),
        LoopStarted(ts=1.0, run=9, step="x", count=-1, parent_run=7),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_that_no_engine_would_have_written_there_is_refused(event):
    assert refusal(headed([*begun(), encode(event)])).startswith("line 5 ")


def test_a_log_begins_with_its_request_and_has_it_once():
    lines = begun()

    assert "begins with" in refusal(headed(lines[1:]))
    assert "begins with" in refusal(headed([*lines, lines[0]]))


def test_files_and_lines_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "EVENT_BYTES_MAX", 50)
    assert "from 1 to 50 bytes" in refusal(headed(begun()))
    monkeypatch.setattr(module, "FILE_BYTES_MAX", 100)
    assert "may have 100 bytes" in refusal(headed(begun()))


async def test_more_or_larger_playbooks_than_an_execution_has_are_refused(whole, monkeypatch):
    monkeypatch.setattr(module, "TEXTS_CHARACTERS_MAX", 10)
    assert "characters" in refusal(whole)
    monkeypatch.setattr(module, "PLAYBOOKS_MAX", 0)
    assert "playbooks" in refusal(whole)


async def test_a_fork_brings_both_playbooks(tmp_path):
    from noetl.control.requests import RerunRequest
    from noetl.control.rerun import rerun

    async with opened(tmp_path) as parts:
        execution_id = await run(parts, LOOP)
        changed = (await parts.store.entry_by_sha((await parts.store.execution(execution_id)).sha)).text + b"# new\n"
        request = RerunRequest(execution_id=execution_id, at=3, data=changed, name="trial.yaml")
        started = await rerun(parts.desk, parts.access.read_by, request)
        await parts.until_quiet(started.execution_id)

        found = read(await file_of(parts, started.execution_id))

    assert len(found.header.playbooks) == 2
    assert found.header.playbooks[0].sha == found.row.sha


async def test_what_is_committed_meanwhile_is_not_in_it(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, LOOP)
        pieces = exported(parts.store, execution_id, 1.0)
        header = await anext(pieces)
        await parts.desk.cancel(execution_id, "enough")

        body = header + b"".join([piece async for piece in pieces])

        assert read(body).row.status == "running"
