"""Which steps a token can still come to: what a join has to wait for (ST-11)."""

from __future__ import annotations

from noetl.dsl.model import Playbook


class Net:
    """The graph of one playbook; reach is found when first asked for."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self._reach: dict[str, frozenset[str]] = {}

    def reach(self, step: str) -> frozenset[str]:
        """The steps that a run of this step can lead to, itself only over a cycle."""
        if step not in self._reach:
            self._reach[step] = frozenset(self._walk(step))
        return self._reach[step]

    def _walk(self, step: str) -> set[str]:
        found: set[str] = set()
        waiting = [step]
        while waiting:
            here = self.playbook.steps.get(waiting.pop())
            for arc in here.router.arcs if here else ():
                if arc.target not in found:
                    found.add(arc.target)
                    waiting.append(arc.target)
        return found
