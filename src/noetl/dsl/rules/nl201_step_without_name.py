"""A step has no name, or one that cannot be a name.

Every item of `workflow` is a mapping whose `step` gives its name. Arcs lead to it by that name, events carry it, and
templates read its output by it. A name begins with a letter or an underscore and goes on with letters, digits,
underscores and dashes. One with a dash can be the target of an arc, but no template can read it: there the dash is a
minus.

Wrong:

    workflow:
      - name: fetch orders
        tool: { kind: noop }

Right:

    workflow:
      - step: fetch_orders
        tool: { kind: noop }

Spec: PB-04, ST-04.
"""

import re
from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import INFO, Finding
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import rename_key
from noetl.dsl.rules.whereabouts import first_entry
from noetl.dsl.source import Place

RULE = contract.Rule(code="NL201", name="step-without-name", spec=("PB-04", "ST-04"))

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_]+")
OTHER_WORDS = ("name", "id", "label", "title", "key")
WHY = "arcs, events and templates find a step by its name"


def check(draft: Draft) -> Iterator[Finding]:
    workflow = draft.root.sequence("workflow")
    for index, node in enumerate(workflow.items if workflow else ()):
        found = of_item(node, index + 1)
        if found:
            yield found


def of_item(node: AnyNode, number: int) -> Finding | None:
    if not isinstance(node, Mapping):
        fix = "write - step: <name>, and under it tool or next"
        return RULE.at(node.place, f"step {number} must be a mapping, found {describe(node)}", why=WHY, fix=fix)
    entry = node.entries.get("step")
    return of_name(entry.value, number, entry) if entry else nameless(node, number)


def nameless(node: Mapping, number: int) -> Finding:
    word = name_under_another_word(node)
    entry = node.entries.get(word) or first_entry(node)
    return RULE.at(
        entry.key.place if entry else beginning(node.place),
        f"step {number} has no name",
        why=WHY,
        fix=f'write "step" where it says "{word}"' if word else "add step: <name>",
        edits=rename_key(node.entries[word], node, "step") if word else (),
    )


def name_under_another_word(node: Mapping) -> str:
    """The key that holds the step's name, though it is not called so."""
    words = (word for word in OTHER_WORDS if NAME.match(node.text(word) or ""))
    return next(words, "")


def of_name(node: AnyNode, number: int, entry: Entry) -> Finding | None:
    if not isinstance(node, Scalar) or node.value is None or not node.text:
        place = entry.key.place if isinstance(node, Scalar) and not node.text else node.place
        message = f"the name of step {number} must be text, found {describe(node)}"
        return RULE.at(place, message, why=WHY, fix="give it a name")
    if not isinstance(node.value, str) or not NAME.match(node.text):
        return not_a_name(node, number)
    return with_dash(node) if "-" in node.text else None


def not_a_name(node: Scalar, number: int) -> Finding:
    better = suggestion(node.text)
    return RULE.at(
        node.place,
        f"the name of step {number} cannot be {describe(node)}",
        why="a name has letters, digits, underscores and dashes, and does not begin with a digit",
        fix=f"call it {better}, and in the arcs that lead to it" if better else "give it a name",
    )


def suggestion(text: str) -> str:
    """The nearest text that is a name."""
    better = NOT_IN_NAME.sub("_", text[:60]).strip("_")
    return f"step_{better}" if better[:1].isdigit() else better


def with_dash(node: Scalar) -> Finding:
    better = node.text.replace("-", "_")
    return RULE.at(
        node.place,
        f'no template can read step "{node.text}" by its name',
        why=f"in {{{{ {node.text}.data }}}} the dash is a minus",
        fix=f"call it {better} if a template shall read it",
        severity=INFO,
    )


def beginning(place: Place) -> Place:
    return Place(place.file, place.line, place.column, place.line, place.column + 1)
