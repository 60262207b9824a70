"""From which steps a token can still come to a join (ST-11)."""

import textwrap
import tracemalloc

import pytest

from noetl.engine.net import Net
from noetl.testing.engine import playbook_of
from tests.engine.books import HEAD

CYCLE = """
    workflow:
      - {step: start, tool: {kind: noop}, next: {arcs: [{step: a}]}}
      - {step: a, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: end}]}}
      - {step: b, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ ctx.again }}"}]}}
      - {step: end, tool: {kind: noop}}
"""


@pytest.mark.spec("ST-11")
@pytest.mark.parametrize(
    ("step", "sources"),
    [("start", set()), ("a", {"start", "a", "b"}), ("b", {"start", "a", "b"}), ("end", {"start", "a", "b"})],
)
def test_the_sources_of_a_step_are_those_that_lead_to_it_itself_only_over_a_cycle(step, sources):
    net = Net(playbook_of(HEAD + textwrap.dedent(CYCLE)))

    assert net.sources(step) == sources


@pytest.mark.spec("ST-11")
def test_what_a_net_keeps_of_a_join_follows_the_number_of_steps():
    steps = [f"  - {{step: s{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n" for n in range(1000)]
    net = Net(playbook_of(HEAD + "workflow:\n" + "".join(steps) + "  - {step: s1000, tool: {kind: noop}}\n"))
    tracemalloc.start()

    found = net.sources("s1000")

    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 1000
    assert kept_bytes < 1000 * 1000
