"""What runs have met is counted, added up over processes, and shown with its zeros."""

from noetl.engine.events import NAMES
from noetl.testing.simulator.checks.edges import EDGES
from noetl.testing.simulator.coverage import Coverage
from tests.simulation.played import ended

PIPELINE = "workflow: [{step: start, tool: {kind: noop}}]"


def test_everything_is_a_zero_before_anything_ran():
    found = Coverage({"faults": ["net.drop"]}).zeros()

    assert len(found) == len(NAMES) + len(EDGES) + 1
    assert "faults: net.drop" in found


def test_a_run_counts_its_events_and_edges():
    coverage = ended(PIPELINE).checks.coverage

    zeros = coverage.zeros()

    assert coverage.events["step.done"] == 1
    assert coverage.edges["step run started: step.done"] == 1
    assert "events: step.done" not in zeros
    assert "events: step.failed" in zeros


def test_edges_have_one_name_each():
    assert len(set(EDGES)) == len(EDGES)


def test_counts_of_several_processes_add_up():
    one, other, both = Coverage(), Coverage(), Coverage({"faults": ["net.drop", "net.clog"]})
    one.count("faults", "net.drop", 2)
    other.count("faults", "net.drop")
    other.events["step.done"] += 5

    both.add(one.counters())
    both.add(other.counters())

    assert both.counters() == {"events": {"step.done": 5}, "faults": {"net.drop": 3}}
    assert "faults: net.clog" in both.zeros()


def test_the_table_shows_every_category_with_its_zeros():
    coverage = Coverage({"faults": ["net.drop", "net.clog"]})
    coverage.count("faults", "net.drop", 1234)
    coverage.count("mutants", "nofence")

    table = coverage.table()

    assert "faults: 1 of 2 met\n         1,234  net.drop\n             0  net.clog" in table
    assert "mutants: 1 of 1 met" in table
