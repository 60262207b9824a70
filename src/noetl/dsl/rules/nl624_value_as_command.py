"""A whole command of SQL is one value.

In SQL a value is bound, it is never run: that is what keeps data from becoming a part of the statement. A command that
is nothing but `{{ … }}` has no statement left to bind it in, so it cannot work. Write the statement in the playbook and
leave the values to templates. If the SQL itself is data that is trusted, such as a text of the playbook's own workload,
say so with `| raw_sql`.

Wrong:

    command: "{{ workload.report }}"

Right:

    command: "SELECT * FROM report WHERE day = {{ workload.day }}"

Spec: TL-03, TP-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Site, Text
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import Mapping
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL624", name="value-as-command", spec=("TL-03", "TP-05"))


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        name = command_name(draft, text)
        if name and is_one_value(text):
            yield RULE.at(
                text.node.place,
                f'"{name}" is one value, and a value is never run as SQL',
                why="a value in SQL is bound to the statement around it, and here is no statement",
                fix="write the statement here; for SQL that is data and trusted, end the expression with | raw_sql",
            )


def command_name(draft: Draft, text: Text) -> str:
    """The field that the text is SQL of, such as command or copy.from; empty: it is no SQL."""
    kind = draft.kinds.get(text.task.kind) if text.task and text.site == Site.TASK_FIELD else None
    field = kind.field(text.target) if kind else None
    if not field or not text.task:
        return ""
    if field.is_sql:
        return field.name
    given = text.task.fields[field.name].value
    keys = [key for key in field.sql_keys if isinstance(given, Mapping) and given.get(key) is text.node]
    return f"{field.name}.{keys[0]}" if keys else ""


def is_one_value(text: Text) -> bool:
    template = text.template
    if not template or not template.is_expression:
        return False
    return all(use.name != "raw_sql" for use in template.filters)
