"""kill -9 at random moments: nothing recorded is done again, and what comes out is what comes out undisturbed."""

import json
import os
import signal
import subprocess
from contextlib import suppress

import pytest

from noetl.server import verify
from tests.crash.gates import GATED, a_gate
from tests.crash.logs import read_record, settings_for
from tests.crash.rounds import ended, go_on, noetl, play, undisturbed, wait_for
from tests.crash.world import a_world

pytestmark = pytest.mark.slow
ROUNDS = 10
CANCEL_SECONDS = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5)  # an undisturbed one takes about as long as the last of them


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("crash") / "undisturbed")


@pytest.mark.spec("TK-15", "EV-05", "EV-06", "TL-04")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_run_that_is_killed_ends_as_if_nothing_had_happened(seed, tmp_path, model):
    outcome = play(seed, tmp_path / "round", model)

    assert not outcome.faults, outcome


@pytest.mark.spec("TK-15", "EV-05")
def test_killing_what_resumes_it_costs_no_more_than_killing_the_run(tmp_path, model):
    outcome = play(0, tmp_path / "round", model, moments=(0.3, 0.1, 0.2, 0.4))

    assert not outcome.faults, outcome


@pytest.mark.spec("EV-05", "TL-04")
def test_a_cancel_that_is_killed_is_done_whole_or_not_at_all(tmp_path, model):
    home = tmp_path / "home"
    with a_world(tmp_path) as world:
        process = go_on(home, world)
        wait_for(process, world, 0.3, model)
        process.kill()
        ended(process)
        root = read_record(home).root
        assert root is not None
        seen = world.seen()

        for seconds in CANCEL_SECONDS:
            with suppress(subprocess.TimeoutExpired):  # the later ones may be too late
                ended(noetl("cancel", str(root.id), home=home), seconds)
            assert is_whole(read_record(home).executions)
        ended(noetl("cancel", str(root.id), home=home))

        assert {one.status for one in read_record(home).executions} <= {"cancelled", "success"}
        assert world.seen().counts == seen.counts
    assert all(verify(settings_for(home), one.id)["is_equal"] for one in read_record(home).executions)


def is_whole(executions):
    """Caller and children are cancelled together; those that had ended before stay as they ended."""
    statuses = {one.status for one in executions} - {"success"}
    return statuses in ({"running"}, {"cancelled"})


@pytest.mark.spec("TK-08")
def test_a_task_whose_process_alone_is_killed_is_tried_again_under_the_same_key(tmp_path):
    playbook = tmp_path / "gated.yaml"
    playbook.write_text(GATED)
    with a_gate() as gate:
        process = noetl("run", str(playbook), "--set", f"port={gate.port}", "--format", "json", home=tmp_path / "home")

        with gate.reached() as first:
            os.kill(first, signal.SIGKILL)
        with gate.reached() as second:
            pass
        summary = json.loads(ended(process)[0])

    assert first != second
    assert (process.returncode, summary["output"]["data"]) == (0, {"count": 60000})
    events, _ = ended(noetl("events", summary["execution_id"], "--format", "json", home=tmp_path / "home"))
    attempts = [event for event in map(json.loads, events.splitlines()) if event.get("task_label") == "at_gate_task"]
    assert [(one["name"], one["attempt"]) for one in attempts] == [
        ("task.started", 1),
        ("task.done", 1),
        ("task.started", 2),
        ("task.done", 2),
    ]
    assert "SIGKILL" in json.dumps(attempts[1])
