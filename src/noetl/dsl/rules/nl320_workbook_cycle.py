"""A workbook task calls itself, directly or by way of others.

A workbook task is one task, so a call that comes back to it never ends.

Wrong:

    workbook:
      refresh: { kind: workbook, task: login }
      login: { kind: workbook, task: refresh }

Right:

    workbook:
      refresh: { kind: workbook, task: login }
      login: { kind: http, url: "https://example.com/login" }

Spec: PB-06.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL320", name="workbook-cycle", spec=("PB-06",))


def check(draft: Draft) -> Iterator[Finding]:
    calls = {name: called.text for name, task in draft.workbook.items() if (called := task.called)}
    for circle in circles(calls):
        called = draft.workbook[circle[0]].called
        if called:
            first = circle[0]
            yield RULE.at(
                called.place,
                f'workbook task "{first}" calls itself' + (" by way of others" if len(circle) > 1 else ""),
                why=f"{' → '.join((*circle, first))}: a call that comes back never ends",
                fix="let one of them do the work with another kind",
            )


def circles(calls: dict[str, str]) -> list[list[str]]:
    """The circles of a graph in which each name leads to at most one other; each once, from its first name."""
    found: list[list[str]] = []
    done: set[str] = set()
    for start in calls:
        path: list[str] = []
        seen: dict[str, int] = {}
        name: str | None = start
        while name in calls and name not in done and name not in seen:
            seen[name] = len(path)
            path.append(name)
            name = calls[name]
        if name in seen:
            found.append(from_first(path[seen[name] :], calls))
        done.update(path)
    return found


def from_first(circle: list[str], calls: dict[str, str]) -> list[str]:
    """A circle, beginning with the one of its names that is written first."""
    order = {name: at for at, name in enumerate(calls)}
    at = circle.index(min(circle, key=lambda name: order[name]))
    return circle[at:] + circle[:at]
