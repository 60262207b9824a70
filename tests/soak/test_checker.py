"""The checker of embedded deployments finds what was lost, doubled or exceeded, and nothing in a record that is whole.

The record is a real one: two playbooks, run in peace. Each test spoils a copy of it.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.record import DOUBLED, LIMIT, LIVING, LOST
from tests.soak.checker import bodies_of, check
from tests.soak.commands import Commands
from tests.soak.figures import ROOT

pytestmark = pytest.mark.slow
BULKY, LOOPS = 1, 2  # executions, in the order of their runs


class Kept:
    """What a deployment left behind: its home, the ledger and the promises."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.ledger = folder / "ledger"
        self.promises = folder / "promises"

    def report(self):
        return check(self.home, self.ledger, self.promises)

    def execute(self, statement, *values):
        with closing(sqlite3.connect(self.home / "noetl.db")) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def log(self, execution_id):
        """(seq, body) of each event."""
        with closing(sqlite3.connect(self.home / "noetl.db")) as connection:
            return list(bodies_of(connection, execution_id))

    def keep(self, execution_id, log):
        """Make these (seq, body) the log, each a block of its own."""
        self.execute("DELETE FROM event_block WHERE execution_id = ?", execution_id)
        for seq, body in log:
            self.execute("INSERT INTO event_block VALUES (?, ?, ?)", execution_id, seq, json.dumps([body]).encode())

    def rewrite(self, execution_id, change):
        """Replace a log by what `change` makes of its (name, body) pairs; seq and head follow."""
        changed = change([(body["name"], body) for _, body in self.log(execution_id)])
        self.keep(execution_id, enumerate((body for _, body in changed), 1))
        self.execute("UPDATE execution SET head = ? WHERE id = ?", len(changed), execution_id)


@pytest.fixture(scope="module")
def peaceful(tmp_path_factory):
    folder = tmp_path_factory.mktemp("soak") / "commands"
    commands = Commands(folder, seed=1, environ=os.environ)
    commands.calm()
    commands.play("bulky")
    commands.play("loops")
    return folder


@pytest.fixture
def kept(peaceful, tmp_path):
    shutil.copytree(peaceful, tmp_path / "copy")
    return Kept(tmp_path / "copy")


def doubling(name):
    """A log in which the first event of this name stands twice."""

    def change(log):
        at = next(index for index, event in enumerate(log) if event[0] == name)
        return [*log[: at + 1], log[at], *log[at + 1 :]]

    return change


def without_limit(log):
    return [(name, {**body, "max_in_flight": 1} if name == "loop.started" else body) for name, body in log]


def stored_file(kept):
    (file,) = (path for path in (kept.home / "noetl.results").rglob("*") if path.is_file())
    return file


def lose_an_event(kept):
    kept.keep(LOOPS, [(seq, body) for seq, body in kept.log(LOOPS) if seq != 7])


def lose_the_last_events(kept):
    kept.keep(LOOPS, [(seq, body) for seq, body in kept.log(LOOPS) if body["name"] != "playbook.processed"])


def lose_an_execution(kept):
    kept.execute("DELETE FROM event_block WHERE execution_id = ?", LOOPS)
    kept.execute("DELETE FROM execution WHERE id = ?", LOOPS)


def lose_a_row(kept):
    kept.execute("DELETE FROM execution WHERE id = ?", BULKY)


def lose_a_result(kept):
    stored_file(kept).unlink()


def damage_a_result(kept):
    file = stored_file(kept)
    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b"7", b"8", 1))


def damage_the_file(kept):
    with (kept.home / "noetl.db").open("r+b") as file:
        file.seek(4096)  # the second page
        file.write(bytes(range(256)) * 16)


def lose_what_was_done(kept):
    lines = kept.ledger.read_text().splitlines(keepends=True)
    kept.ledger.write_text("".join(lines[2:]))


def lose_an_iteration(kept):
    kept.rewrite(LOOPS, lambda log: [event for event in log if not is_iteration(event, "loop.iteration.done", 3)])


def is_iteration(event, name, index):
    return event[0] == name and event[1]["iter"] == index and event[1]["run"] == 1


def print_another_end(kept):
    kept.promises.write_text(kept.promises.read_text().replace('"success"', '"failed"'))


def record_a_task_twice(kept):
    kept.rewrite(LOOPS, doubling("task.done"))


def end_a_step_twice(kept):
    kept.rewrite(BULKY, doubling("step.done"))


def end_an_iteration_twice(kept):
    kept.rewrite(LOOPS, doubling("loop.iteration.done"))


def end_it_twice(kept):
    kept.rewrite(LOOPS, doubling("playbook.processed"))


def exceed_a_limit_on_record(kept):
    kept.rewrite(LOOPS, without_limit)


def exceed_a_limit_in_the_world(kept):
    lines = kept.ledger.read_text().splitlines()
    times = ("0.0" if line.startswith("begun") else "9.0" for line in lines)
    moved = (f"{line.rpartition(' ')[0]} {time}\n" for line, time in zip(lines, times, strict=True))
    kept.ledger.write_text("".join(moved))


def leave_it_live(kept):
    kept.execute("UPDATE execution SET status = 'running' WHERE id = ?", BULKY)


PLANTED = {
    lose_an_event: LOST,
    lose_the_last_events: LOST,
    lose_an_execution: LOST,
    lose_a_row: LOST,
    lose_a_result: LOST,
    damage_a_result: LOST,
    damage_the_file: LOST,
    lose_what_was_done: LOST,
    lose_an_iteration: LOST,
    print_another_end: LOST,
    record_a_task_twice: DOUBLED,
    end_a_step_twice: DOUBLED,
    end_an_iteration_twice: DOUBLED,
    end_it_twice: DOUBLED,
    exceed_a_limit_on_record: LIMIT,
    exceed_a_limit_in_the_world: LIMIT,
    leave_it_live: LIVING,
}


def test_a_record_that_is_whole_has_no_faults_and_was_looked_at(kept):
    report = kept.report()

    assert report.faults == []
    assert report.seen["executions"] == 2
    assert report.seen["stored results"] == 1
    assert report.seen["loops measured"] > 0
    assert report.seen["lineages"] > 10


@pytest.mark.spec("EV-05", "EV-06")
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_for_what_it_is(kept, plant):
    plant(kept)

    report = kept.report()

    assert report.kinds[PLANTED[plant]] > 0, report.faults


def test_it_shares_no_code_with_what_it_checks():
    program = "import sys, tests.soak.checker; print([name for name in sys.modules if name.split('.')[0] == 'noetl'])"

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
