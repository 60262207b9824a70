"""A rule does not say what to do.

`then` needs `do`: continue, retry, jump, break, fail or skip. There is no directive that goes without saying: a rule
that only sets values must say that it continues.

Wrong:

    rules:
      - else:
          then:
            set: { iter.page: 1 }

Right:

    rules:
      - else:
          then:
            do: continue
            set: { iter.page: 1 }

Spec: TK-05, AC-1.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.nodes import Mapping, Scalar
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said
from noetl.dsl.shapes import DIRECTIVES, SHAPES

RULE = contract.Rule(code="NL310", name="rule-without-do", spec=("TK-05", "AC-1"))

WORDS = frozenset(("action", "directive", "then", "op", *DIRECTIVES))
RETRY_KEYS = frozenset(("attempts", "backoff", "delay", "max_delay", "jitter"))


def check(draft: Draft) -> Iterator[Finding]:
    for rule in draft.rules:
        if rule.then is None or not lacks_do(rule.then):
            continue
        written = rule.then.entries.get("do")
        key = (rule.node.mapping("else") or rule.node).entries["then"].key
        yield RULE.at(
            written.key.place if written else key.place,
            f"a rule of {said(rule.task)} does not say what to do",
            why=f"then needs do, one of: {listed(DIRECTIVES)}",
            fix=fix(rule.then),
        )


def lacks_do(then: Mapping) -> bool:
    do = then.get("do")
    return do is None or (isinstance(do, Scalar) and do.value is None)


def meant_as_do(then: Mapping) -> frozenset[str]:
    """Keys of a `then` without `do` that stand in its place; NL310 speaks of them."""
    if not lacks_do(then):
        return frozenset()
    unknown = [key for key in then.entries if key not in SHAPES["then"].keys]
    miss = near_miss("do", unknown)
    return frozenset(key for key in unknown if key in WORDS or key == miss)


def fix(then: Mapping) -> str:
    meant = meant_as_do(then)
    directive = next((key for key in DIRECTIVES if key in meant), "")
    if not directive and meant:
        return f'write "do" where it says "{min(meant)}"'
    if not directive:
        directive = "jump" if "to" in then.entries else "retry" if RETRY_KEYS & set(then.entries) else "continue"
    return f"add do: {directive}"
