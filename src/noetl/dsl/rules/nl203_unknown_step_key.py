"""A step has a key that the language does not know.

A step has: step, desc, spec, loop, input, tool, set, next. Anything else would be ignored without a word, so it is
refused. `output` is there to be read, in `set`, in arcs and in rules; nobody writes it.

Wrong:

    - step: fetch
      tools:
        - { name: call, kind: http, url: https://example.com }
      output: "{{ call.data }}"

Right:

    - step: fetch
      tool:
        - { name: call, kind: http, url: https://example.com }
      set: { ctx.page: "{{ call.data }}" }

Spec: ST-04, DI-01.
"""

from collections.abc import Iterator

from noetl.dsl.departures import ShapeFault
from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.nodes import Entry, Mapping, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl201_step_without_name import name_under_another_word
from noetl.dsl.rules.shape_faults import UNKNOWN, shape_faults
from noetl.dsl.rules.whereabouts import owner, value_at

RULE = contract.Rule(code="NL203", name="unknown-step-key", spec=("ST-04", "DI-01"))

HABITS = {
    **dict.fromkeys(("description", "doc", "comment", "title"), 'did you mean "desc"?'),
    **dict.fromkeys(("tasks", "steps", "pipeline", "actions", "run", "do_all"), 'did you mean "tool"?'),
    **dict.fromkeys(("args", "params", "with", "inputs", "payload"), 'did you mean "input"?'),
    **dict.fromkeys(("outputs", "save", "result_as", "register"), "keep values with set: { ctx.<name>: … }"),
    **dict.fromkeys(("foreach", "for_each", "for", "iterate"), "write loop: { in: …, iterator: <name> }"),
    **dict.fromkeys(("depends_on", "needs", "after", "requires"), "let next of the step before lead here"),
    **dict.fromkeys(
        ("on_error", "on_failure", "catch", "rescue", "on_fail"),
        """write an arc with when: "{{ event.name == 'step.failed' }}" """.strip(),
    ),
    **dict.fromkeys(("on_success", "then", "goto", "transitions", "arcs"), "write next: { arcs: [{ step: <name> }] }"),
    "else": "write an arc without when as the last one",
    "set_ctx": "write set: { ctx.<name>: … }",
    "set_iter": "write set: { iter.<name>: … } on a task or in a rule",
    "set_vars": "write set: { step.<name>: … }",
}


def check(draft: Draft) -> Iterator[Finding]:
    for one in shape_faults(draft, UNKNOWN):
        if one.name == "step" and not is_name(draft, one):
            yield written_output(draft, one) if one.key == "output" else unknown(draft, one)


def is_name(draft: Draft, one: ShapeFault) -> bool:
    """Whether the key holds the name of a step that has none; NL201 says so."""
    step = value_at(draft, one.path[:2])
    return isinstance(step, Mapping) and "step" not in step.entries and one.key == name_under_another_word(step)


def written_output(draft: Draft, one: ShapeFault) -> Finding:
    return RULE.at(
        one.node.place,
        f"{owner(draft, one.path)} writes output, which is there to be read",
        why="the output of a step is that of its last task",
        fix="keep what later steps need with set: { ctx.<name>: … }",
    )


def unknown(draft: Draft, one: ShapeFault) -> Finding:
    step = value_at(draft, one.path[:2])
    entries = step.entries if isinstance(step, Mapping) else {}
    return RULE.at(
        one.node.place,
        f'{owner(draft, one.path)} has no key "{shorten(one.key)}"',
        why=f"a step has: {listed(one.shape.keys)}",
        fix=fix(draft, one, entries),
    )


def fix(draft: Draft, one: ShapeFault, there: dict[str, Entry]) -> str:
    habit = HABITS.get(one.key.lower())
    if habit:
        return habit
    miss = near_miss(one.key, [key for key in one.shape.keys if key not in there])
    if miss:
        return f'did you mean "{miss}"?'
    kinds = [name for name in draft.kinds if (kind := draft.kinds.get(name)) and kind.field(one.key)]
    if one.key == "kind" or kinds:
        return f"move it into tool: it is {'what a task is' if one.key == 'kind' else f'a field of kind: {kinds[0]}'}"
    return "delete it, or put values of your own under input"
