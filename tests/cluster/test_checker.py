"""The checker finds every kind of fault that it is there for, and none in a record that has none."""

import json
from pathlib import Path

import psycopg
import pytest

from tests.cluster.checker import check

SCHEMA = Path(__file__).parents[2] / "src" / "noetl" / "stores" / "sql" / "postgres_001.sql"
TRACE = "d429"
COLUMNS = {"run": 0, "iter": -1, "lease": 0}
LOOP = {"run": 1, "step": "each"}


def loop_of(count, limit):
    """The log of a loop whose iterations run one after the other, then a chain of two tasks and a child."""
    events = [
        {"name": "playbook.execution.requested", "payload": {}},
        {"name": "step.scheduled", **LOOP},
        {"name": "loop.started", "count": count, "max_in_flight": limit, **LOOP},
    ]
    for index in range(count):
        at = {"run": 1, "iter": index, "lease": 100 + index}
        events += [{"name": "loop.iteration.started", "run": 1, "iter": index}, done(at, f"n{index}")]
        events.append({"name": "loop.iteration.done", **at})
    events.append({"name": "loop.done", "done": count, "failed": 0, **LOOP})
    return events


def chain():
    at = {"run": 2, "lease": 200}
    child = {"key": "1:2:-1:third:1.0"}
    return [
        {"name": "step.scheduled", "run": 2, "step": "chain"},
        done(at, "c1", task="first"),
        done(at, "c2", task="second"),
        {"name": "task.waiting", "task": "third", "visit": 1, "attempt": 1, "child": child, **at},
        {"name": "child.done", "run": 2, "task": "third", "child_execution_id": 2, "result": "success"},
        {"name": "step.done", "run": 2, "lease": 201},
    ]


def done(at, nonce, task="work", attempt=1):
    output = {"status": "ok", "data": {"nonce": nonce}}
    return {"name": "task.done", "task": task, "visit": 1, "attempt": attempt, "do": "continue", "output": output, **at}


ENDS = [{"name": "workflow.finished", "result": "success"}, {"name": "playbook.processed", "result": "success"}]
CHILD = [{"name": "playbook.execution.requested", "payload": {}}, *ENDS]


class World:
    """A record, a ledger and promises that agree, until a test spoils them."""

    def __init__(self, folder, connection):
        self.connection = connection
        self.ledger = folder / "ledger"
        self.promises = folder / "promises"
        lines = [line for index in range(3) for line in executed(f"1:1:{index}:work:1", f"n{index}", at=float(index))]
        lines += executed("1:2:-1:first:1", "c1", at=10.0) + executed("1:2:-1:second:1", "c2", at=11.0, previous="c1")
        self.ledger.write_text("".join(lines))
        self.promises.write_text(json.dumps({"what": "start", "execution_id": "1", "key": "one"}) + "\n")
        self.keep(1, loop_of(3, 2) + chain() + ENDS, request_key="api:one")
        self.keep(2, CHILD, parent_id=1, parent_key="1:2:-1:third:1.0")

    def keep(self, execution_id, events, status="success", **row):
        row = {"request_key": None, "parent_id": None, "parent_key": None, **row}
        self.connection.execute(
            "INSERT INTO execution (id, sha, path, version, status, head, tag, folder, request_key, parent_id,"
            " parent_key, created_at, digest) VALUES (%s, '', 'p', 1, %s, %s, 0, '', %s, %s, %s, 0, '')",
            (execution_id, status, len(events), row["request_key"], row["parent_id"], row["parent_key"]),
        )
        for seq, event in enumerate(events, 1):
            columns = [event.get(name, default) for name, default in COLUMNS.items()]
            self.connection.execute(
                "INSERT INTO event (execution_id, seq, name, run, iter, lease, tag, body)"
                " VALUES (%s, %s, %s, %s, %s, %s, 0, %s)",
                (execution_id, seq, event["name"], *columns, json.dumps(event)),
            )

    def again(self, execution_id, **changes):
        """The same execution with another log or row."""
        self.connection.execute("DELETE FROM event WHERE execution_id = %s", (execution_id,))
        self.connection.execute("DELETE FROM execution WHERE id = %s", (execution_id,))
        self.keep(execution_id, **{"request_key": "api:one", **changes})

    def faults(self, url):
        return check(url, self.ledger, self.promises).faults


def executed(task_run, nonce, at, previous="-", seconds=0.5):
    key = f"{TRACE}.{task_run}.0"
    return [f"begun {key} 1 {nonce} {previous} {at}\n", f"ended {key} 1 {nonce} {previous} {at + seconds}\n"]


@pytest.fixture(scope="module")
def url(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(SCHEMA.read_text(encoding="utf-8"))
    return postgres_url


@pytest.fixture
def world(url, tmp_path):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE execution, event, job")
        yield World(tmp_path, connection)


WHOLE = loop_of(3, 2) + chain() + ENDS


def without(events, name, **fields):
    """The log without the first event like this."""
    found = next(event for event in events if event["name"] == name and fields.items() <= event.items())
    return [event for event in events if event is not found]


def twice(events, name):
    found = next(index for index, event in enumerate(events) if event["name"] == name)
    return [*events[: found + 1], *events[found:]]


def sorted_to_overlap(events):
    """All iterations begin before the first one ends."""
    begun = [event for event in events if event["name"] == "loop.iteration.started"]
    others = [event for event in events if event["name"] != "loop.iteration.started"]
    return [*others[:3], *begun, *others[3:]]


LOGS = {
    "I11": [*WHOLE, {"name": "signal.received"}],
    "I15": WHOLE[:-2],
    "I4, job (2, -1) ended 2 times": twice(WHOLE, "step.done"),
    "I4, job (2, -1) ended 0 times": without(WHOLE, "step.done"),
    "I2": [*WHOLE[:5], done({"run": 1, "iter": 0, "lease": 99}, "n0", "other"), *WHOLE[5:]],
    "I3": twice(WHOLE, "task.done"),
    "I6, [2] never ended": without(WHOLE, "loop.iteration.done", iter=2),
    "I6, it was over 2 times": twice(WHOLE, "loop.done"),
    "I7": sorted_to_overlap(WHOLE),
    "was told twice": twice(WHOLE, "child.done"),
}


def test_a_record_without_faults_has_none(world, url):
    report = check(url, world.ledger, world.promises)

    assert report.faults == []
    assert (report.seen["iterations"], report.seen["calls"], report.seen["lineages"]) == (3, 1, 1)
    assert report.seen["loops measured"] == 1


@pytest.mark.parametrize("fault", LOGS)
def test_a_log_with_a_fault_is_found(world, url, fault):
    is_live = fault == "I15"
    world.again(1, events=LOGS[fault], status="running" if is_live else "success")

    assert any(fault in found for found in world.faults(url)), world.faults(url)


SPOILS = {
    "I1, seq has gaps": "UPDATE event SET seq = 99 WHERE execution_id = 1 AND seq = 5",
    "I1, head is 99": "UPDATE execution SET head = 99 WHERE id = 1",
    "columns disagree": "UPDATE event SET lease = 7 WHERE execution_id = 1 AND seq = 5",
    "are lost": "UPDATE execution SET parent_key = 'other' WHERE id = 2",
    "is success": "UPDATE execution SET status = 'failed' WHERE id = 2",
    "has the key api:two": "UPDATE execution SET request_key = 'api:two' WHERE id = 1",
    "I9, 1 jobs": "INSERT INTO job VALUES (1, 1, 1, 'default', 0, 0, 0, 0, 0, 0, '', 0, 0, NULL)",
}


@pytest.mark.parametrize("fault", SPOILS)
def test_a_row_with_a_fault_is_found(world, url, fault):
    world.connection.execute(SPOILS[fault])

    assert any(fault in found for found in world.faults(url)), world.faults(url)


def spoil_ledger(world, old, new):
    text = world.ledger.read_text()
    assert old in text
    world.ledger.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("ended d429.1:1:0:work:1.0 1 n0", "lost", "is on record, but not in the ledger"),
        ("1:1:0:work:1.0 1 n0", "1:1:1:work:1.0 1 n0", "has the result of"),
        ("1:1:0:work:1.0 1 n0", "7:1:0:work:1.0 1 n0", "an execution that there is not"),
        ("c2 c1", "c2 c9", "which nobody recorded"),
    ],
)
def test_a_ledger_that_tells_another_story_is_believed(world, url, old, new, fault):
    spoil_ledger(world, old, new)

    assert any(fault in found for found in world.faults(url)), world.faults(url)


def test_more_at_once_in_the_world_than_allowed_is_found_though_the_log_looks_well(world, url):
    lines = [line for index in range(3) for line in executed(f"1:1:{index}:work:1", f"n{index}", at=0.0, seconds=9.0)]
    lines += executed("1:2:-1:first:1", "c1", at=10.0) + executed("1:2:-1:second:1", "c2", at=11.0, previous="c1")
    world.ledger.write_text("".join(lines))

    assert world.faults(url) == ["execution 1, run 1: 3 at once, 2 allowed"]


def test_an_execution_that_did_not_count_is_a_repeat_and_no_fault(world, url):
    with world.ledger.open("a") as ledger:
        ledger.writelines(executed("1:1:0:work:1", "zombie", at=0.1))

    report = check(url, world.ledger, world.promises)

    assert (report.faults, report.seen["repeats"]) == ([], 1)


@pytest.mark.parametrize(
    ("promise", "fault"),
    [
        ({"what": "start", "execution_id": "9", "key": "nine"}, "is not there"),
        ({"what": "cancel", "execution_id": "1"}, "but it is success"),
    ],
)
def test_a_promise_that_was_not_kept_is_found(world, url, promise, fault):
    world.promises.write_text(json.dumps(promise) + "\n")

    assert any(fault in found for found in world.faults(url)), world.faults(url)


def test_a_failure_that_no_fault_explains_is_found(world, url):
    failed = [{"name": "workflow.finished", "result": "failed", "error": {"kind": "exception"}}, ENDS[1]]
    world.keep(3, [CHILD[0], *failed], status="failed")

    assert any("execution 3 failed" in found for found in world.faults(url))


def test_a_due_time_that_was_left_out_is_found(world, url):
    for number, second in enumerate((0, 2, 6), 10):
        begun = {"name": "playbook.execution.requested", "payload": {"every_seconds": 2.0}}
        world.keep(number, [begun, *ENDS], request_key=f"schedule:tick:2026-01-01T00:00:0{second}Z")

    assert world.faults(url) == ['the schedule "tick" fired with gaps of [2.0, 4.0] seconds']
