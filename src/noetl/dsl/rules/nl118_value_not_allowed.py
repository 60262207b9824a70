"""A value is none of the words that its place knows.

Wrong:

    loop:
      in: "{{ workload.items }}"
      iterator: item
      spec: { mode: concurrent }

Right:

      spec: { mode: parallel }

Spec: PB-05, RT-02, LP-01, TK-08, ST-07.
"""

from collections.abc import Iterator

from noetl.dsl.departures import ShapeFault, is_template
from noetl.dsl.draft import Draft
from noetl.dsl.findings import ERROR, WARNING, Edit, Finding, listed, near_miss
from noetl.dsl.nodes import AnyNode, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import replace_value
from noetl.dsl.rules.shape_faults import NOT_A_CHOICE, shape_faults
from noetl.dsl.rules.whereabouts import at

RULE = contract.Rule(
    code="NL118", name="value-not-allowed", spec=("PB-05", "RT-02", "LP-01", "TK-08", "ST-07"), also=(WARNING,)
)

HABITS = {
    **dict.fromkeys(("concurrent", "async", "distributed"), "parallel"),
    **dict.fromkeys(("serial", "sync", "ordered"), "sequential"),
    **dict.fromkeys(("first", "xor", "one"), "exclusive"),
    **dict.fromkeys(("all", "any", "or", "parallel"), "inclusive"),
    **dict.fromkeys(("fixed", "constant"), "none"),
    **dict.fromkeys(("exp", "expo", "double"), "exponential"),
    "oauth": "oauth2",
    "secret": "secret_manager",
    "postgres": "postgres_credential",
    "token": "bearer",
    "apikey": "api_key",
}


def check(draft: Draft) -> Iterator[Finding]:
    for one in shape_faults(draft, NOT_A_CHOICE):
        yield RULE.at(
            one.node.place,
            f"{at(draft, one.path)} must be {words(one)}, found {describe(one.node)}",
            why="a template is not rendered here" if is_template(one.node) else meaning(one),
            fix=fix(one),
            edits=edits(one),
            severity=WARNING if is_of_server(draft, one) else ERROR,
        )


def is_of_server(draft: Draft, one: ShapeFault) -> bool:
    """A sort of credential that a server of the public NoETL may know."""
    return draft.is_upstream and one.name == "credential.kind" and not is_template(one.node)


def words(one: ShapeFault) -> str:
    choices = one.shape.choices
    return " or ".join(choices) if len(choices) <= 3 else f"one of {listed(choices)}"


def meaning(one: ShapeFault) -> str:
    return one.shape.doc[:1].lower() + one.shape.doc[1:].rstrip(".")


def meant(one: ShapeFault) -> str | None:
    text = one.node.text if isinstance(one.node, Scalar) else ""
    habit = HABITS.get(text.lower())
    return habit if habit in one.shape.choices else near_miss(text, one.shape.choices)


def fix(one: ShapeFault) -> str:
    if is_template(one.node):
        return "write one of the words itself"
    if len(one.shape.choices) == 1:
        return f"write {one.shape.choices[0]}"
    miss = meant(one)
    return f'did you mean "{miss}"?' if miss else "write one of these words"


def edits(one: ShapeFault) -> tuple[Edit, ...]:
    """Another case of the same word is repaired; a guess is not."""
    return replace_value(one.node, word) if (word := same_word(one.node, one)) else ()


def same_word(node: AnyNode, one: ShapeFault) -> str | None:
    text = node.text.strip().lower() if isinstance(node, Scalar) else ""
    return next((choice for choice in one.shape.choices if choice.lower() == text), None)
