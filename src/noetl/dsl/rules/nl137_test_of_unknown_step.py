"""A test speaks of a step or a task that its playbook does not have.

The names under `tools`, `expect.path`, `expect.runs` and `expect.error` are those of the playbook: a step, or
`step.task`. Those under `children` are the paths by which playbooks are called, and below each the names of that
playbook. An answer under another name would never be asked for, and an expectation of it says nothing. `noetl check`
sees this where test and playbook stand in one file; `noetl test` looks into the other files too.

Wrong:

    apiVersion: noetl.io/v2
    kind: PlaybookTest
    metadata: { name: stores what came }
    playbook: ../orders.yaml
    tools:
      fetch_oders.get_page: { data: [] }

Right:

    apiVersion: noetl.io/v2
    kind: PlaybookTest
    metadata: { name: stores what came }
    playbook: ../orders.yaml
    tools:
      fetch_orders.get_page: { data: [] }

Spec: PB-01.
"""

from collections.abc import Collection, Iterator
from collections.abc import Mapping as Table

from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.nodes import Mapping, Scalar, Sequence, shorten
from noetl.dsl.playbook_test_shapes import PLAYBOOK_TEST
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.start_faults import place_of
from noetl.dsl.schedule_documents import documents_of_kind

RULE = contract.Rule(code="NL137", name="test-of-unknown-step", spec=("PB-01",), is_of_text=True)

Steps = Table[str, Collection[str] | None]  # each with the labels of its tasks; None: they are not known here


def check(reading: Reading) -> Iterator[Finding]:
    playbooks = list(documents_of_kind(reading, "Playbook"))
    if len(playbooks) != 1:
        return
    steps = steps_in(playbooks[0])
    for root in documents_of_kind(reading, PLAYBOOK_TEST):
        if "playbook" not in root.entries and steps:
            yield from name_findings(root, steps)


def steps_in(playbook: Mapping) -> Steps:
    """The steps as they are written; a task without a name gets one elsewhere."""
    found: dict[str, Collection[str] | None] = {}
    workflow = playbook.sequence("workflow")
    for step in workflow.items if workflow else ():
        name = step.text("step") if isinstance(step, Mapping) else None
        if isinstance(step, Mapping) and name:
            found[name] = labels_in(step.sequence("tool"))
    return found


def labels_in(tools: Sequence | None) -> Collection[str] | None:
    labels = [task.text("name") if isinstance(task, Mapping) else None for task in tools.items] if tools else [None]
    return [label for label in labels if label] if all(labels) else None


def name_findings(root: Mapping, steps: Steps) -> Iterator[Finding]:
    """What a test names that is not there, at its place in the test."""
    tools, expect = root.mapping("tools"), root.mapping("expect")
    runs, path = (expect.mapping("runs"), expect.sequence("path")) if expect else (None, None)
    for mapping in (tools, runs):
        for entry in mapping.entries.values() if mapping else ():
            yield from of_name(entry.key, steps)
    for item in path.items if path else ():
        if isinstance(item, Scalar):
            yield from of_step(item, item.text, steps)
    error = expect.mapping("error") if expect else None
    step = error.scalar("step") if error else None
    if step is not None:
        yield from of_step(step, step.text, steps)
    if tools:
        yield from of_lonely(tools, steps)


def child_findings(tools: Mapping, steps: Steps) -> Iterator[Finding]:
    """The same of what tasks of a called playbook answer."""
    for entry in tools.entries.values():
        yield from of_name(entry.key, steps, "the called playbook")
    yield from of_lonely(tools, steps)


def of_path(node: Scalar, paths: Collection[str]) -> Finding:
    """A called playbook that nobody calls."""
    why = f"what is called: {listed(paths)}" if paths else "no task of the playbook calls another playbook"
    fix = did_you_mean(node.text, paths, "write one of them" if paths else "delete it")
    return RULE.at(place_of(node), f'no task calls a playbook "{shorten(node.text)}"', why=why, fix=fix)


def of_name(node: Scalar, steps: Steps, whose: str = "the playbook") -> Iterator[Finding]:
    """A step, or step.task; a name may have dots itself."""
    name = node.text
    if name in steps:
        return
    step, _, task = name.rpartition(".")
    if step not in steps:
        yield from of_step(node, step or name, steps, whose)
        return
    labels = steps[step]
    if labels is not None and task not in labels:
        why = (
            f'the tasks of step "{shorten(step)}": {listed(labels)}'
            if labels
            else f'step "{shorten(step)}" has no task'
        )
        fix = did_you_mean(task, labels, "write one of them")
        yield RULE.at(place_of(node), f'step "{shorten(step)}" has no task "{shorten(task)}"', why=why, fix=fix)


def of_step(node: Scalar, name: str, steps: Steps, whose: str = "the playbook") -> Iterator[Finding]:
    if name not in steps:
        fix = did_you_mean(name, steps, "write one of them")
        message = f'{whose} has no step "{shorten(name)}"'
        yield RULE.at(place_of(node), message, why=f"its steps: {listed(steps)}", fix=fix)


def of_lonely(tools: Mapping, steps: Steps) -> Iterator[Finding]:
    """A step alone stands for its one task."""
    for name, entry in tools.entries.items():
        labels = steps.get(name)
        if name in steps and labels is not None and len(labels) != 1:
            message = f'step "{shorten(name)}" has {len(labels)} tasks: which of them is meant?'
            why = "a step alone stands for its task where it has one"
            fix = f"write {shorten(name)}.{next(iter(labels))}" if labels else "delete it"
            yield RULE.at(place_of(entry.key), message, why=why, fix=fix)
