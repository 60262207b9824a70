"""Which arcs fire: the first that matches, or all that do; after a failure those that ask for it (RT-01 … RT-11)."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from noetl.engine.output import failure
from noetl.testing.engine import Engine
from tests.engine.books import HEAD
from tests.properties.laws import law, one_of_each


class Guard(msgspec.Struct, frozen=True):
    """A `when`, and what it says of a step that failed or not, and of ctx.n."""

    text: str
    holds: Callable[[bool, int], bool]
    is_asked_on_failure: bool = False  # RT-11: it looks at what happened


FAILED = "event.name == 'step.failed'"
GUARDS = (
    Guard("", lambda is_failed, _: not is_failed),
    Guard("ctx.n > 1", lambda _, n: n > 1),
    Guard("ctx.n == 0", lambda _, n: n == 0),
    Guard(FAILED, lambda is_failed, _: is_failed, True),
    Guard(f"{FAILED} and ctx.n > 0", lambda is_failed, n: is_failed and n > 0, True),
    Guard("event.name == 'step.done'", lambda is_failed, _: not is_failed, True),
    Guard("ctx.n < 0", lambda *_: False),
)
ARCS_MAX = 4
ROUTERS = one_of_each((False, True), (False, True), (0, 1, 2), *[range(-1, len(GUARDS))] * ARCS_MAX)


class Router(msgspec.Struct, frozen=True):
    """A step's router, and how the step ends."""

    is_inclusive: bool
    is_failed: bool
    n: int
    guards: tuple[int, ...]


def router(drawn: tuple[Any, ...]) -> Router:
    is_inclusive, is_failed, n, *guards = drawn
    return Router(is_inclusive, is_failed, n, tuple(guard for guard in guards if guard >= 0))


def ran(given: Router) -> Engine:
    arcs = [arc(place, GUARDS[guard]) for place, guard in enumerate(given.guards)]
    mode = {"spec": {"mode": "inclusive" if given.is_inclusive else "exclusive"}}
    start: dict[str, Any] = {
        "step": "start",
        "tool": [
            {"name": "count", "kind": "noop", "set": {"ctx.n": "{{ workload.n }}"}},
            {"name": "ends", "kind": "noop"},
        ],
    }
    if arcs:
        start["next"] = {**mode, "arcs": arcs}
    targets = [{"step": f"to{place}", "tool": {"kind": "noop"}} for place in range(len(arcs))]
    text = f"{HEAD}workload: {{n: 0}}\nworkflow: {msgspec.json.encode([start, *targets]).decode()}\n"
    made = Engine(text, {"ends": failure("server_error", "no") if given.is_failed else 1})
    made.start({"n": given.n})
    made.run()
    return made


def arc(place: int, guard: Guard) -> dict[str, Any]:
    return {"step": f"to{place}", **({"when": f"{{{{ {guard.text} }}}}"} if guard.text else {})}


def expected(given: Router) -> tuple[list[int], list[int]]:
    """The model: arcs that fire and arcs that were asked in vain, in the order in which they are written."""
    fired: list[int] = []
    refused: list[int] = []
    for place, guard in enumerate(GUARDS[number] for number in given.guards):
        if given.is_failed and not guard.is_asked_on_failure:
            continue
        if not guard.holds(given.is_failed, given.n):
            refused.append(place)
        elif given.is_inclusive or not fired:
            fired.append(place)
        if fired and not given.is_inclusive:
            break
    return fired, refused


@pytest.mark.spec("RT-01", "RT-02", "RT-03", "RT-05", "RT-11")
@law(500, given=ROUTERS.map(router))
def test_the_arcs_that_match_fire_in_order_and_a_failure_that_none_takes_fails_the_workflow(given: Router) -> None:
    made = ran(given)

    fired, refused = expected(given)
    evaluated = made.events("next.evaluated")[0]
    assert ([one.arc for one in evaluated.fired], evaluated.refused) == (fired, refused)
    assert [event.step for event in made.events("step.scheduled")] == ["start", *(f"to{place}" for place in fired)]
    is_unhandled = given.is_failed and not fired
    assert made.status == ("failed" if is_unhandled else "success")
    assert evaluated.handled == (given.is_failed and bool(fired))
    assert bool(made.events("workflow.failing")) == is_unhandled


@pytest.mark.spec("RT-02", "RT-03")
@law(200, given=ROUTERS.map(router), more=st.integers(0, 3))
def test_an_arc_that_does_not_match_changes_nothing_for_the_others(given: Router, more: int) -> None:
    """`ctx.n < 0` never holds: put anywhere, the same steps run."""
    never = len(GUARDS) - 1
    place = min(more, len(given.guards))
    guards = (*given.guards[:place], never, *given.guards[place:])[:ARCS_MAX]
    given = msgspec.structs.replace(given, guards=given.guards[: ARCS_MAX - 1])

    alone, beside = ran(given), ran(msgspec.structs.replace(given, guards=guards))

    renamed = [f"to{one + (one >= place)}" for one in expected(given)[0]]
    assert [event.step for event in beside.events("step.scheduled")] == ["start", *renamed]
    assert alone.status == beside.status
