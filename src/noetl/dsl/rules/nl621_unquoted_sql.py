"""A value is put into SQL as it is.

In SQL a template becomes a bound parameter, also inside quotes, and `| ident` quotes the name of a table or column.
With `| raw_sql` the value becomes part of the statement itself: whoever can choose the value can choose what is run.
It is meant for pieces of SQL that the playbook itself holds.

Wrong:

    command: "SELECT * FROM orders WHERE {{ input.filter | raw_sql }}"

Right:

    command: "SELECT * FROM orders WHERE customer = {{ input.customer }} ORDER BY {{ input.column | ident }}"

Spec: TP-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL621", name="unquoted-sql", spec=("TP-05",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        for use in text.template.filters if text.template and text.template.reads else ():
            if use.name == "raw_sql":
                yield RULE.at(
                    text.place_of(use.offset, use.end),
                    "raw_sql puts a value into SQL as it is",
                    why="whoever can choose the value can choose what the database runs",
                    fix="leave it out (a value becomes a bound parameter), or use | ident for a table or column",
                )
