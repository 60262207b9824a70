"""One round: run a playbook, kill it at random moments, resume until it ends, compare with the undisturbed run.

What is promised (protocol §1, TK-15) and checked after every kill:

- an attempt whose task.done is on record is never executed again;
- what is executed again belongs to a job that was in flight, and was not on record: it ran when the kill came, or it
  had ended within the report window before. So a kill costs at most one execution per job in flight, and one more for
  each execution that had just ended. The window is the 5 ms of the reporter's buffer plus the commit it waits for,
  which on a busy disk is what takes the time;
- the log verifies, the final ctx and output are those of the undisturbed run, and each call has exactly one child.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from noetl.server import verify
from tests.crash.logs import Record, job_of, read_record, settings_for
from tests.crash.world import Attempt, Seen, World, a_world

PLAYBOOK = Path(__file__).parent / "playbooks" / "everything.yaml"
CHILD_COUNT = 2
SECONDS_MAX = 60.0
REPORT_WINDOW_SECONDS = 0.5
KILLS_MAX = 3
LOOK_SECONDS = 0.002
JITTER_SECONDS_MAX = 0.05


class Undisturbed(NamedTuple):
    """The run that every other one must equal."""

    ctx: dict[str, Any]
    data: Any
    task_runs: frozenset[str]
    executions: int  # that the world saw
    first_seconds: float  # until the first of them had ended


class Kill(NamedTuple):
    """What was on record and what had been seen when the process was gone."""

    since: float  # when the process was started
    at: float
    moment: float  # as a part of the work that was left
    record: Record
    seen: Seen


class Cost(NamedTuple):
    """What one kill led to."""

    moment: float
    events: int
    jobs: int
    repeats: int
    repeats_max: int


class Outcome(NamedTuple):
    """How a round went."""

    seed: int
    costs: list[Cost]
    faults: list[str]


def noetl(*words: str, home: Path, **options: Any) -> "subprocess.Popen[str]":
    """Start one command, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "noetl", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NOETL_HOME": str(home)},
        start_new_session=True,
        **options,
    )


def ended(process: "subprocess.Popen[str]", seconds: float = SECONDS_MAX) -> tuple[str, str]:
    """Wait for a command; what it printed."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


def undisturbed(folder: Path) -> Undisturbed:
    """Run the playbook in peace."""
    folder.mkdir()
    with a_world(folder) as world:
        began_at = time.time()
        printed, errors = ended(noetl("run", str(PLAYBOOK), *world.payload, "--format", "json", home=folder / "home"))
        assert printed, errors
        summary = json.loads(printed)
        assert summary["status"] == "success", summary["error"]
        seen = world.seen()
    assert set(seen.counts.values()) == {1}
    runs = task_runs_of(summary["execution_id"], seen.counts)
    first_seconds = min(seen.ended_at.values()) - began_at
    return Undisturbed(summary["ctx"], summary["output"]["data"], runs, seen.counts.total(), first_seconds)


def task_runs_of(execution_id: str, attempts: Iterable[Attempt]) -> frozenset[str]:
    """The task runs of one execution, without its id: a kill before the first commit wastes one."""
    found = (run.partition(":") for run, _ in attempts)
    return frozenset(run for execution, _, run in found if execution == execution_id)


def moments_of(seed: int) -> list[float]:
    """When to kill, once or several times in a row: how much of the work that is left is done by then."""
    chance = random.Random(seed)
    return [max(0.0, chance.uniform(-0.1, 1.0)) for _ in range(chance.choice((1, 1, 1, 2, KILLS_MAX)))]


def play(seed: int, folder: Path, model: Undisturbed, moments: Sequence[float] | None = None) -> Outcome:
    """One round."""
    folder.mkdir()
    home = folder / "home"
    with a_world(folder) as world:
        kills, printed = disturb(seed, home, world, model, moments if moments is not None else moments_of(seed))
        printed = printed or finish(home, world)
        last, record = world.seen(), read_record(home)
    faults = end_faults(json.loads(printed), home, record, model) if printed else ["it did not come to its end"]
    return Outcome(seed, costs_of(kills, last), [*kill_faults(kills, last), *faults])


def finish(home: Path, world: World) -> str:
    """Resume it; what was printed at its end, or nothing if it does not end."""
    try:
        return ended(go_on(home, world))[0]
    except subprocess.TimeoutExpired:
        return ""


def disturb(
    seed: int, home: Path, world: World, model: Undisturbed, moments: Sequence[float]
) -> tuple[list[Kill], str]:
    """Start or resume, and kill, once for each moment; gives what was printed if it came to its end before."""
    chance = random.Random(-seed)
    kills: list[Kill] = []
    for moment in moments:
        process, since = go_on(home, world), time.time()
        jitter_seconds = JITTER_SECONDS_MAX if moment else model.first_seconds  # 0.0: before any work
        wait_for(process, world, moment, model)
        try:
            return kills, ended(process, chance.uniform(0.0, jitter_seconds))[0]
        except subprocess.TimeoutExpired:
            kills.append(Kill(since, time.time(), moment, read_record(home), world.seen()))
    return kills, ""


def wait_for(process: "subprocess.Popen[str]", world: World, moment: float, model: Undisturbed) -> None:
    """Wait until so much of the work that is left is done, or the process has ended."""
    before = world.executions()
    wanted = before + moment * (model.executions - before)
    until = time.monotonic() + SECONDS_MAX
    while world.executions() < wanted and process.poll() is None:
        assert time.monotonic() < until, "it does not go on"
        time.sleep(LOOK_SECONDS)


def go_on(home: Path, world: World) -> "subprocess.Popen[str]":
    """Start the execution, or resume it."""
    root = read_record(home).root
    words = ("resume", str(root.id)) if root else ("run", str(PLAYBOOK), *world.payload)
    return noetl(*words, "--format", "json", home=home)


def repeated(kill: Kill, until: Seen) -> Counter[Attempt]:
    """What had been executed before a kill and was executed again after it."""
    return Counter({one: until.counts[one] - count for one, count in kill.seen.counts.items()}) - Counter()


def costs_of(kills: list[Kill], last: Seen) -> list[Cost]:
    return [
        Cost(
            moment=kill.moment,
            events=kill.record.events,
            jobs=len(kill.record.jobs),
            repeats=repeated(kill, until).total(),
            repeats_max=len(kill.record.jobs) + len(just_ended(kill)),
        )
        for kill, until in zip(kills, ends(kills, last), strict=True)
    ]


def ends(kills: list[Kill], last: Seen) -> list[Seen]:
    """What was seen when the time after each kill was over."""
    return [*(kill.seen for kill in kills[1:]), last] if kills else []


def just_ended(kill: Kill) -> set[Attempt]:
    """Executions that ended so shortly before a kill that they may not be on record."""
    since = kill.at - REPORT_WINDOW_SECONDS
    return {one for one, at in kill.seen.ended_at.items() if at >= since and one not in kill.record.done}


def kill_faults(kills: list[Kill], last: Seen) -> list[str]:
    faults = []
    for kill, cost, until in zip(kills, costs_of(kills, last), ends(kills, last), strict=True):
        again = {one for one in kill.record.done if last.counts[one] > kill.seen.counts[one]}
        faults += [f"{one} was on record at {kill.moment:.2f} and was executed again" for one in again]
        strays = {one for one in repeated(kill, until) if job_of(one) not in kill.record.jobs}
        faults += [f"{one} was repeated, but its job was not in flight at {kill.moment:.2f}" for one in strays]
        faults += [
            f"{one} ended long before the kill at {kill.moment:.2f}, but was not on record" for one in late(kill)
        ]
        if cost.repeats > cost.repeats_max:
            faults.append(
                f"the kill at {kill.moment:.2f} led to {cost.repeats} repeats, not {cost.repeats_max} at most"
            )
    return faults


def late(kill: Kill) -> list[Attempt]:
    """What ended in the killed process, before the report window, and is not on record."""
    until = kill.at - REPORT_WINDOW_SECONDS
    return [one for one, at in kill.seen.ended_at.items() if kill.since < at < until and one not in kill.record.done]


def end_faults(summary: dict[str, Any], home: Path, record: Record, model: Undisturbed) -> list[str]:
    """Compare the end with that of the undisturbed run, count the children, and have every log verified."""
    faults = []
    if (summary["status"], summary["ctx"], summary["output"]["data"]) != ("success", model.ctx, model.data):
        faults.append(f"it ended differently: {summary['status']} {summary['error']} {summary['ctx']}")
    if missing := model.task_runs - task_runs_of(record.root_id, record.done):
        faults.append(f"not on record: {sorted(missing)}")
    if len(record.children) != CHILD_COUNT or len({one.parent_key for one in record.children}) != CHILD_COUNT:
        faults.append(f"{len(record.children)} children for {CHILD_COUNT} calls")
    return faults + verify_faults(home, record)


def verify_faults(home: Path, record: Record) -> list[str]:
    """The root's log is verified by the command, as a user does it; those of its children by what the command calls."""
    process = noetl("replay", record.root_id, "--verify", home=home)
    printed, errors = ended(process)
    faults = [f"replay --verify failed: {printed}{errors}"] if process.returncode else []
    found = [verify(settings_for(home), child.id) for child in record.children]
    return faults + [
        f"the log of child {one['execution_id']} is not in order: {one}" for one in found if not one["is_equal"]
    ]
