"""A template reads a field that an output, or an event, does not have.

Every task and step gives one envelope: `status`, `data` (the payload), `ref`, `error`, `meta`, and a helper of its
kind, such as `http` or `pg`; a loop adds `loop`, its counts. The payload's own keys are below `data`. A field that is
not there reads as undefined: the condition is false, the default is taken, and nobody says why.

Wrong:

    when: "{{ output.http.status_code == 404 }}"
    set:
      ctx.orders: "{{ fetch.orders }}"

Right:

    when: "{{ output.http.status == 404 }}"
    set:
      ctx.orders: "{{ fetch.data.orders }}"

Spec: TK-04, TP-02, EV-01, EV-02.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Site, Step, Task
from noetl.dsl.findings import WARNING, Finding, listed, near_miss
from noetl.dsl.kinds import Kind
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import LABEL, SCOPE, STEP, Meaning, meanings, place_of_key
from noetl.expressions import Part

RULE = contract.Rule(
    code="NL619", name="unknown-envelope-field", spec=("TK-04", "TP-02", "EV-01", "EV-02"), severity=WARNING
)

Fields = dict[str, tuple[str, ...]]  # field → what is below it; nothing known: anything

ENVELOPE: Fields = {
    "status": (),
    "data": (),
    "ref": (),
    "error": ("kind", "retryable", "message", "details"),
    "meta": ("attempt", "duration_ms", "ts", "trace", "selected"),
}
LOOP: Fields = {"loop": ("total", "done", "failed", "skipped")}
EVENT: Fields = dict.fromkeys(
    (
        "name",
        "status",
        "payload",
        "event_id",
        "execution_id",
        "timestamp",
        "source",
        "entity_type",
        "entity_id",
        "step_run_id",
        "task_run_id",
        "iteration_id",
        "task_label",
        "attempt",
    ),
    (),
)
OTHER_WORDS = {
    "result": "data",
    "results": "data",
    "value": "data",
    "body": "data",
    "rows": "data",
    "result_ref": "ref",
    "reference": "ref",
    "status_code": "http.status",
    "headers": "http.headers",
    "message": "error.message",
}
EVENT_WORDS = {"type": "name", "id": "event_id", "data": "payload", "result": "payload", "step": "entity_id"}
WITHIN_WORDS = {"status_code": "status", "code": "status", "type": "kind", "duration": "duration_ms"}
OF_A_TASK = (Site.RULE_WHEN, Site.RULE_DELAY, Site.RULE_SET, Site.TASK_SET)
PASSED_ON = "workbook"  # the kind whose output is another task's


def check(draft: Draft) -> Iterator[Finding]:
    if draft.is_upstream:
        return  # UP-01: there a payload's own keys can be read on its envelope
    used = helpers(draft.kind_of(task) for task in draft.tasks)
    for meaning in meanings(draft):
        fields = fields_of(draft, meaning, used)
        if fields and meaning.read.parts:
            yield from in_envelope(meaning, fields)


def helpers(kinds: Iterator[Kind | None]) -> Fields:
    return {kind.helper: kind.helper_fields for kind in kinds if kind and kind.helper}


def fields_of(draft: Draft, meaning: Meaning, used: Fields) -> Fields | None:
    """What the thing that is read has; None where it is no envelope, or its kind is not known."""
    if meaning.sort == SCOPE and meaning.read.name == "event":
        return EVENT
    if meaning.sort == SCOPE and meaning.read.name == "output":
        task = meaning.text.task if meaning.text.site in OF_A_TASK else None
        return of_task(draft, task, used) if task else {**ENVELOPE, **LOOP, **used}
    if meaning.sort == LABEL and meaning.task:
        return of_task(draft, meaning.task, used)
    return of_step(draft, meaning.step, used) if meaning.sort == STEP and meaning.step else None


def of_task(draft: Draft, task: Task, used: Fields) -> Fields | None:
    kind = draft.kind_of(task)
    if kind is None:
        return None
    is_others = task.kind == PASSED_ON or draft.is_generated(task)
    return {**ENVELOPE, **LOOP, **used} if is_others else {**ENVELOPE, **helpers(iter((kind,)))}


def of_step(draft: Draft, step: Step, used: Fields) -> Fields | None:
    kinds = [draft.kind_of(task) for task in step.tasks]
    if None in kinds:
        return None
    return {**ENVELOPE, **(LOOP if step.has_loop else used)}


def in_envelope(meaning: Meaning, fields: Fields) -> Iterator[Finding]:
    first, *more = meaning.read.parts
    if first.key not in fields:
        yield unknown(meaning, first, meaning.read.name, fields, EVENT_WORDS if fields is EVENT else OTHER_WORDS)
        return
    below = fields[str(first.key)]
    if below and more and more[0].key not in below:
        holder = f"{meaning.read.name}.{first.key}"
        yield unknown(meaning, more[0], holder, dict.fromkeys(below, ()), WITHIN_WORDS)


def unknown(meaning: Meaning, part: Part, holder: str, fields: Fields, words: dict[str, str]) -> Finding:
    return RULE.at(
        place_of_key(meaning.text, part),
        f'"{holder}" has no "{part.key}"',
        why=f"it has: {listed(fields, most=20)}",
        fix=fix_for(meaning, part, holder, fields, words),
    )


def fix_for(meaning: Meaning, part: Part, holder: str, fields: Fields, words: dict[str, str]) -> str:
    word = words.get(str(part.key), "")
    if word.split(".")[0] in fields:
        return f'did you mean "{holder}.{word}"?'
    miss = near_miss(str(part.key), fields)
    if miss:
        return f'did you mean "{holder}.{miss}"?'
    if "data" not in fields:
        return ""
    shown = meaning.text.node.text[part.offset : part.end]
    return f"the payload is below data: write {holder}.data{shown}"
