"""Conditions of older playbooks in the form that the language has for them, filled in with the author's own words."""

from __future__ import annotations

import re

from noetl.dsl.nodes import AnyNode, Scalar
from noetl.dsl.rules.key_repairs import quoted, shown

EXPRESSION = re.compile(r"\s*\{\{-?\s*((?:(?!\{\{|\}\}).)+?)\s*-?\}\}\s*\Z", re.DOTALL)


def gate(condition: AnyNode | None, *, is_denied: bool = False) -> str:
    """The admission gate that a step's condition stands for: it holds, or the token does not enter."""
    first, second = ("false", "true") if is_denied else ("true", "false")
    rule = f"{{ when: {shown(condition, '…')}, then: {{ allow: {first} }} }}"
    otherwise = f"{{ else: {{ then: {{ allow: {second} }} }} }}"
    return f"spec: {{ policy: {{ admit: {{ rules: [{rule}, {otherwise}] }} }} }}"


def negated(condition: AnyNode | None) -> str:
    """The opposite of a condition, as YAML."""
    text = condition.text if isinstance(condition, Scalar) else ""
    inner = EXPRESSION.match(text) if len(text) <= 200 else None
    return quoted(f"{{{{ not ({inner.group(1)}) }}}}") if inner and "\n" not in text else '"{{ not (…) }}"'
