"""A set writes to a scope that is read-only.

A set may write `ctx.*`, `step.*` and `iter.*`. The workload is made once, when the execution starts; `input` and
`output` belong to their boundary; `keychain` is renewed by its resolver, never by writing. `iter.index` and
`iter.parent` say which iteration this is.

Wrong:

    set:
      workload.page: "{{ output.data.next_page }}"

Right:

    set:
      ctx.page: "{{ output.data.next_page }}"

Spec: SC-01, SC-06, SC-09, KC-06.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Assignment, Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.sets import SCOPES, writable

RULE = contract.Rule(code="NL608", name="write-to-read-only", spec=("SC-01", "SC-06", "SC-09", "KC-06"))

READ_ONLY = {
    "workload": "workload is made once, when the execution starts, and never changes",
    "keychain": "secrets are renewed by their resolver or with kind: secrets, never by writing",
    "input": "input is what a boundary was given",
    "args": "args is what a boundary was given",
    "output": "output is what a boundary gave",
    "outcome": "outcome is what a boundary gave",
    "event": "event is what happened",
    "execution_id": "execution_id is given when the execution starts",
    "_prev": "_prev is always the previous task's data",
    "_task": "_task is the label of the task that runs",
    "_attempt": "_attempt counts by itself",
    "_key": "_key is made from the run itself",
    "iter.index": "iter.index says which iteration this is",
    "iter.parent": "iter.parent is the outer iteration; iterations are isolated from one another",
}


def check(draft: Draft) -> Iterator[Finding]:
    for write in draft.assignments:
        head = read_only_head(write.target)
        if head:
            yield RULE.at(
                write.key.place,
                f'"{write.target}" cannot be written: {head} is read-only',
                why=READ_ONLY[head],
                fix=f'write "{instead(write, head)}"',
            )


def read_only_head(target: str) -> str:
    """The read-only name that a target begins with."""
    parts = target.split(".", 2)
    pair = ".".join(parts[:2])
    return parts[0] if parts[0] in READ_ONLY else pair if pair in READ_ONLY else ""


def instead(write: Assignment, head: str) -> str:
    """A target of the same name that may be written here: the narrowest scope that lasts long enough to be of use."""
    name = write.target[len(head) + 1 :] or "<name>"
    scopes = writable(write.site, write.step, write.task)
    scope = "iter" if head.startswith("iter.") and SCOPES[2] in scopes else "ctx"
    return f"{scope}.{name}"
