"""A step has no name, or one that cannot be a name.

Every item of `workflow` is a mapping whose `step` gives its name. Arcs lead to it by that name, events carry it, and
templates read its output by it. A name is a line of text, of up to 200 characters. One that is not an identifier
(letters of any script, digits and underscores, no digit first) can be the target of an arc, but no template can read
it: in `{{ fetch-orders.data }}` the dash is a minus. That is told as an information.

Wrong:

    workflow:
      - name: fetch_orders
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
from noetl.dsl.findings import INFO, WARNING, Finding
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, describe, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.bare_names import is_rendered_nowhere, refusal, spelt, unreadable
from noetl.dsl.rules.key_repairs import rename_key
from noetl.dsl.rules.whereabouts import first_entry
from noetl.dsl.source import Place

RULE = contract.Rule(code="NL201", name="step-without-name", spec=("PB-04", "ST-04"), also=(WARNING, INFO))

WORD = re.compile(r"[^\W\d][\w-]*\Z")
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
    words = (word for word in OTHER_WORDS if WORD.match(node.text(word) or ""))
    return next(words, "")


def of_name(node: AnyNode, number: int, entry: Entry) -> Finding | None:
    if not isinstance(node, Scalar) or node.value is None or not node.text:
        place = entry.key.place if isinstance(node, Scalar) and not node.text else node.place
        message = f"the name of step {number} must be text, found {describe(node)}"
        return RULE.at(place, message, why=WHY, fix="give it a name")
    why = refusal(node)
    return not_a_name(node, number, why) if why else without_reader(node)


def not_a_name(node: Scalar, number: int, why: str) -> Finding:
    fix = "give it a shorter name of one line" if isinstance(node.value, str) else f'write step: "{node.text}"'
    return RULE.at(node.place, f"the name of step {number} cannot be {describe(node)}", why=why, fix=fix)


def without_reader(node: Scalar) -> Finding | None:
    """A name that serves arcs and events, but no template."""
    if is_rendered_nowhere(node):
        return RULE.at(
            node.place,
            f'the template in the step name "{shorten(node.text)}" is not rendered',
            why="a name must be known before the playbook runs, so it is taken as written",
            fix="write the name itself",
            severity=WARNING,
        )
    why = unreadable(node.text)
    better = spelt(node.text, "step")
    return (
        RULE.at(
            node.place,
            f'no template can read step "{shorten(node.text)}" by its name',
            why=why,
            fix=f"call it {better or 'by a word'} if a template shall read it",
            severity=INFO,
        )
        if why
        else None
    )


def beginning(place: Place) -> Place:
    return Place(place.file, place.line, place.column, place.line, place.column + 1)
