"""A rule asks for a directive that does not exist.

There are six: `continue` goes on to the next task, `retry` runs this one again, `jump` goes to a task named in `to`,
`break` ends the pipeline well, `fail` ends it as failed, and `skip` passes over this task. The directive is written
out; it cannot come from a template, because the way through a pipeline is checked before it runs.

Wrong:

    rules:
      - when: "{{ output.data.done }}"
        then: { do: stop }
      - else:
          then: { do: goto, to: fetch }

Right:

    rules:
      - when: "{{ output.data.done }}"
        then: { do: break }
      - else:
          then: { do: jump, to: fetch }

Spec: TK-07.
"""

from collections.abc import Iterator

from noetl.dsl.departures import is_template
from noetl.dsl.draft import Draft, Rule
from noetl.dsl.findings import Edit, Finding, did_you_mean, listed
from noetl.dsl.nodes import AnyNode, Scalar, describe
from noetl.dsl.repairs import replace
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl310_rule_without_do import lacks_do
from noetl.dsl.rules.pipelines import said
from noetl.dsl.shapes import DIRECTIVES

RULE = contract.Rule(code="NL311", name="unknown-directive", spec=("TK-07",))

CERTAIN = {"goto": "jump", "raise": "fail", "throw": "fail", "proceed": "continue"}
MEANINGS = {
    "continue": "goes on to the next task",
    "retry": "runs this task again",
    "jump": "goes to the task that to names",
    "break": "ends the pipeline well",
    "fail": "ends the pipeline as failed",
    "skip": "passes over this task",
}
OURS = {
    **dict.fromkeys(("goto", "loop"), ("jump",)),
    **dict.fromkeys(("stop", "exit", "halt", "quit"), ("break", "fail")),
    **dict.fromkeys(("abort", "raise", "throw", "error"), ("fail",)),
    **dict.fromkeys(("end", "done", "return", "finish", "complete", "succeed"), ("break",)),
    **dict.fromkeys(("again", "repeat"), ("retry", "jump")),
    **dict.fromkeys(("next", "pass", "ok", "ignore", "proceed", "noop"), ("continue",)),
}


def check(draft: Draft) -> Iterator[Finding]:
    for rule in draft.rules:
        do = rule.then.get("do") if rule.then and not lacks_do(rule.then) else None
        if do is not None and not (isinstance(do, Scalar) and do.value in DIRECTIVES):
            yield finding(rule, do)


def finding(rule: Rule, do: AnyNode) -> Finding:
    found = f'"{do.text}"' if isinstance(do, Scalar) else describe(do)
    why = "the way through a pipeline is checked before it runs, so do is written out; " if is_template(do) else ""
    return RULE.at(
        do.place,
        f"a rule of {said(rule.task)} asks for {found}, which is no directive",
        why=f"{why}do is one of: {listed(DIRECTIVES)}",
        fix=fix(do),
        edits=edits(do),
    )


def fix(do: AnyNode) -> str:
    if is_template(do) or not isinstance(do, Scalar):
        return "write one rule for each directive, with the condition in when"
    ours = OURS.get(do.text.lower())
    if ours:
        return f"write {', or '.join(f'do: {word}, which {MEANINGS[word]}' for word in ours)}"
    return did_you_mean(do.text, DIRECTIVES, "write one of these")


def edits(do: AnyNode) -> tuple[Edit, ...]:
    if not isinstance(do, Scalar):
        return ()
    word = do.text.lower()
    certain = word if word in DIRECTIVES else CERTAIN.get(word)
    return replace(do, 0, len(do.text), certain) if certain else ()
