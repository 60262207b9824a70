"""After a tool answered: which rule decides, and what it says (TK-06, TK-07, TK-10)."""

from __future__ import annotations

import msgspec

from noetl.dsl.model import Rule, Task
from noetl.engine.values import Scope, holds

CONTINUE, RETRY, JUMP, BREAK, FAIL, SKIP = "continue", "retry", "jump", "break", "fail", "skip"
NO_RULE = -1


class Verdict(msgspec.Struct, frozen=True):
    """What happens next, and the rule that said so."""

    do: str
    rule: Rule | None = None
    index: int = NO_RULE


def verdict_before(task: Task, scope: Scope) -> Verdict | None:
    """A skip that does not look at the output is asked before the tool runs."""
    for index, rule in enumerate(task.policy.rules if task.policy else ()):
        if rule.is_before_tool and rule.when is not None and holds(rule.when, scope):
            return Verdict(SKIP, rule, index)
    return None


def verdict_after(task: Task, scope: Scope, *, is_error: bool) -> Verdict:
    """The first rule that matches; no policy: ok continues, error fails."""
    if task.policy is None:
        return Verdict(FAIL if is_error else CONTINUE)
    for index, rule in enumerate(task.policy.rules):
        if not rule.is_before_tool and (rule.when is None or holds(rule.when, scope)):
            return Verdict(rule.do, rule, index)
    return Verdict(FAIL if task.policy.on_unmatched == "fail" else CONTINUE)
