"""A template uses a test that does not exist.

A test is the word after `is`: `ctx.token is defined`. The tests are Jinja2's and `empty`; an unknown one would fail the
run at the moment the template is evaluated.

Wrong:

    when: "{{ output.error is null }}"

Right:

    when: "{{ output.error is none }}"

Spec: TP-03.
"""

from collections.abc import Iterator

from noetl.dsl import repairs
from noetl.dsl.draft import Draft, Text
from noetl.dsl.findings import Finding, did_you_mean, listed, near_miss
from noetl.dsl.rules import contract
from noetl.expressions import Use
from noetl.expressions.filters import FILTERS, TESTS

RULE = contract.Rule(code="NL603", name="unknown-test", spec=("TP-03",))

SAME_AS = {
    "null": "none",
    "nil": "none",
    "exists": "defined",
    "present": "defined",
    "bool": "boolean",
    "int": "integer",
    "str": "string",
    "text": "string",
    "dict": "mapping",
    "object": "mapping",
    "list": "sequence",
    "array": "sequence",
    "blank": "empty",
}

WORDS = frozenset(name for name in TESTS if name.isalpha())


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        for use in text.template.tests if text.template else ():
            if use.name not in TESTS:
                yield finding(text, use)


def finding(text: Text, use: Use) -> Finding:
    ours = SAME_AS.get(use.name)
    otherwise = f'"{use.name}" is a filter: write | {use.name}' if use.name in FILTERS else "compare with == instead"
    return RULE.at(
        text.place_of(use.offset, use.end),
        f'there is no test "is {use.name}"',
        why="" if ours or near_miss(use.name, WORDS) else f"the tests are: {listed(sorted(WORDS), most=60)}",
        fix=f'write "is {ours}"' if ours else did_you_mean(use.name, WORDS, otherwise),
        edits=repairs.replace(text.node, use.offset, use.end, ours) if ours else (),
    )
