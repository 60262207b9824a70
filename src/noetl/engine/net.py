"""What is known of a graph as a whole: from which steps a token can still come to a step, which is what a join has to
wait for (ST-11), and whether it has events of its own (ST-10)."""

from __future__ import annotations

from collections import defaultdict

from noetl.dsl.model import Playbook


class Net:
    """The graph of one playbook. The sources of a join are found when first asked for: memory follows the joins."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self.emits = any(step.emissions for step in playbook.steps.values())  # events of the author's own
        self._sources: dict[str, frozenset[str]] = {}
        self._senders: dict[str, list[str]] = {}

    def sources(self, step: str) -> frozenset[str]:
        """The steps whose run can lead to this step, itself only over a cycle."""
        if step not in self._sources:
            self._sources[step] = frozenset(self._walk_back(step))
        return self._sources[step]

    def _walk_back(self, step: str) -> set[str]:
        self._senders = self._senders or senders_of(self.playbook)
        found: set[str] = set()
        waiting = [step]
        while waiting:
            for sender in self._senders.get(waiting.pop(), ()):
                if sender not in found:
                    found.add(sender)
                    waiting.append(sender)
        return found


def senders_of(playbook: Playbook) -> dict[str, list[str]]:
    """Target of an arc → the steps that have one to it."""
    senders: dict[str, list[str]] = defaultdict(list)
    for name, step in playbook.steps.items():
        for arc in step.router.arcs:
            senders[arc.target].append(name)
    return dict(senders)
