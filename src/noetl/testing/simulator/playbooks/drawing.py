"""Playbooks drawn from a stream: a main one and the children it calls, each with its text and its plan.

Every family switches features on and off first, because features that are always on hide each other. A workflow is made
of blocks in a row: a step, a choice, a fan-out with its join, a step that repeats itself, a step with a handler for its
failure, one that waits for a signal, one that plans the next. Whatever order parallel work ends in, the meaning of a
playbook is the same: branches that run beside each other write keys of their own and read only what was there before
them, and the iterations of a parallel loop write through reducers or bring about the same conflict in every order. What
a failure may cut short is told by `is_beside`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Protocol, TypeVar

from noetl.testing.simulator.playbooks.nets import NetAuthor
from noetl.testing.simulator.playbooks.pipelines import PipelineAuthor
from noetl.testing.simulator.playbooks.places import Limits
from noetl.testing.simulator.playbooks.plans import Family as Family  # what comes out
from noetl.testing.simulator.playbooks.plans import Plan
from noetl.testing.simulator.playbooks.steps import StepAuthor
from noetl.testing.simulator.playbooks.text import playbook_text

Choice = TypeVar("Choice")

MAIN, CHILD = "sim/main", "sim/child"
DEPTH_MAX = 3
FEATURES = (
    "loops",
    "parallel",
    "nests",
    "local",
    "choices",
    "fans",
    "joins",
    "cycles",
    "gates",
    "handlers",
    "failures",
    "retries",
    "jumps",
    "breaks",
    "skips",
    "conflicts",
    "children",
    "compensation",
    "time_limits",
    "waits",
    "large",
    "tight",
    "pools",
    "sync",
    "best_effort",
    "inputs",
    "noops",
    "emissions",
    "planners",
    "workbooks",
    "args",
    "signals",
    "secrets",
)
OF_THE_MAIN_ONE = frozenset(("signals",))  # people know the execution they started, not those that it starts


class Stream(Protocol):
    """Where choices come from."""

    def integer(self, low: int, high: int) -> int: ...

    def chance(self, probability: float) -> bool: ...

    def pick(self, among: Sequence[Choice]) -> Choice: ...

    def between(self, low: float, high: float) -> float: ...


def generated(stream: Stream, size: int, pools: Sequence[str] = ()) -> Family:
    """A family whose main playbook has about `size` steps, 1 to 12."""
    drawn = [one for one in FEATURES if stream.chance(0.55)]
    author = FamilyAuthor(stream, frozenset(drawn), pools)
    author.draw(MAIN, size)
    plans = dict(reversed(author.plans.items()))  # a caller is finished after what it calls
    texts = {path: playbook_text(plan) for path, plan in plans.items()}
    return Family(plans=plans, texts=texts, features=tuple(drawn))


class FamilyAuthor:
    """Draws the playbooks of one family."""

    def __init__(self, stream: Stream, features: frozenset[str], pools: Sequence[str]) -> None:
        self.stream = stream
        self.features = features
        self.pools = pools
        self.labels = count(1)  # of tasks
        self.limits = self._limits()
        self.plans: dict[str, Plan] = {}

    def _limits(self) -> Limits:
        stream = self.stream
        if "tight" in self.features and stream.chance(0.4):
            if stream.chance(0.3):
                return Limits(is_reference_first=True, is_tight=True)
            return Limits(payload_bytes=stream.pick((512, 1024)), is_tight=True, pad_bytes=1200)
        if "large" in self.features and stream.chance(0.7):
            return Limits(payload_bytes=4096, pad_bytes=4000)
        return Limits()

    def draw(self, path: str, size: int, depth: int = 0) -> None:
        """One playbook, after those that it calls."""
        children = []
        if "children" in self.features and depth < DEPTH_MAX and self.stream.chance(0.8 if depth == 0 else 0.4):
            children.append(f"{CHILD}_{depth + 1}")
            self.draw(children[0], max(1, size // 3), depth + 1)
        pipelines = PipelineAuthor(
            self.stream,
            self.features - OF_THE_MAIN_ONE if depth else self.features,
            self.limits,
            children=children,
            labels=self.labels,
            may_wait=depth == 0,
        )
        net = NetAuthor(StepAuthor(pipelines, self.limits, self.pools))
        self.plans[path] = self._plan(path, net, size)

    def _plan(self, path: str, net: NetAuthor, size: int) -> Plan:
        stream = self.stream
        steps = net.net(size)
        entry = next(iter(steps))
        return Plan(
            path=path,
            steps=steps,
            entry=entry,
            workload={"n": stream.integer(0, 9), "items": [stream.integer(0, 9) for _ in range(stream.integer(0, 4))]},
            output_step=entry if net.has_fan or stream.chance(0.1) else "",
            is_best_effort="best_effort" in self.features and stream.chance(0.5),
            payload_bytes_max=self.limits.payload_bytes,
            is_reference_first=self.limits.is_reference_first,
        )
