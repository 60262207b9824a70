"""A template is not valid Jinja2.

A template is read when the playbook is checked, long before it is evaluated, so a slip of the pen never waits for the
one run that reaches it. Templates use Jinja2's own words: `and`, `or`, `not`, `==`, `a if condition else b`. The
finding points at the character where reading stopped, also inside a block of many lines.

Wrong:

    when: "{{ output.status == 'error' && output.http.status == 429 }}"
    url: "{{ workload.api_url }/items"

Right:

    when: "{{ output.status == 'error' and output.http.status == 429 }}"
    url: "{{ workload.api_url }}/items"

Spec: TP-03.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from noetl.dsl import repairs
from noetl.dsl.draft import Draft, Text
from noetl.dsl.findings import Finding, near_miss
from noetl.dsl.rules import contract
from noetl.expressions import TemplateSyntaxFault

RULE = contract.Rule(code="NL601", name="template-syntax", spec=("TP-03",))

TAGS = ("if", "elif", "else", "endif", "for", "endfor", "set", "endset", "with", "endwith", "filter", "endfilter")
TAGS_RAW = ("raw", "endraw")
TOKEN = re.compile(r"\w+|\S")
EXPECTED = re.compile(r"expected token '(.+?)', got '(.+)'")
UNCLOSED = re.compile(r"Unexpected end of template\..*innermost block that needs to be closed is '(\w+)'", re.S)
UNKNOWN_TAG = re.compile(r"Encountered unknown tag '(\w+)'")
WRONG_BRACKET = re.compile(r"unexpected '(.)', expected '(.)'")
KINDS_OF_TOKEN = {"name": "a name", "string": "a text", "integer": "a number", "float": "a number"}


class Habit(NamedTuple):
    """A word of another language that people write, and ours."""

    pattern: re.Pattern[str]
    back: int  # how far before the fault it begins
    ours: str  # what to write; empty: no mechanical repair
    fix: str = ""


HABITS = (
    Habit(re.compile("&&"), 0, "and"),
    Habit(re.compile(r"\|\|"), 1, "or"),
    Habit(re.compile("==="), 2, "=="),
    Habit(re.compile("!=="), 2, "!="),
    Habit(re.compile("<>"), 1, "!="),
    Habit(re.compile("=(?![=>])"), 0, "=="),
    Habit(re.compile("!(?!=)"), 0, "not"),
    Habit(re.compile(r"AND\b"), 0, "and"),
    Habit(re.compile(r"OR\b"), 0, "or"),
    Habit(re.compile(r"NOT\b"), 4, "not"),
    Habit(re.compile(r"\?\?"), 0, "", "write {{ a | default(b) }}"),
    Habit(
        re.compile(r"\?\."), 0, ".", "write a plain dot: reading on from what is not there gives nothing, not an error"
    ),
    Habit(re.compile(r"\?"), 0, "", "write {{ a if condition else b }}"),
    Habit(re.compile(r"\$\{"), 0, "", "write the name alone: {{ workload.url }}"),
    Habit(re.compile(r"\$(?=\w)"), 0, "", "write the name without $: {{ workload.url }}"),
    Habit(re.compile("[“”‘’]"), 0, "", "write straight quotes: 'text'"),
    Habit(re.compile("`"), 0, "", "write 'text' in single quotes"),
    Habit(re.compile("=>|->"), 0, ""),
    Habit(re.compile("->"), 1, ""),
)


class Cause(NamedTuple):
    """A fault in the author's words."""

    message: str
    offset: int
    end: int
    fix: str = ""
    why: str = ""
    edit: tuple[int, int, str] | None = None


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        if text.fault and text.fault.kind == "syntax":
            yield finding(text, text.fault)


def finding(text: Text, fault: TemplateSyntaxFault) -> Finding:
    cause = cause_of(text.node.text, fault)
    edits = repairs.replace(text.node, *cause.edit) if cause.edit else ()
    place = text.place_of(cause.offset, cause.end)
    return RULE.at(place, cause.message, why=cause.why, fix=cause.fix, edits=edits)


def cause_of(source: str, fault: TemplateSyntaxFault) -> Cause:
    """What the author did, as far as the fault and the characters around it show."""
    offset = min(fault.offset, max(len(source) - 1, 0))
    found = nested_braces(source, offset, fault.message) or half_closed(source, offset, fault.message)
    found = found or habit(source, offset)
    for look in (open_block, unknown_tag, bracket, expectation):
        found = found or look(source, offset, fault.message)
    if found:
        return found
    message = fault.message[:1].lower() + fault.message[1:]
    return Cause(f"not a template: {message}", offset, token_end(source, offset))


def token_end(source: str, offset: int) -> int:
    match = TOKEN.match(source, offset)
    return match.end() if match else offset + 1


def tag_start(source: str, offset: int) -> int:
    """Where the tag begins that the fault stands in; -1 if it stands in none."""
    return max(source.rfind("{{", 0, offset), source.rfind("{%", 0, offset))


def nested_braces(source: str, offset: int, message: str) -> Cause | None:
    """{{ workload.{{ name }} }}"""
    inner = offset if source.startswith("{{", offset) else tag_start(source, offset)
    outer = tag_start(source, inner)
    is_nested = source.startswith("{{", inner) and outer >= 0 and "}}" not in source[outer:inner]
    if not is_nested or "%}" in source[outer:inner] or message.startswith("this tag"):
        return None
    return Cause(
        "{{ inside {{: braces do not nest",
        inner,
        inner + 2,
        why="everything between {{ and }} is one expression already",
        fix="write the name without braces: {{ workload[input.key] }}, {{ 'a' ~ input.b }}",
    )


def half_closed(source: str, offset: int, message: str) -> Cause | None:
    """{{ a }, {{ a %} and {% if a }}"""
    start = tag_start(source, offset)
    if "no bracket is open" not in message or source[offset] != "}" or start < 0:
        return None
    if source[start + 1] == "%":
        end = offset + 2 if source.startswith("}}", offset) else offset + 1
        return Cause("{% is closed by %}", offset, end, fix="write %}", edit=(offset, end, "%}"))
    if source[offset - 1] == "%":
        return Cause("{{ is closed by }}", offset - 1, offset + 1, fix="write }}", edit=(offset - 1, offset + 1, "}}"))
    return Cause(
        "{{ is closed by }}, and one } is missing", offset, offset + 1, fix="write }}", edit=(offset, offset, "}")
    )


def habit(source: str, offset: int) -> Cause | None:
    for one in HABITS:
        start = offset - one.back
        match = one.pattern.match(source, start) if start >= 0 else None
        if match:
            written = match.group()
            return Cause(
                f'"{written}" means nothing in a template',
                start,
                match.end(),
                why="templates are Jinja2: and, or, not, ==, !=, a if condition else b",
                fix=one.fix or (f'write "{one.ours}"' if one.ours else ""),
                edit=(start, match.end(), spaced(source, start, match.end(), one.ours)) if one.ours else None,
            )
    return None


def spaced(source: str, start: int, end: int, word: str) -> str:
    """A word with white space where it would else grow together with its neighbours."""
    if not word.isalpha():
        return word
    before = " " if source[start - 1 : start].isalnum() or source[start - 1 : start] in tuple("_)]}'\"") else ""
    after = "" if source[end : end + 1].isspace() else " "
    return before + word + after


def open_block(source: str, offset: int, message: str) -> Cause | None:
    """{% if %} without {% endif %}"""
    match = UNCLOSED.match(message)
    if not match:
        return None
    word = match.group(1)
    starts = [found.start() for found in re.finditer(rf"\{{%[-+]?\s*{word}\b", source)]
    start = starts[-1] if starts else offset
    return Cause(
        f"{{% {word} %}} is never closed",
        start,
        source.find("%}", start) + 2 if starts else offset + 1,
        fix=f"write {{% end{word} %}} where it ends",
    )


def unknown_tag(source: str, offset: int, message: str) -> Cause | None:
    match = UNKNOWN_TAG.match(message)
    if not match:
        return None
    word = match.group(1)
    end = token_end(source, offset)
    if word in TAGS:
        return Cause(
            f"{{% {word} %}} has nothing to belong to here", offset, end, fix="close tags in the order they opened"
        )
    miss = near_miss(word, (*TAGS, *TAGS_RAW))
    allowed = "{% if %}, {% for %}, {% set %}, {% with %}, {% filter %}, {% raw %}"
    fix = f"did you mean {{% {miss} %}}?" if miss else f"the tags are {allowed}"
    return Cause(f"there is no tag {{% {word} %}}", offset, end, fix=fix)


def bracket(source: str, offset: int, message: str) -> Cause | None:
    match = WRONG_BRACKET.match(message)
    if not match:
        return None
    found, wanted = match.groups()
    shown = "}}" if source.startswith("}}", offset) else found
    return Cause(f'"{wanted}" is missing before "{shown}"', offset, offset + len(shown), fix=f'write "{wanted}"')


def expectation(source: str, offset: int, message: str) -> Cause | None:
    """What Jinja2 expected and found, in plain words."""
    end = token_end(source, offset)
    if source.startswith("}}", offset) or source.startswith("%}", offset):
        closing = source[offset : offset + 2]
        is_empty = not source[tag_start(source, offset) + 2 : offset].strip("-+ \t\r\n")
        what = f"nothing stands between {{{{ and {closing}" if is_empty else f"something is missing before {closing}"
        return Cause(what, offset, offset + 2, fix="write an expression, or remove the braces" if is_empty else "")
    if message == "expected name or number":
        return Cause("a name is missing after the dot", offset, end)
    match = EXPECTED.match(message)
    if not match:
        return None
    wanted, found = (KINDS_OF_TOKEN.get(word, f'"{word}"') for word in match.groups())
    is_over = wanted == '"}}"'
    return Cause(
        f"the expression is over before {shown_token(source, offset, end)}"
        if is_over
        else f"expected {wanted}, found {found}",
        offset,
        end,
        fix="join the two parts with an operator (and, or, ==, ~, +, …), or remove one" if is_over else "",
    )


def shown_token(source: str, offset: int, end: int) -> str:
    return f'"{source[offset:end][:40]}"'
