"""A condition is text that can be neither true nor false.

A `when` is one expression between `{{` and `}}`, or the word true or false. Text around the braces makes the whole a
text, such as "5 > 3", which is not evaluated further; text without braces is never evaluated at all.

Wrong:

    when: output.status == 'error'
    when: "{{ output.data.count }} > 3"

Right:

    when: "{{ output.status == 'error' }}"
    when: "{{ output.data.count > 3 }}"

Spec: TP-04.
"""

from collections.abc import Iterator
from typing import NamedTuple

from noetl.dsl.draft import Draft, Site, Step, Task, Text
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Scalar, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import quoted, replace_value
from noetl.dsl.rules.reads import is_readable
from noetl.expressions import Template, TemplateSyntaxFault, constant, looks_like_template, parse

RULE = contract.Rule(code="NL614", name="condition-not-an-expression", spec=("TP-04",))

TRUTHS = ("true", "false", "")
WORDS = {
    **dict.fromkeys(("yes", "on", "y", "always"), "true"),
    **dict.fromkeys(("no", "off", "n", "never"), "false"),
}
WHY = "a condition is one {{ expression }}, or true or false"


class Condition(NamedTuple):
    """A `when` and where it stands."""

    node: AnyNode | None
    site: str
    step: Step | None
    task: Task | None = None


def check(draft: Draft) -> Iterator[Finding]:
    templates = {id(text.node): text for text in draft.texts}
    for condition in conditions(draft):
        node = condition.node
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            continue
        if looks_like_template(node.text):
            text = templates.get(id(node))
            yield from of_template(text) if text else ()
        elif node.text.strip().lower() not in TRUTHS:
            yield of_text(draft, condition, node)


def conditions(draft: Draft) -> Iterator[Condition]:
    for step in draft.steps:
        for rule in step.admit_rules:
            yield Condition(rule.get("when"), Site.ADMIT, step)
        for arc in step.arcs:
            yield Condition(arc.when, Site.ARC_WHEN, step)
    for task_rule in draft.rules:
        yield Condition(task_rule.when, Site.RULE_WHEN, task_rule.task.step, task_rule.task)


def of_text(draft: Draft, condition: Condition, node: Scalar) -> Finding:
    """Text without braces."""
    word = WORDS.get(node.text.strip().lower())
    expression = "" if word else as_expression(draft, condition, node)
    new = word or expression
    return RULE.at(
        node.place,
        f'the text "{shorten(node.text)}" is neither true nor false',
        why=f"{WHY}; text without braces is not evaluated",
        fix=f"write when: {shorten(new, 120)}" if new else 'write when: "{{ … }}"',
        edits=replace_value(node, new) if new else (),
    )


def as_expression(draft: Draft, condition: Condition, node: Scalar) -> str:
    """The text between braces and quotes, if it is an expression that could stand here."""
    inner = f"{{{{ {' '.join(node.text.split())} }}}}"
    try:
        template = parse(inner)
    except TemplateSyntaxFault:
        return ""
    text = Text(node=node, site=condition.site, template=template, fault=None, step=condition.step, task=condition.task)
    if not template.is_expression or not is_readable(draft, text):
        return ""
    return quoted(inner)


def of_template(text: Text) -> Iterator[Finding]:
    """A template that gives text, whatever the values are."""
    template = text.template
    if template is None or template.has_statements:
        return
    if template.is_expression:
        is_known, value = constant(template) if not template.reads else (False, None)
        if is_known and isinstance(value, str) and value.strip().lower() not in TRUTHS:
            yield RULE.at(
                text.node.place,
                f'this is always the text "{shorten(value)}", neither true nor false',
                why=WHY,
                fix="write the condition itself, or true",
            )
    elif not could_be_truth(template.literal_text):
        yield RULE.at(
            text.node.place,
            f'"{shorten(text.node.text)}" gives text, which is neither true nor false',
            why=f"{WHY}; the text outside the braces is not evaluated",
            fix=f"write the whole condition between one pair of braces{suggestion(template)}",
        )


def could_be_truth(literal: str) -> bool:
    """Whether some values could complete a text to true, false or nothing."""
    folded = literal.strip().lower()
    return any(folded in word for word in ("true", "false"))


def suggestion(template: Template) -> str:
    """The same with the inner braces taken away, if that can be read."""
    inner = template.source.replace("{{", "").replace("}}", "")
    whole = f"{{{{ {' '.join(inner.split())} }}}}"
    try:
        return f": {shorten(whole, 120)}" if parse(whole).is_expression else ""
    except TemplateSyntaxFault:
        return ""
