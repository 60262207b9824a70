"""The pump: batches, one commit each; what a failed commit and a fault of the engine leave behind (protocol §5)."""

import asyncio
import json

import pytest

from noetl.control import turn as pump
from noetl.control.requests import RerunRequest
from noetl.control.rerun import rerun
from noetl.control.verify import verify
from noetl.engine import commands as ops
from noetl.engine.events import Patch, StepDone, TaskWaiting
from noetl.engine.output import Output
from noetl.engine.pipeline import Pipeline
from noetl.errors import DiskFull, InternalError, WrongState
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE
from noetl.stores.contract import CANCELLED, INCIDENT, RUNNING, SUCCESS, HeadMoved
from noetl.testing.engine import answered
from noetl.testing.waiting import until
from tests.control.parts import begin, log_of, names_of, opened, run, state_of, text_of

CHAIN = """
    workflow:
      - {step: start, tool: {kind: noop}, next: {arcs: [{step: end}]}}
      - {step: end, tool: {kind: noop}}
"""
GATED = """
    workflow:
      - step: start
        spec: {policy: {admit: {on_deny: wait, rules: [{else: {then: {allow: false}}}]}}}
        tool: {kind: noop}
"""
MENDED = """
    workflow:
      - step: call
        tool: {kind: playbook, path: child}
        next: {arcs: [{step: mend, when: "{{ event.name == 'step.failed' }}"}]}
      - {step: mend, tool: {kind: noop}}
"""
CALLER = "workflow: [{step: start, tool: {kind: playbook, path: child}}]"


class Commits:
    """Watches the commits of a store; one can be held back, or made to fail."""

    def __init__(self, parts):
        self.batches = []
        self.error = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()
        self.commit, parts.store.commit = parts.store.commit, self

    async def __call__(self, batch):
        self.batches.append(batch)
        self.begun.set()
        await self.gate.wait()
        if self.error:
            raise self.error
        await self.commit(batch)


def whole_report(parts, work):
    """All that a worker says of a step with one task."""
    pipeline = Pipeline(parts.executions.known(work.execution_id).loaded.playbook, work)
    events = list(pipeline.begin(1.0))
    opening, invocation = pipeline.enter(1.0)
    events += [*opening, pipeline.close(invocation, answered(Output(data=1), 1), 1.0), pipeline.finish(1.0)]
    return ops.Report(
        execution_id=work.execution_id,
        run=work.run,
        iter=work.iter,
        lease=work.lease,
        n=1,
        events=events,
    )


# --- batches ---------------------------------------------------------------------------------------------------------


async def test_what_is_asked_while_a_commit_is_under_way_goes_into_one_batch(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        commits = Commits(parts)
        commits.gate.clear()
        first = asyncio.ensure_future(begin(parts, CHAIN))
        await commits.begun.wait()
        others = [asyncio.ensure_future(begin(parts, CHAIN)) for _ in range(20)]
        while len(parts.intake._asked) < len(others):
            await asyncio.sleep(0)

        commits.gate.set()
        await asyncio.gather(first, *others)

        assert [len(batch.executions) for batch in commits.batches] == [1, 20]


async def test_nothing_is_answered_or_handed_out_before_the_commit(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        commits = Commits(parts)
        commits.gate.clear()
        asked = asyncio.ensure_future(begin(parts, CHAIN))
        await commits.begun.wait()
        before = (asked.done(), parts.queue.is_idle)

        commits.gate.set()
        await asked

        assert before == (False, True)
        assert not parts.queue.is_idle


async def test_operations_are_decided_in_the_order_in_which_they_were_asked(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, GATED)

        await asyncio.gather(*(parts.desk.signal(execution_id, {"ctx.n": number}) for number in range(50)))

        state = await state_of(parts, execution_id)
        assert state.ctx == {"n": 49}


async def test_a_signal_that_comes_too_late_is_refused_and_not_answered_as_if_it_stood(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, GATED)

        asked = (parts.desk.cancel(execution_id, ""), parts.desk.signal(execution_id, {"ctx.n": 1}))
        _, refused = await asyncio.gather(*asked, return_exceptions=True)

        assert isinstance(refused, WrongState)
        assert "signal.received" not in await names_of(parts, execution_id)


# --- duplicates and fencing ------------------------------------------------------------------------------------------


@pytest.mark.spec("EV-06", "RO-03")
async def test_a_report_delivered_twice_in_one_batch_is_recorded_once(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, CHAIN)
        [work] = await parts.dispatch.poll("w", 1)
        report = whole_report(parts, work)

        words = await asyncio.gather(parts.dispatch.report(report), parts.dispatch.report(report))

        assert words == [ACCEPTED, DUPLICATE]
        assert len([one for one in await log_of(parts, execution_id) if isinstance(one, StepDone)]) == 1
        assert (await parts.store.execution(execution_id)).status == RUNNING


@pytest.mark.spec("EV-06", "RO-03")
async def test_a_report_that_comes_again_later_changes_nothing(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, CHAIN)
        [work] = await parts.dispatch.poll("w", 1)
        report = whole_report(parts, work)
        await parts.dispatch.report(report)
        before = await log_of(parts, execution_id)

        word = await parts.dispatch.report(report)

        assert word == STALE
        assert await log_of(parts, execution_id) == before


@pytest.mark.spec("RO-03", "ST-09")
async def test_a_late_report_of_a_former_owner_changes_nothing(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, CHAIN)
        [slow] = await parts.dispatch.poll("slow", 1)
        parts.queue.expire(parts.clock.monotonic() + 1000)
        [fast] = await parts.dispatch.poll("fast", 1)
        before = await log_of(parts, execution_id)

        late = await parts.dispatch.report(whole_report(parts, slow))
        after = await log_of(parts, execution_id)
        word = await parts.dispatch.report(whole_report(parts, fast))

        assert (late, after) == (STALE, before)
        assert word == ACCEPTED
        [done] = [one for one in await log_of(parts, execution_id) if isinstance(one, StepDone)]
        assert done.lease == fast.lease


@pytest.mark.spec("RO-03")
async def test_a_late_report_counts_while_nobody_else_has_the_job(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, CHAIN)
        [work] = await parts.dispatch.poll("slow", 1)
        parts.queue.expire(parts.clock.monotonic() + 1000)

        word = await parts.dispatch.report(whole_report(parts, work))

        assert word == ACCEPTED
        assert "step.done" in await names_of(parts, execution_id)


@pytest.mark.spec("RO-03")
async def test_after_a_cancel_reports_are_stale_and_the_heartbeat_says_so(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, CHAIN)
        [work] = await parts.dispatch.poll("w", 1)
        report = whole_report(parts, work)
        await parts.desk.cancel(execution_id, "enough")
        before = await log_of(parts, execution_id)

        gone = await parts.dispatch.heartbeat("w", [(work.key, work.lease)])
        word = await parts.dispatch.report(report)

        assert (gone, word) == ([work.key], STALE)
        assert await log_of(parts, execution_id) == before


# --- a commit that fails ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [DiskFull("the store"), OSError("gone")], ids=["disk full", "any other"])
async def test_a_failed_commit_is_told_to_everybody_who_waits_and_leaves_nothing(tmp_path, error):
    async with opened(tmp_path, is_working=False) as parts:
        standing = await begin(parts, CHAIN)
        [work] = await parts.dispatch.poll("w", 1)
        commits = Commits(parts)
        commits.error = error
        commits.gate.clear()
        asked = [asyncio.ensure_future(parts.dispatch.report(whole_report(parts, work)))]
        await commits.begun.wait()
        asked += [asyncio.ensure_future(begin(parts, CHAIN)) for _ in range(3)]  # wait for the batch after
        while len(parts.intake._asked) < 3:
            await asyncio.sleep(0)

        commits.gate.set()
        told = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 5)

        assert told == [error] * 4
        assert parts.executions.known(standing) is None
        assert (await parts.store.execution(standing)).head == len(await log_of(parts, standing))
        with pytest.raises(type(error)):
            await begin(parts, CHAIN)


async def test_an_execution_whose_start_could_not_be_committed_is_not_going_on(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        first = await begin(parts, CHAIN)
        Commits(parts).error = DiskFull(str(tmp_path))

        with pytest.raises(DiskFull):
            await begin(parts, CHAIN)

        assert [parts.executions.is_going_on(one) for one in (first, *range(first + 1, 100))] == [True] + [False] * 98


async def test_what_a_failed_commit_lost_is_done_again_by_the_next_process(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, CHAIN)
        [work] = await parts.dispatch.poll("w", 1)
        commits = Commits(parts)
        commits.error = DiskFull("the store")
        with pytest.raises(DiskFull):
            await parts.dispatch.report(whole_report(parts, work))

    async with opened(tmp_path) as parts:
        await parts.resume(execution_id)
        await parts.until_quiet(execution_id)

        assert (await parts.store.execution(execution_id)).status == SUCCESS
        assert (await verify(parts.store, execution_id))["is_equal"]


async def test_a_deadline_that_passed_while_the_disk_was_full_is_not_forgotten(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        parts.intake.is_lasting = True
        execution_id = await begin(parts, CHAIN)
        [work] = await parts.dispatch.poll("w", 1)
        commits = Commits(parts)
        commits.error = DiskFull("the store")

        parts.intake.post(ops.Expire(execution_id=execution_id, run=work.run, kind="timeout", message="it has passed"))
        await commits.begun.wait()
        commits.error = None
        async with asyncio.timeout(5):
            while (await parts.store.execution(execution_id)).status == RUNNING:
                await asyncio.sleep(0)

        assert len(commits.batches) == 2
        assert (await state_of(parts, execution_id)).error["kind"] == "timeout"


async def test_a_plan_is_checked_though_a_failed_commit_dropped_its_execution_from_memory(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, "workflow: [{step: start, spec: {policy: {plan: true}}, tool: {kind: noop}}]")
        [work] = await parts.dispatch.poll("w", 1)

        await parts.dispatch.report(whole_report(parts, work))
        parts.executions.drop(execution_id)
        async with asyncio.timeout(5):
            while (await parts.store.execution(execution_id)).status == RUNNING:
                await asyncio.sleep(0)

        assert "a planner must return a list" in (await state_of(parts, execution_id)).error["message"]


async def test_of_two_starts_under_one_id_in_one_batch_at_most_one_is_acknowledged(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        first, second = await begin(parts, CHAIN), await begin(parts, GATED)
        entries = [await parts.store.execution(one) for one in (first, second)]
        starts = [ops.Start(execution_id=90, path=one.path, version=one.version, sha=one.sha) for one in entries]

        words = await asyncio.gather(*(parts.intake.submit(start) for start in starts), return_exceptions=True)

        assert ACCEPTED not in words or await parts.store.execution(90) is not None
        assert words.count(ACCEPTED) <= 1
        assert await parts.intake.submit(ops.Cancel(execution_id=first, reason="")) == ACCEPTED


async def test_a_start_under_the_id_of_an_execution_of_its_batch_is_refused_and_harms_nothing(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, GATED)
        row = await parts.store.execution(execution_id)
        start = ops.Start(execution_id=execution_id, path=row.path, version=row.version, sha=row.sha)
        signal = ops.Signal(execution_id=execution_id, patches=[Patch("ctx.n", 1)])

        words = await asyncio.gather(parts.intake.submit(start), parts.intake.submit(signal), return_exceptions=True)

        assert [type(words[0]), words[1]] == [HeadMoved, ACCEPTED]
        assert (await state_of(parts, execution_id)).ctx == {"n": 1}


# --- a fault of the engine -------------------------------------------------------------------------------------------


@pytest.fixture
def faulty(monkeypatch):
    """Makes the engine fail on operations of one kind on one execution."""
    planted = {}

    def decide(playbook, net, state, operation, now):
        if isinstance(operation, planted.get(state.execution_id, ())):
            state.ctx = {"half": "changed"}
            raise ZeroDivisionError("planted")
        return real(playbook, net, state, operation, now)

    real = pump.decide
    monkeypatch.setattr(pump, "decide", decide)
    return planted


async def test_a_fault_of_the_engine_is_an_incident_of_that_execution_and_harms_no_other(tmp_path, faulty):
    async with opened(tmp_path, is_working=False) as parts:
        ids = [await begin(parts, CHAIN) for _ in range(3)]
        faulty[ids[1]] = ops.Report
        works = await parts.dispatch.poll("w", 3)

        words = await asyncio.gather(*(parts.dispatch.report(whole_report(parts, work)) for work in works))
        parts.work()
        for execution_id in ids:
            await parts.until_quiet(execution_id)

        assert words == [ACCEPTED, STALE, ACCEPTED]  # nothing of it is recorded, so nobody is told that it is
        statuses = [(await parts.store.execution(execution_id)).status for execution_id in ids]
        assert statuses == [SUCCESS, INCIDENT, SUCCESS]
        log = await log_of(parts, ids[1])
        assert "ZeroDivisionError while deciding (Report)" in log[-1].message
        assert "planted" not in log[-1].message
        assert (await state_of(parts, ids[1])).ctx == {}


async def test_an_incident_hands_out_no_work_until_it_is_taken_up_again(tmp_path, faulty):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, CHAIN)
        faulty[execution_id] = ops.Report
        [work] = await parts.dispatch.poll("w", 1)
        await parts.dispatch.report(whole_report(parts, work))
        is_idle = parts.queue.is_idle
        word = await parts.dispatch.report(whole_report(parts, work))

        faulty.clear()
        parts.work()
        await parts.resume(execution_id)
        await parts.until_quiet(execution_id)

        assert (is_idle, word) == (True, STALE)
        assert (await parts.store.execution(execution_id)).status == SUCCESS
        assert (await verify(parts.store, execution_id))["is_equal"]


async def test_an_incident_is_not_taken_up_by_the_next_process_but_by_whoever_asks_for_it(tmp_path, faulty):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, CHAIN)
        faulty[execution_id] = ops.Report
        [work] = await parts.dispatch.poll("w", 1)
        await parts.dispatch.report(whole_report(parts, work))
        faulty.clear()

    async with opened(tmp_path) as parts:
        await parts.take_up_all()
        taken_up_as = (await parts.store.execution(execution_id)).status
        await parts.resume(execution_id)
        await parts.until_quiet(execution_id)

        assert taken_up_as == INCIDENT
        assert (await parts.store.execution(execution_id)).status == SUCCESS


async def test_an_incident_below_is_not_taken_up_by_the_next_process_though_its_caller_is(tmp_path, faulty):
    (tmp_path / "child.yaml").write_bytes(text_of("workflow: [{step: a, tool: {kind: noop}}]", "child"))
    async with opened(tmp_path) as parts:
        faulty.update(dict.fromkeys(range(2, 100), ops.Report))
        parent = await run(parts, CALLER, folder=str(tmp_path))
        [child] = await parts.store.children(parent)
        faulty.clear()

    async with opened(tmp_path) as parts:
        await parts.take_up_all()
        taken_up_as = [(await parts.store.execution(one)).status for one in (parent, child.id)]
        await parts.resume(parent)
        await parts.until_quiet(parent)

        assert taken_up_as == [RUNNING, INCIDENT]
        assert (await parts.store.execution(parent)).status == SUCCESS


@pytest.mark.spec("ST-12", "TL-04")
@pytest.mark.parametrize("how", ["the next process", "whoever resumes its caller"])
async def test_a_child_that_undoes_its_steps_beside_its_caller_is_taken_up_by(tmp_path, how):
    go = tmp_path / "go"
    undoing = f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)"
    done = {
        "step": "done",
        "tool": {"kind": "noop"},
        "spec": {"policy": {"compensation": {"tool": {"kind": "python", "code": undoing}}}},
    }
    gate = {"admit": {"on_deny": "wait", "rules": [{"else": {"then": {"allow": False}}}]}}
    bodies = {
        "child": [
            {**done, "next": {"arcs": [{"step": "held"}]}},
            {"step": "held", "spec": {"policy": gate}, "tool": {"kind": "noop"}},
        ],
        "caller": [
            {**done, "next": {"arcs": [{"step": "call"}]}},
            {"step": "call", "tool": {"kind": "playbook", "path": "child"}},
        ],
    }
    texts = {name: f"workflow: {json.dumps(steps)}" for name, steps in bodies.items()}
    (tmp_path / "child.yaml").write_bytes(text_of(texts["child"], "child"))
    async with opened(tmp_path) as parts:
        caller = await run(parts, texts["caller"], folder=str(tmp_path))
        [child] = await parts.store.children(caller)
        await parts.desk.cancel(caller, "enough")

    go.touch()
    async with opened(tmp_path) as parts:
        left_as = [(await parts.store.execution(one)).status for one in (caller, child.id)]
        await (parts.take_up_all() if how == "the next process" else parts.resume(caller))
        await parts.until_quiet(caller)
        await parts.until_quiet(child.id)

        assert left_as == [RUNNING, RUNNING]
        assert [(await parts.store.execution(one)).status for one in (caller, child.id)] == [CANCELLED, CANCELLED]


async def test_what_an_incident_had_called_is_taken_up_by_the_next_process(tmp_path, faulty):
    (tmp_path / "child.yaml").write_bytes(text_of("workflow: [{step: a, tool: {kind: noop}}]", "child"))
    async with opened(tmp_path, is_working=False) as parts:
        parent = await begin(parts, CALLER, folder=str(tmp_path))
        [work] = await parts.dispatch.poll("w", 1)
        await parts.dispatch.report(parking_report(parts, work))
        faulty[parent] = ops.Signal
        with pytest.raises(InternalError):
            await parts.desk.signal(parent, {"ctx.n": 1})
        [child] = await parts.store.children(parent)
        faulty.clear()

    async with opened(tmp_path) as parts:
        await parts.take_up_all()
        await parts.until_quiet(child.id)
        left_as = [(await parts.store.execution(one)).status for one in (parent, child.id)]
        await parts.resume(parent)
        await parts.until_quiet(parent)

        assert left_as == [INCIDENT, SUCCESS]
        assert (await parts.store.execution(parent)).status == SUCCESS


async def test_an_execution_that_cannot_be_taken_up_does_not_keep_the_next_process_from_the_others(tmp_path, faulty):
    async with opened(tmp_path, is_working=False) as parts:
        ids = [await begin(parts, CHAIN) for _ in range(3)]
    faulty[ids[1]] = ops.Recover

    async with opened(tmp_path) as parts:
        await parts.take_up_all()
        for execution_id in ids:
            await parts.until_quiet(execution_id)

        statuses = [(await parts.store.execution(execution_id)).status for execution_id in ids]
        assert statuses == [SUCCESS, INCIDENT, SUCCESS]


async def test_a_start_that_the_engine_fails_on_is_refused_and_leaves_nothing(tmp_path, faulty):
    async with opened(tmp_path) as parts:
        faulty.update(dict.fromkeys(range(1, 100), ops.Start))

        with pytest.raises(InternalError, match="ZeroDivisionError while deciding"):
            await begin(parts, CHAIN)
        faulty.clear()
        execution_id = await begin(parts, CHAIN)
        await parts.until_quiet(execution_id)

        assert [row.status for row in await parts.store.executions()] == [SUCCESS]


async def test_a_fork_that_the_engine_fails_on_is_refused_and_leaves_nothing(tmp_path, faulty):
    async with opened(tmp_path) as parts:
        source = await run(parts, CHAIN)
        faulty.update(dict.fromkeys(range(source + 1, 100), ops.Fork))
        request = RerunRequest(execution_id=source, from_step="end", request_key="once")

        with pytest.raises(InternalError, match="ZeroDivisionError while deciding"):
            await rerun(parts.desk, parts.access.read_by, request)
        left = [row.id for row in await parts.store.executions()]
        faulty.clear()
        forked = await rerun(parts.desk, parts.access.read_by, request)
        await parts.until_quiet(forked.execution_id)

        assert left == [source]
        assert [row.status for row in await parts.store.executions()] == [SUCCESS, SUCCESS]


@pytest.mark.spec("EV-05")
async def test_an_execution_can_be_run_again_from_the_incident_it_is_in(tmp_path, faulty):
    async with opened(tmp_path) as parts:
        faulty[1] = ops.Report
        source = await run(parts, CHAIN)
        row = await parts.store.execution(source)

        request = RerunRequest(execution_id=source, at=row.head)
        forked = await rerun(parts.desk, parts.access.read_by, request)
        await parts.until_quiet(forked.execution_id)

        assert (source, row.status) == (1, INCIDENT)
        assert (await parts.store.execution(forked.execution_id)).status == SUCCESS
        assert "execution.forked" in await names_of(parts, forked.execution_id)


async def test_a_child_whose_start_the_engine_fails_on_is_an_incident_of_its_caller_which_may_try_again(
    tmp_path, faulty
):
    (tmp_path / "child.yaml").write_bytes(text_of("workflow: [{step: a, tool: {kind: noop}}]", "child"))
    async with opened(tmp_path) as parts:
        parent = await begin(parts, CALLER, folder=str(tmp_path))
        faulty.update(dict.fromkeys(range(parent + 1, 100), ops.Start))
        await parts.until_quiet(parent)
        waits_as = (await parts.store.execution(parent)).status
        faulty.clear()

        await parts.resume(parent)
        await parts.until_quiet(parent)

        assert waits_as == INCIDENT
        assert [row.status for row in await parts.store.executions()] == [SUCCESS, SUCCESS]


async def test_two_faults_in_one_batch_are_two_incidents(tmp_path, faulty):
    async with opened(tmp_path, is_working=False) as parts:
        ids = [await begin(parts, CHAIN) for _ in range(4)]
        faulty[ids[0]] = faulty[ids[3]] = ops.Signal

        signals = (parts.desk.signal(execution_id, {"ctx.n": 1}) for execution_id in ids)
        answers = await asyncio.gather(*signals, return_exceptions=True)

        statuses = [(await parts.store.execution(execution_id)).status for execution_id in ids]
        assert statuses == [INCIDENT, RUNNING, RUNNING, INCIDENT]
        assert [isinstance(answer, InternalError) for answer in answers] == [True, False, False, True]  # it is not kept


# --- children --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TL-04")
async def test_a_child_that_begins_in_the_batch_that_cancels_its_parent_is_cancelled(tmp_path):
    (tmp_path / "child.yaml").write_bytes(text_of("workflow: [{step: a, tool: {kind: noop}}]", "child"))
    async with opened(tmp_path, is_working=False) as parts:
        parent = await begin(parts, CALLER, folder=str(tmp_path))
        [work] = await parts.dispatch.poll("w", 1)

        await asyncio.gather(parts.dispatch.report(parking_report(parts, work)), parts.desk.cancel(parent, "enough"))

        [child] = await parts.store.children(parent)
        assert child.status == "cancelled"


@pytest.mark.spec("TL-04", "ST-07")
async def test_a_child_that_begins_in_the_batch_in_which_its_step_times_out_is_cancelled(tmp_path):
    (tmp_path / "child.yaml").write_bytes(text_of("workflow: [{step: a, tool: {kind: noop}}]", "child"))
    async with opened(tmp_path, is_working=False) as parts:
        parent = await begin(parts, MENDED, folder=str(tmp_path))
        [work] = await parts.dispatch.poll("w", 1)
        over = ops.Expire(execution_id=parent, run=work.run, message="lifecycle.timeout_s has passed")

        await asyncio.gather(parts.intake.submit(parking_report(parts, work)), parts.intake.submit(over))

        [child] = await parts.store.children(parent)
        assert child.status == "cancelled"


@pytest.mark.spec("RO-03", "ST-07")
async def test_a_report_after_the_end_of_its_step_in_the_same_batch_is_stale_and_no_incident(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, MENDED)
        [work] = await parts.dispatch.poll("w", 1)
        over = ops.Expire(execution_id=execution_id, run=work.run, message="lifecycle.timeout_s has passed")
        late = whole_report(parts, work)

        words = await asyncio.gather(parts.intake.submit(over), parts.intake.submit(late))

        assert words == [ACCEPTED, STALE]
        assert (await parts.store.execution(execution_id)).status == RUNNING


def parking_report(parts, work):
    """What a worker says when it comes to a task that calls the playbook `child`."""
    pipeline = Pipeline(parts.executions.known(work.execution_id).loaded.playbook, work)
    opening, invocation = pipeline.enter(1.0)
    child = {"path": "child", "payload": {}, "key": invocation.key}
    waiting = TaskWaiting(
        ts=1.0, run=work.run, lease=work.lease, task=invocation.task.label, visit=1, attempt=1, child=child
    )
    events = [*pipeline.begin(1.0), *opening, waiting]
    return ops.Report(execution_id=work.execution_id, run=work.run, iter=-1, lease=work.lease, n=1, events=events)


async def test_a_run_in_the_parts_verifies(tmp_path):
    async with opened(tmp_path) as parts:
        execution_id = await run(parts, CHAIN)

        found = await verify(parts.store, execution_id)

    assert (found["status"], found["is_equal"]) == ("success", True)


@pytest.mark.slow
async def test_a_child_that_undoes_its_steps_after_its_caller_has_ended_is_taken_up_by_the_next_process(tmp_path):
    slow = "{kind: python, code: 'import time; time.sleep(30)'}"
    child = f"""\
    workflow:
      - step: a
        tool: {{kind: noop}}
        spec: {{policy: {{compensation: {{tool: {slow}}}}}}}
        next: {{arcs: [{{step: b}}]}}
      - {{step: b, tool: {slow}}}
    """
    (tmp_path / "child.yaml").write_bytes(text_of(child, "child"))
    async with opened(tmp_path) as parts:
        parent = await begin(parts, CALLER, folder=str(tmp_path))
        called = await until(lambda: parts.store.children(parent))
        await until(lambda: _has(parts, called[0].id, "b"))
        await parts.desk.cancel(parent, "enough")
        await until(lambda: _is(parts, parent, "cancelled"))

    async with opened(tmp_path, is_working=False) as parts:
        await parts.take_up_all()

        assert (await parts.store.execution(called[0].id)).status == RUNNING
        assert "execution.recovered" in await names_of(parts, called[0].id)


async def _has(parts, execution_id, step):
    return any(getattr(event, "step", "") == step for event in await log_of(parts, execution_id))


async def _is(parts, execution_id, status):
    return (await parts.store.execution(execution_id)).status == status
