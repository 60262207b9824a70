"""A short soak: the harness itself works, and says what it found in one line."""

import pytest

from tests.cluster.load import Demand
from tests.cluster.record import KINDS, LOST
from tests.soak import run
from tests.soak.embedded import DEMAND, soak
from tests.soak.figures import Disturbances, Figures

SECONDS = 20.0
NO_FAULTS = dict.fromkeys(KINDS, 0)


def report(*faults: str) -> dict:
    kinds = {**NO_FAULTS, LOST: len(faults)}
    seen = {"executions": 4, "executions of tools": 9, "events": 50}
    return {"faults": list(faults), "fault_count": len(faults), "kinds": kinds, "seen": seen}


def figures(*reports: dict) -> Figures:
    return Figures("embedded", 0.5, 7, Disturbances(kills=3, pauses=2), reports)


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")  # one after the other, so that those who start many processes starve nobody
@pytest.mark.spec("RO-03", "TK-15", "EV-05", "EV-06")
def test_an_embedded_deployment_that_is_killed_and_paused_loses_nothing_and_does_nothing_twice(tmp_path):
    impatient = tuple(shape for shape in DEMAND.shapes if shape != "patient")  # that one waits for a minute
    demand: Demand = DEMAND._replace(shapes=impatient)

    found = soak(tmp_path / "world", SECONDS, 20, demand)

    assert found.faults == [], found.line()
    assert found.disturbances.kills > 0
    assert all(one["seen"]["executions"] > 0 for one in found.reports), found.line()


def test_the_line_adds_up_what_all_checkers_found():
    line = figures(report(), report("execution 3 is lost")).line()

    assert line.startswith(
        "soak embedded: 0.5 minutes, 8 executions, 18 tool runs, 3 kills, 2 pauses, 0 restarts, 0 outages, 100 events, "
        "1 lost, 0 doubled, 0 limits exceeded, 0 not ended, 0 other faults, seed 7, commit "
    )


@pytest.mark.parametrize(("faults", "code"), [((), 0), (("execution 3 is lost",), 1)], ids=["whole", "lost"])
def test_evidence_stays_only_where_a_promise_was_broken(faults, code, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(
        run.SOAKS, "embedded", lambda folder, _seconds, _seed: folder.mkdir() or figures(report(*faults))
    )
    monkeypatch.setattr(run.tempfile, "tempdir", str(tmp_path))

    ended = run.soak("embedded", 0.5, 7)

    assert ended == code
    assert len(list(tmp_path.iterdir())) == code
    assert capsys.readouterr().err.count("execution 3 is lost") == code
