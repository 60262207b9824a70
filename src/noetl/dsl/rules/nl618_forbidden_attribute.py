"""A template reaches for an attribute with two underscores around its name.

Templates see plain data: no objects, no classes, no modules. Names such as `__class__` are the way in which templates
of other systems have been broken out of; here they lead nowhere, and a playbook that holds one is refused.

Wrong:

    when: "{{ output.__class__.__name__ == 'dict' }}"

Right:

    when: "{{ output.data is mapping }}"

Spec: TP-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Text
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL618", name="forbidden-attribute", spec=("TP-05",))


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        if text.template and "__" in text.node.text:
            for name, offset, end in forbidden(text):
                yield RULE.at(
                    text.place_of(offset, end),
                    f'"{name}" cannot be read in a template',
                    why="templates see plain data, nothing of the objects that hold it",
                    fix="test what a value is with: is string, is mapping, is sequence, is number, is none",
                )


def forbidden(text: Text) -> Iterator[tuple[str, int, int]]:
    """Names and subscripts with two underscores on both sides, inside the tags."""
    from noetl.expressions.lexer import tokenize  # it needs Jinja2, which a playbook without templates does not

    tokens = tokenize(text.node.text)
    marks = tokens.marks
    for index, (offset, sort, value) in enumerate(marks):
        is_read = sort == "name" or (
            sort == "string" and is_subscript([mark[1] for mark in marks[max(index - 2, 0) : index]])
        )
        if is_read and is_hidden(value):
            yield value, offset, tokens.ends[index]


def is_subscript(before: list[str]) -> bool:
    """Whether the two tokens before a text open a subscript: x['…'], not a list."""
    return before[-1:] == ["lbracket"] and before[0] in ("name", "string", "rbracket", "rparen", "rbrace")


def is_hidden(name: str) -> bool:
    """A name that Python keeps for itself."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")
