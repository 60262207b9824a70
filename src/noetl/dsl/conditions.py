"""The truth of a `when` as far as it can be known before the run, and what it reads.

Templates were compiled by `parse.py`; here they are only looked up.
"""

from __future__ import annotations

from collections.abc import Mapping

from noetl.dsl.draft import Draft, Rule, Text
from noetl.dsl.nodes import AnyNode, Scalar
from noetl.expressions import Read, Template, decide
from noetl.expressions.truth import AS_TRUTH, truth_of

Known = Mapping[tuple[str, ...], object]
NOTHING: Known = {}
TELLS_FAILURE = ("status", "error")


def compiled(draft: Draft) -> dict[int, Text]:
    """Every text with a template, by the id of its node."""
    found = draft.prepared.get("compiled")
    if not isinstance(found, dict):
        found = draft.prepared["compiled"] = {id(text.node): text for text in draft.texts}
    return found


def template_of(draft: Draft, node: AnyNode | None) -> Template | None:
    """The template of a node, if it is one that compiles."""
    text = compiled(draft).get(id(node))
    return text.template if text else None


def truth(draft: Draft, rule: Rule, known: Known = NOTHING) -> bool | None:
    """Whether a rule matches: certainly, certainly not, or None for what only the run will tell."""
    if rule.is_else:
        return True
    if not isinstance(rule.when, Scalar):
        return None
    template = template_of(draft, rule.when)
    if template:
        is_open = bool(template.names) and template.names.isdisjoint(path[0] for path in known)
        return None if is_open else decide(template, known)  # what reads nothing known is not worth deciding
    return truth_of(rule.when.value)


def reads_failure(template: Template) -> bool:
    """RT-11: whether a guard reads what tells a failure: event, output.status or output.error."""
    return any(
        read.name == "event" or (read.name == "output" and (not read.parts or read.parts[0].key in TELLS_FAILURE))
        for read in template.reads
    )


def is_condition(draft: Draft, rule: Rule) -> bool:
    """Whether a rule's condition can be judged at all; one that cannot is a fault of its own (NL601, NL614)."""
    if rule.is_else:
        return True
    if not isinstance(rule.when, Scalar):
        return False
    text = compiled(draft).get(id(rule.when))
    if text:
        return text.template is not None and (text.template.is_expression or text.template.has_statements)
    return not isinstance(rule.when.value, str) or rule.when.value.strip().lower() in AS_TRUTH


def reads_of(draft: Draft, node: AnyNode | None) -> tuple[Read, ...]:
    """What the template of a node reads."""
    template = template_of(draft, node)
    return template.reads if template else ()
