"""A rule of a task's policy has a key that rules do not have.

A rule has `when` and `then`, or `else` with its `then`. What it does stands in `then`: the directive `do`, its details
(`attempts`, `backoff`, `delay`, `max_delay`, `jitter` for retry, `to` for jump) and `set`. A misspelt key would do
nothing at the very moment it is needed.

Wrong:

    rules:
      - when: "{{ output.status == 'error' }}"
        then: { do: retry, attempt: 5, wait: 2 }

Right:

    rules:
      - when: "{{ output.status == 'error' }}"
        then: { do: retry, attempts: 5, delay: 2 }

Spec: TK-05, PB-13.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Rule
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.nodes import Entry, Mapping
from noetl.dsl.rules import contract
from noetl.dsl.rules.misplaced import refused
from noetl.dsl.rules.nl310_rule_without_do import meant_as_do
from noetl.dsl.rules.pipelines import said
from noetl.dsl.shapes import SHAPES

RULE = contract.Rule(code="NL309", name="unknown-policy-key", spec=("TK-05", "PB-13"))

THEN, OTHERWISE, WHOLE = SHAPES["then"].keys, SHAPES["task.else"].keys, SHAPES["task.rule"].keys
SYNONYMS = {
    "wait": "delay",
    "sleep": "delay",
    "seconds": "delay",
    "max_attempts": "attempts",
    "retries": "attempts",
    "tries": "attempts",
    "times": "attempts",
    "max": "attempts",
    "target": "to",
    "goto": "to",
    "task": "to",
    "label": "to",
    "otherwise": "else",
    "default": "else",
    "elif": "when",
}
OLDER = {
    "set_vars": "write set: { step.name: value }",
    "set_shared": "write set: { step.name: value } and give the loop a reducer for it",
    "set_prev": "_prev is always the output of the task before: let a task give that value",
    "set_ctx": "write set: { ctx.name: value }; set_ctx takes a mapping",
    "set_iter": "write set: { iter.name: value }; set_iter takes a mapping",
}


def check(draft: Draft) -> Iterator[Finding]:
    told = refused(draft)
    for rule in draft.rules:
        for node, known, where in parts(rule):
            for key, entry in node.entries.items():
                if key not in known and id(entry.value) not in told and not is_told(draft, key, node, known):
                    yield finding(rule, entry, node, known, where)


def parts(rule: Rule) -> Iterator[tuple[Mapping, dict[str, str], str]]:
    """The mappings of a rule, what each may hold, and what messages call it."""
    yield rule.node, WHOLE, "a rule"
    otherwise = rule.node.mapping("else")
    if otherwise and "then" in otherwise.entries:
        yield otherwise, OTHERWISE, "else"
    if rule.then:
        yield rule.then, THEN, "then"


def is_told(draft: Draft, key: str, node: Mapping, known: dict[str, str]) -> bool:
    """What stands in the place of `do` is NL310's; the details of a directive without `then` go with NL209's."""
    if known is THEN:
        is_allowed = key == "set_prev" and draft.is_legacy  # PB-10
        return is_allowed or key in meant_as_do(node)
    return key in THEN and "do" in node.entries and "then" not in node.entries


def finding(rule: Rule, entry: Entry, node: Mapping, known: dict[str, str], where: str) -> Finding:
    key = entry.key.text
    return RULE.at(
        entry.key.place,
        f'a rule of {said(rule.task)} has the unknown key "{key}"' + (f" in {where}" if where != "a rule" else ""),
        why=f"{where} may have {listed(known)}",
        fix=fix(key, node, known),
    )


def fix(key: str, node: Mapping, known: dict[str, str]) -> str:
    if key in OLDER:
        return OLDER[key]
    if known is not THEN and key in THEN:
        return f"{key} belongs into then"
    free = [name for name in known if name not in node.entries]
    miss = SYNONYMS.get(key) if SYNONYMS.get(key) in free else near_miss(key, free)
    return f'did you mean "{miss}"?' if miss else "remove it"
