"""A template reads a name of iter or step that nothing in its step writes.

`iter` holds the loop's element, `index`, `parent`, and what the tasks of the step write there with `set`; `step` holds
only what is written. Any other name is undefined in every run, mostly because it is misspelt or because another step
wrote it: both scopes end with their step. A read with a fallback (`| default(…)`, `is defined`, `or`) is left alone.

Wrong:

    tool:
      - name: fetch
        kind: http
        url: "https://api.example.com/orders?page={{ step.pages }}"
        set: { step.page: "{{ output.data.next }}" }

Right:

    tool:
      - name: fetch
        kind: http
        url: "https://api.example.com/orders?page={{ step.page | default(1) }}"
        set: { step.page: "{{ output.data.next }}" }

Spec: SC-03, SC-05.
"""

import re
from collections.abc import Collection, Iterator

import msgspec

from noetl.dsl.draft import Assignment, Draft, Loop, Step
from noetl.dsl.findings import WARNING, Finding, listed, near_miss
from noetl.dsl.nodes import Sequence
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl622_no_outer_iteration import parents
from noetl.dsl.rules.reads import SCOPE, Meaning, meanings, place_of_key
from noetl.dsl.scopes import loops_around
from noetl.expressions import Part

RULE = contract.Rule(code="NL623", name="unset-scratch-name", spec=("SC-03", "SC-05"), severity=WARNING)

SCRATCH = frozenset(("iter", "step"))
GIVEN = ("index", "parent", "_total")
FALLBACK = re.compile(r"\s*(?:\|\s*(?:default|d)\b|is\s+(?:not\s+)?(?:defined|undefined|none)\b|or\b)")


class Written(msgspec.Struct):
    """The names that are written in each scope: by every step (its id), by the workbook, by which step first."""

    by_step: dict[tuple[int, str], set[str]]
    by_workbook: dict[str, set[str]]
    first: dict[tuple[str, str], Step]


def check(draft: Draft) -> Iterator[Finding]:
    if draft.is_upstream or draft.is_legacy:
        return
    written = all_written(draft)
    seen: set[tuple[int, str, object]] = set()
    for meaning in meanings(draft):
        part = name_read(meaning)
        step = meaning.text.step
        if part is None or step is None or not is_whole(step) or is_known(meaning, part, written):
            continue
        key = (id(meaning.text), meaning.read.name, part.key)
        if key not in seen and not has_fallback(meaning, part):
            seen.add(key)
            yield finding(meaning, part, written)


def is_whole(step: Step) -> bool:
    """Whether every task of a step has its shape; one that has not may be what writes the name."""
    written = step.tool.items if isinstance(step.tool, Sequence) else [step.tool] if step.tool else []
    return len(step.tasks) >= len(written)


def all_written(draft: Draft) -> Written:
    found = Written({}, {}, {})
    for write in draft.assignments:
        scope, name = scratch_name(write)
        if scope in SCRATCH and write.step is None:
            found.by_workbook.setdefault(scope, set()).add(name)
        elif scope in SCRATCH and write.step:
            found.by_step.setdefault((id(write.step), scope), set()).add(name)
            found.first.setdefault((scope, name), write.step)
    return found


def scratch_name(write: Assignment) -> tuple[str, str]:
    """`iter.parent.page.next` writes the name page of iter; "" stands for the whole scope."""
    scope, *names = write.target.split(".")
    return scope, next((name for name in names if scope != "iter" or name != "parent"), "")


def name_read(meaning: Meaning) -> Part | None:
    """The name that is read of iter or step."""
    if meaning.sort != SCOPE or meaning.read.name not in SCRATCH:
        return None
    parts = meaning.read.parts[parents(meaning) if meaning.read.name == "iter" else 0 :]
    return parts[0] if parts and isinstance(parts[0].key, str) else None


def is_known(meaning: Meaning, part: Part, written: Written) -> bool:
    """Whether the scope may have that name there; a write of a whole scope may give it any."""
    return any(part.key in names or "" in names for names in sources(meaning, written))


def sources(meaning: Meaning, written: Written) -> Iterator[Collection[str]]:
    """The names the scope has there, by where they are from."""
    scope = meaning.read.name
    yield written.by_step.get((id(meaning.text.step), scope), ())
    yield written.by_workbook.get(scope, ())
    if scope == "iter":
        loops, depth = loops_around(meaning.text), parents(meaning)
        yield GIVEN
        yield iterator(loops[-1 - depth]) if depth < len(loops) else ("",)  # "": that is NL622's


def iterator(loop: Loop) -> tuple[str, ...]:
    return (loop.iterator.text,) if loop.iterator else ("",)


def has_fallback(meaning: Meaning, part: Part) -> bool:
    """Whether the template itself says what happens without the name, at this read or at another one of it."""
    template = meaning.text.template
    source = template.source if template else ""
    path = meaning.read.path[: meaning.read.parts.index(part) + 2]
    return any(
        read.path[: len(path)] == path and FALLBACK.match(source, read.path_end)
        for read in (template.reads if template else ())
    )


def finding(meaning: Meaning, part: Part, written: Written) -> Finding:
    scope, step = meaning.read.name, meaning.text.step
    own = f'step "{step.name}"' if step else "this step"
    names = sorted({name for found in sources(meaning, written) for name in found} - {"_total"})
    return RULE.at(
        place_of_key(meaning.text, part),
        f'nothing in {own} writes "{scope}.{part.key}"',
        why=reason(meaning, part, names),
        fix=advise(meaning, part, names, written),
    )


def reason(meaning: Meaning, part: Part, names: list[str]) -> str:
    scope = meaning.read.name
    if scope == "iter" and part.key in meaning.names.iterators:
        return f'"{part.key}" is the element of another loop of the nest; iter is the innermost iteration'
    return f"{scope} has there: {listed(names)}" if names else "step holds what a set of the step writes, and none does"


def advise(meaning: Meaning, part: Part, names: list[str], written: Written) -> str:
    scope, name = meaning.read.name, str(part.key)
    way = meaning.names.iterators.get(name) if scope == "iter" else None
    if way:
        return f"write {way}"
    miss = near_miss(name, names)
    if miss:
        return f'did you mean "{scope}.{miss}"?'
    other = written.first.get((scope, name))
    if other:
        return f'{scope}.{name} of step "{other.name}" ends with it: write and read ctx.{name}'
    return f"write it with set: {{ {scope}.{name}: … }}, or give a fallback: {scope}.{name} | default(…)"
