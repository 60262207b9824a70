"""A template reads a workload key or an iterator by its bare name.

It works, but such a name is below every other: the day a task or a step is given that name, the template means
something else. The qualified form says where the value is from, and always means the same.

Wrong:

    url: "{{ api_url }}/cities/{{ city.id }}"

Right:

    url: "{{ workload.api_url }}/cities/{{ iter.city.id }}"

Spec: TP-06.
"""

from collections.abc import Iterator

from noetl.dsl import repairs
from noetl.dsl.draft import Draft
from noetl.dsl.findings import INFO, Edit, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import ITERATOR, WORKLOAD_KEY, Meaning, meanings, once_per_name

RULE = contract.Rule(code="NL607", name="bare-name", spec=("TP-06",), severity=INFO)


def check(draft: Draft) -> Iterator[Finding]:
    bare = [one for one in meanings(draft) if one.sort in (ITERATOR, WORKLOAD_KEY)]
    places: dict[tuple[int, str], list[Edit]] = {}
    for one in bare:
        places.setdefault((id(one.text), one.read.name), []).extend(edits_for(one))
    for meaning in once_per_name(bare):
        what = "an iterator" if meaning.sort == ITERATOR else "a key of workload"
        yield RULE.at(
            meaning.text.place_of(meaning.read.offset, meaning.read.end),
            f'"{meaning.read.name}" is {what}, read by its bare name',
            why="a task or step of the same name would take its place",
            fix=f"write {qualified(meaning)}",
            edits=tuple(places[id(meaning.text), meaning.read.name]),
        )


def qualified(meaning: Meaning) -> str:
    name = meaning.read.name
    return meaning.names.iterators[name] if meaning.sort == ITERATOR else f"workload.{name}"


def edits_for(meaning: Meaning) -> tuple[Edit, ...]:
    return repairs.replace(meaning.text.node, meaning.read.offset, meaning.read.end, qualified(meaning))
