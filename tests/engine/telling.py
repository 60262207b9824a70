"""A log, explained event by event, for tests: what each rule and arc says when it is asked again."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from noetl.engine import events as facts
from noetl.engine.apply import apply
from noetl.engine.decision import Decision
from noetl.engine.events import Event
from noetl.engine.explaining import explained
from noetl.engine.explanations import ADMISSION, ARC, POLICY, Explanation
from noetl.engine.state import State, canonical

Books = Callable[[State], tuple[Any, Any]]  # the playbook and its net, as they are in a state
Fetch = Callable[[dict[str, Any]], Any]


class Told(NamedTuple):
    """One event of a log, with the decision over the state before it and what is said of it."""

    seq: int
    event: Event
    decision: Decision
    said: list[Explanation]

    def of(self, place: str) -> list[Explanation]:
        return [one for one in self.said if one.place == place]


def told(log: list[Event], books: Books, fetch: Fetch) -> Iterator[Told]:
    """Every event; the state is proved not to have been touched."""
    state = State(execution_id=1)
    for seq, event in enumerate(log, 1):
        decision = Decision(*books(state), state, event.ts)
        before = canonical(state)
        yield Told(seq, event, decision, explained(decision, event))
        assert canonical(state) == before, f"explaining event {seq} changed the state"
        apply(state, event)
        if state.workload_ref and not state.workload:
            state.workload = fetch(state.workload_ref)


def disagreements(one: Told) -> list[str]:
    """Where what is said of an event is not what was recorded."""
    found = [f"{one.seq} {facts.name_of(one.event)}: {said}" for said in one.said if "another answer" in said.note]
    event = one.event
    if isinstance(event, facts.NextEvaluated) and event.error is None:
        asked = {said.index: said for said in one.of(ARC) if said.was_asked}
        fired = {fired.arc for fired in event.fired}
        if asked.keys() != fired | set(event.refused):
            found.append(f"{one.seq}: asked {sorted(asked)}, recorded {sorted(fired)} and {event.refused}")
        found += [f"{one.seq}: {said}" for index, said in asked.items() if said.result is not (index in fired)]
    if isinstance(event, facts.TaskDone):
        chosen = [said.index for said in one.of(POLICY) if said.is_chosen]
        if chosen != ([event.rule] if event.rule >= 0 else []):
            found.append(f"{one.seq}: rules {chosen} are chosen, recorded is {event.rule}")
    if isinstance(event, facts.StepWaiting) and event.rule >= 0:
        chosen = [said.index for said in one.of(ADMISSION) if said.is_chosen]
        found += [] if chosen == [event.rule] else [f"{one.seq}: rules {chosen} deny, recorded is {event.rule}"]
    return found
