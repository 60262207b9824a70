"""A template reads a name that exists, but not in this place.

Each place sees what has happened by the time it is evaluated, and no more. Admission is decided before the step runs,
so there is no `output`. `iter` lives inside one iteration. Task labels end with their pipeline: an arc sees the step's
`output`, which is that of the last task run, and whatever tasks wrote to `ctx` or `step`.

Wrong:

    next:
      arcs:
        - step: store
          when: "{{ fetch_page.data.count > 0 }}"      # a task of this step

Right:

    set:
      step.count: "{{ fetch_page.data.count }}"
    next:
      arcs:
        - step: store
          when: "{{ step.count > 0 }}"

Spec: TP-02, SC-03, SC-05, ST-05, RT-12.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Site, Task
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import REFUSED, Meaning, elsewhere, meanings, once_per_name
from noetl.dsl.scopes import RESERVED, SITES, Refusal, refusal

RULE = contract.Rule(
    code="NL605", name="name-not-readable-here", spec=("TP-02", "SC-03", "SC-05", "ST-05", "RT-12"), also=(WARNING,)
)

BEFORE = (Site.ADMIT, Site.LOOP_IN, Site.STEP_INPUT)  # evaluated before the step's iterations and tasks


def check(draft: Draft) -> Iterator[Finding]:
    refused = (one for one in meanings(draft) if one.sort == REFUSED and one.read.name != "keychain")
    for meaning in once_per_name(refused):
        reason = reason_for(draft, meaning)
        yield RULE.at(
            meaning.text.place_of(meaning.read.offset, meaning.read.end),
            f'"{meaning.read.name}" cannot be read in {SITES[meaning.text.site].called}',
            why=reason.why,
            fix=reason.fix,
            severity=WARNING if draft.is_upstream else None,
        )


def reason_for(draft: Draft, meaning: Meaning) -> Refusal:
    name, others = meaning.read.name, elsewhere(draft)
    if name in RESERVED:
        return refusal(name, meaning.text)
    if meaning.text.site == Site.CREDENTIAL:
        return refusal(name, meaning.text)
    step = meaning.text.step
    own = step.tasks if step else []
    task = next((one for one in own if one.label == name), others.labels.get(name))
    return label_reason(meaning, task) if task else iterator_reason(draft, meaning)


def label_reason(meaning: Meaning, task: Task) -> Refusal:
    step, name = meaning.text.step, meaning.read.name
    if task.step is None:
        return Refusal(
            f'"{name}" is a task of the workbook, and its label is known only inside it',
            "call it with kind: workbook and read the calling task's output",
        )
    if step is not task.step:
        return Refusal(
            f'"{name}" is a task of step "{task.step.name}", and a label is known only inside its own pipeline',
            f"read the step's output, {task.step.name}.data, or keep the value with set: ctx.<name>",
        )
    if meaning.text.site in BEFORE:
        return Refusal(
            f"no task of this step has run yet: {SITES[meaning.text.site].when}", "read output.data, the sender's"
        )
    is_last = any(task is last for last in task.step.tasks[-1:]) and not task.step.has_loop
    instead = f"read output{path_after(meaning)}: the step's output is its last task's"
    keep = "write the value to step.<name> with a set of that task, and read that"
    return Refusal(f'"{name}" is a task label, and labels end with the pipeline', instead if is_last else keep)


def iterator_reason(draft: Draft, meaning: Meaning) -> Refusal:
    owner = elsewhere(draft).iterators.get(meaning.read.name)
    if owner is meaning.text.step and meaning.text.site in BEFORE:
        return Refusal(
            f'"{meaning.read.name}" is the iterator, and {SITES[meaning.text.site].when}',
            "read the collection itself, or move this into a task of the step",
        )
    if owner is None or owner is meaning.text.step:
        return Refusal(
            f'"{meaning.read.name}" is the iterator, and an iteration\'s names end with it',
            "read output.data, the list of what the iterations gave",
        )
    return Refusal(
        f'"{meaning.read.name}" is the iterator of step "{owner.name}", and exists only in its iterations',
        "keep what is needed with set: ctx.<name>, in a task of that step",
    )


def path_after(meaning: Meaning) -> str:
    return meaning.text.node.text[meaning.read.end : meaning.read.path_end]
