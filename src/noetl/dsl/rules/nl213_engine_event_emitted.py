"""A step emits an event with a name that the engine uses for its own.

`spec.policy.emit.events` adds events of the author's own to the log. Whoever reads the log, and every guard that asks
for `event.name`, takes an event called `step.done` for the engine's. Names of one's own have a prefix of one's own.

Wrong:

    spec:
      policy:
        emit:
          events: [{ name: step.done, on: step.done }]

Right:

    spec:
      policy:
        emit:
          events: [{ name: orders.loaded, on: step.done }]

Spec: ST-10, EV-03, EV-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Finding, listed
from noetl.dsl.nodes import Mapping, Scalar, shorten
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL213", name="engine-event-emitted", spec=("ST-10", "EV-03", "EV-04"))

PREFIXES = ("playbook", "workflow", "step", "task", "loop", "next", "ctx", "execution")


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        for name in emitted(step):
            if name.text.split(".")[0] in PREFIXES:
                yield RULE.at(
                    name.place,
                    f'step "{shorten(step.name)}" emits "{shorten(name.text)}", a name that belongs to the engine',
                    why=f"names that begin with {listed(PREFIXES)} are the engine's own",
                    fix=f"give it a prefix of your own: {draft_name(draft)}.{name.text.rpartition('.')[2]}",
                )


def emitted(step: Step) -> Iterator[Scalar]:
    """The names of the events that a step adds."""
    emit = step.policy.mapping("emit") if step.policy else None
    events = emit.sequence("events") if emit else None
    for event in events.items if events else ():
        name = event.scalar("name") if isinstance(event, Mapping) else None
        if name and name.text:
            yield name


def draft_name(draft: Draft) -> str:
    metadata = draft.root.mapping("metadata")
    name = metadata.text("name") if metadata else None
    return name if name and name.isidentifier() and name not in PREFIXES else "my"
