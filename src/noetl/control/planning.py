"""Dynamic mode (RT-08): steps that a planner returned, checked like any playbook and added to one execution's graph.

The planner's data is a list of steps, or `{steps: […]}`, as they would stand in a workflow. They are checked together
with the steps there are, so a plan may lead back into the playbook. The planner's token goes to the first planned step;
after an empty plan the planner's own arcs are asked.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.control.catalog import Loaded, Text, playbook_of
from noetl.dsl.check import documents_of
from noetl.dsl.kinds import Kinds
from noetl.dsl.model import Playbook, Step
from noetl.engine.net import Net
from noetl.engine.output import Error
from noetl.errors import InvalidPlaybook
from noetl.references import is_reference

STEPS_MAX = 1000


class BadPlan(Exception):
    """What a planner returned is not a list of steps that checks."""

    def as_data(self) -> dict[str, Any]:
        return Error(kind="type", message=str(self)).as_data()


def steps_of(data: Any) -> list[Any]:
    """The steps in what a planner returned."""
    if is_reference(data):
        raise BadPlan("the plan is kept outside the log, since it is over limits.max_payload_bytes; plan in parts")
    found = data.get("steps") if isinstance(data, dict) else data
    if not isinstance(found, list) or not all(isinstance(step, dict) for step in found):
        raise BadPlan("a planner must return a list of steps, or {steps: [...]}")
    if len(found) > STEPS_MAX:
        raise BadPlan(f"a plan may have {STEPS_MAX} steps, but this has {len(found)}")
    return found


def extended(loaded: Loaded, planned: list[list[Any]], kinds: Kinds) -> Loaded:
    """A playbook with the steps that were planned for one execution."""
    for count, plan in enumerate(planned):
        steps = {**loaded.playbook.steps, **new_steps(loaded, planned[:count], plan, kinds)}
        playbook = msgspec.structs.replace(loaded.playbook, steps=steps)
        loaded = Loaded(playbook, Net(playbook), loaded.text)
    return loaded


def new_steps(loaded: Loaded, earlier: list[list[Any]], plan: list[Any], kinds: Kinds) -> dict[str, Step]:
    """The steps of one plan, for a playbook that `earlier` plans have extended; raises BadPlan."""
    if not plan:
        return {}
    names = [step.get("step") for step in plan]
    taken = sorted(str(name) for name in names if name in loaded.playbook.steps)
    if taken:
        raise BadPlan(f"the plan names steps that exist already: {', '.join(taken)}")
    made = _parsed(loaded.text, [*earlier, plan], kinds)
    return {name: step for name, step in made.steps.items() if name in names}


def extended_text(text: Text, plans: list[list[Any]]) -> Text:
    """The playbook as if its author had written the planned steps: they see its workbook, keychain and defaults."""
    document = next(one for one in documents_of(text.data, text.name))
    workflow = [*document["workflow"], *(step for plan in plans for step in plan)]
    data = msgspec.json.encode({**document, "workflow": workflow})
    return msgspec.structs.replace(text, data=data, name="plan")


def _parsed(text: Text, plans: list[list[Any]], kinds: Kinds) -> Playbook:
    try:
        return playbook_of(extended_text(text, plans), kinds)
    except InvalidPlaybook as error:
        raise BadPlan(f"the plan does not check: {error.report.splitlines()[0] if error.report else error}") from error
