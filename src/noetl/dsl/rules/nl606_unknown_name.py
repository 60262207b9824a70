"""A template reads a name that nothing has.

A template may read the scopes (workload, ctx, input, …), and below them, bare: the task labels of its pipeline, the
iterators of the loops around it, the steps, and the top-level keys of the workload. Anything else would be undefined
in every run. Values handed in with the request are read as `workload.<key>`, declared or not.

Wrong:

    url: "{{ worklod.api_url }}/items/{{ item }}"

Right:

    url: "{{ workload.api_url }}/items/{{ iter.item }}"

Spec: TP-02, TP-06.
"""

from collections.abc import Iterator

from noetl.dsl import repairs
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Edit, Finding, listed, near_miss
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl618_forbidden_attribute import is_hidden
from noetl.dsl.rules.reads import UNKNOWN, Meaning, meanings, once_per_name
from noetl.dsl.scopes import SITES, workload_keys
from noetl.expressions import Read

RULE = contract.Rule(code="NL606", name="unknown-name", spec=("TP-02", "TP-06"), also=(WARNING,))

SAME_AS = {"null": "none", "nil": "none", "undefined": "none"}
OTHER_WORDS = {
    "vars": "write step.<name> for one step run, ctx.<name> for the execution, workload.<name> for inputs",
    "context": "the execution's state is ctx",
    "state": "the execution's state is ctx, a step run's is step",
    "payload": "the request's payload is merged into workload",
    "params": "the request's payload is merged into workload",
    "env": "a template sees no environment: put the value into workload, or declare it in keychain",
    "secrets": "credentials are declared in keychain and named with auth, or read as keychain.<name>",
    "secret": "credentials are declared in keychain and named with auth, or read as keychain.<name>",
    "result": "what a task gave is output.data",
    "results": "what the iterations gave is output.data",
    "response": "what a task gave is output.data",
    "data": "what a task gave is output.data",
    "error": "what went wrong is output.error",
    "status": "how it went is output.status",
    "prev": "the previous task's data is _prev",
    "attempt": "the attempt counter is _attempt",
    "task": "the task's label is _task; its output is output",
    "execution": "the execution's id is execution_id",
    "loop": "an iteration's values are iter.<iterator> and iter.index",
    "item": "the element is iter.<iterator>, inside a step with a loop",
    "index": "the index is iter.index, inside a step with a loop",
    "args": "the values a boundary receives are input",
}


def check(draft: Draft) -> Iterator[Finding]:
    unknown = (one for one in meanings(draft) if one.sort == UNKNOWN and not is_hidden(one.read.name))
    keys, steps = tuple(sorted(workload_keys(draft))), tuple(draft.step_names)
    of_steps, of_workload = listed(steps, most=4), listed(keys, most=6)
    for meaning in once_per_name(unknown):
        yield RULE.at(
            meaning.text.place_of(meaning.read.offset, meaning.read.end),
            f'"{meaning.read.name}" is not a name that {SITES[meaning.text.site].called} can read',
            why=f"readable here: {readable(meaning, of_steps, of_workload)}",
            fix=fix_for(meaning, keys, steps),
            edits=edits_for(meaning),
            severity=WARNING if draft.is_upstream else None,
        )


def readable(meaning: Meaning, steps: str, keys: str) -> str:
    """The names of this place, most telling first."""
    scopes = sorted(meaning.names.scopes, key=lambda name: (name.startswith("_"), name))
    labels = f"; tasks {listed(meaning.names.labels, most=6)}" if meaning.names.labels else ""
    finished = f"; steps {steps}" if steps and meaning.names.has_steps else ""
    workload = f"; keys of workload {keys}" if keys else ""
    return f"{listed(scopes, most=20)}{labels}{finished}{workload}"


def fix_for(meaning: Meaning, keys: tuple[str, ...], steps: tuple[str, ...]) -> str:
    name = meaning.read.name
    if name in SAME_AS:
        return f'write "{SAME_AS[name]}"'
    dashed = dashed_key(meaning)
    if dashed:
        return f"if the dash belongs to the key, write {dashed}"
    names = meaning.names
    near = [*names.scopes, *names.labels, *names.iterators]
    if name == "item" and names.iterators:
        return f"did you mean {next(iter(names.iterators.values()))}?"
    miss = near_miss(name, [names.iterators.get(one, one) for one in near]) or near_miss(name, near)
    miss = miss or near_miss(name, keys) or (near_miss(name, steps) if names.has_steps else None)
    if name in OTHER_WORDS and not (miss and miss.startswith(name)):
        return OTHER_WORDS[name]
    return (
        f'did you mean "{names.iterators.get(miss, miss)}"?'
        if miss
        else f"if the request brings it, write workload.{name}"
    )


def dashed_key(meaning: Meaning) -> str:
    """`ctx.page-size` reads ctx.page minus size; a key with a dash is read as ctx['page-size']."""
    text, at = meaning.text.node.text, meaning.read.offset
    before = next((read for read in template_reads(meaning) if read.parts and read.path_end == at - 1), None)
    if text[at - 1 : at] != "-" or before is None:
        return ""
    last = before.parts[-1]
    return f"{text[before.offset : last.offset]}['{last.key}-{meaning.read.name}']"


def template_reads(meaning: Meaning) -> tuple[Read, ...]:
    return meaning.text.template.reads if meaning.text.template else ()


def edits_for(meaning: Meaning) -> tuple[Edit, ...]:
    ours = SAME_AS.get(meaning.read.name)
    return repairs.replace(meaning.text.node, meaning.read.offset, meaning.read.end, ours) if ours else ()
