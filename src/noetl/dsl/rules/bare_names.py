"""What a step or a task may be called, and which names a template cannot read bare (TP-06).

The documents leave names to the author, so only what is no text for one line is refused. A name that is no identifier
serves arcs, jumps and events as well as any other; it is a template that cannot say it.
"""

from __future__ import annotations

import re

from noetl.dsl.departures import is_template
from noetl.dsl.nodes import AnyNode, Scalar, shorten

NAME_CHARS_MAX = 200
NOT_IN_NAME = re.compile(r"\W+")


def refusal(node: AnyNode) -> str:
    """Why a value cannot be a name; empty if it can."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.text.strip():
        return "a name is text"
    if len(node.text) > NAME_CHARS_MAX:
        return f"a name has at most {NAME_CHARS_MAX} characters, this one has {len(node.text)}"
    if not node.text.isprintable():
        return "a name is one line of text, without control characters"
    return ""


def unreadable(name: str) -> str:
    """Why no template can read a name bare; empty if one can."""
    shown = f"{{{{ {shorten(name, 40)}.data }}}}"
    if name.isidentifier():
        return ""
    if any(character.isspace() for character in name):
        return f"in {shown} the name would end at the blank"
    if "." in name:
        return f"{shown} would read a key of {shorten(name.split('.')[0], 40) or 'nothing'}"
    if "-" in name:
        return f"in {shown} the dash is a minus"
    if name[0].isdigit():
        return f"in {shown} the digit begins a number"
    return f"{shown} is no expression"


def is_rendered_nowhere(node: AnyNode) -> bool:
    """Whether a name holds a template, which nothing renders."""
    return is_template(node)


def spelt(name: str, prefix: str) -> str:
    """The nearest name that a template can read; empty where nothing of it is left."""
    word = NOT_IN_NAME.sub("_", name[:60]).strip("_")
    return word if not word or word.isidentifier() else f"{prefix}_{word}"
