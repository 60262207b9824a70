"""The arcs that can never fire, sorted by why: what NL505, NL513 and NL514 each say, so that none is told twice."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from noetl.dsl.boundaries import NAMES, STEP_FAILED, Firing, firings
from noetl.dsl.conditions import reads_failure
from noetl.dsl.draft import Arc, Draft, Step
from noetl.dsl.nodes import plain
from noetl.dsl.routers import is_sound
from noetl.dsl.rules.comparisons import Compared, compared_texts
from noetl.expressions import decide

EVENT_NAME = ("event", "name")


class Routed(msgspec.Struct, frozen=True, kw_only=True):
    """An arc as its router treats it."""

    step: Step
    firing: Firing
    others: list[Firing]  # all arcs of the router
    twin: Arc | None  # an earlier arc that says the same
    events: list[Compared]

    @property
    def arc(self) -> Arc:
        return self.firing.arc

    @property
    def unknown_events(self) -> list[Compared]:
        return [event for event in self.events if event.name not in NAMES]

    @property
    def is_dead(self) -> bool:
        """It can never fire, and that is not said of it as a twin or for the name of its event."""
        return not self.firing.can_fire and not self.twin and not self.unknown_events

    @property
    def is_shadowed_failure_arc(self) -> bool:
        """Its guard matches failures only, and another arc always takes those."""
        open_to = {name for name, answer in self.firing.guard.items() if answer is not False}
        return open_to == {STEP_FAILED} and STEP_FAILED in self.firing.hidden_by


def routed_arcs(draft: Draft) -> list[Routed]:
    """Every arc of every router that has its shape."""
    found = draft.prepared.get("routed arcs")
    if not isinstance(found, list):
        known = firings(draft)
        found = [
            arc for number, step in enumerate(draft.steps) if is_sound(step) for arc in routed(step, known[number])
        ]
        draft.prepared["routed arcs"] = found
    return found


def routed(step: Step, known: list[Firing]) -> Iterator[Routed]:
    seen: dict[str, Arc] = {}
    for firing in known:
        key = identity(firing.arc, step.is_inclusive)
        events = list(compared_texts(firing.text, EVENT_NAME)) if firing.text else []
        yield Routed(step=step, firing=firing, others=known, twin=seen.get(key), events=events)
        seen.setdefault(key, firing.arc)


def identity(arc: Arc, is_inclusive: bool) -> str:
    """What two arcs have in common that are the same; all matching ones fire in an inclusive router, so all counts."""
    when = plain(arc.when) if arc.when is not None else "always"
    condition = " ".join(when.split()) if isinstance(when, str) else when
    more = arc.node.entries.items() if is_inclusive else ()
    return repr((arc.target_name, condition, [(key, plain(e.value)) for key, e in more if key not in ("step", "when")]))


def reasons(routed: Routed) -> str:
    """Why an arc does not fire, for each way its step can end."""
    if is_never_true(routed.firing):
        return "its `when` is always false"
    return "; ".join(dict.fromkeys(reason(routed.firing, name) for name in routed.firing.guard))


def is_never_true(firing: Firing) -> bool:
    """Whether the guard is false whatever it reads."""
    if firing.template:
        return decide(firing.template, {}) is False
    return firing.arc.when is not None and firing.text is None and not any(firing.guard.values())


def reason(firing: Firing, name: str) -> str:
    if name in firing.hidden_by:
        hider = firing.hidden_by[name]
        return f"on {name} {hider.how.format(hider.arc.target_name)}"
    if name == STEP_FAILED and firing.arc.when is None:
        return f"without a `when` it does not match {name}"
    if name == STEP_FAILED and not (firing.template and reads_failure(firing.template)):
        return f"on {name} only arcs are asked whose `when` reads event, output.status or output.error"
    return f"on {name} its `when` is false"
