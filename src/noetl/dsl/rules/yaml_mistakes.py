"""What libyaml's words mean for an author: the likely mistake behind a syntax error, its place, and its repair.

libyaml says where it could not go on, which is often a line or more after the mistake. Each function below knows one
mistake by the text around that place, and gives nothing when it is not that one. They are tried in order; the first
answer is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from noetl.dsl.findings import Edit
from noetl.dsl.read import Fault
from noetl.dsl.rules.key_repairs import quoted
from noetl.dsl.source import Place, Source

KEY = r"[^\s#'\"{}\[\],&*!|>%@`:-][^#\n:]*"
TEMPLATE = re.compile(r"(?:^|[:,\[-])[ \t]*(\{[{%])")
TEMPLATE_ALONE = re.compile(rf"[ \t]*(?:-[ \t]+)*(?:{KEY}:[ \t]+)?(\{{[{{%].*)")
TWO_COLONS = re.compile(rf"[ \t]*(?:-[ \t]+)*{KEY}:[ \t]+(?!['\"|>&*!{{\[])(\S.*:.*)")
NO_SPACE = re.compile(rf"[ \t]*(?:-[ \t]+)*({KEY}:)\S")
COMMENT = re.compile(r"[ \t]#")
BEGINNING_PROBLEMS = ("start any token", "alphabetic", "node content", "comment or line break")
BEGINNINGS = "@`%*&!,|>"


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """What an author did, probably."""

    message: str
    why: str
    fix: str
    start: int
    end: int
    edits: tuple[Edit, ...] = ()


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """A syntax error and the text around it."""

    source: Source
    fault: Fault

    @property
    def problem(self) -> str:
        return self.fault.facts.get("problem", "")

    @property
    def context(self) -> str:
        return self.fault.facts.get("context", "")

    @property
    def at(self) -> int:
        """The index where libyaml stopped."""
        return self.source.index(self.fault.place.line, self.fault.place.column)

    @property
    def line(self) -> str:
        return self.source.line(self.fault.place.line)

    @property
    def begin_line(self) -> int:
        """The line on which that begins in which libyaml stopped."""
        return int(self.fault.facts.get("line", self.fault.place.line))

    @property
    def begin(self) -> int:
        return self.source.index(self.begin_line, int(self.fault.facts.get("column", self.fault.place.column)))

    def start_of(self, line: int) -> int:
        return self.source.index(line, 1)

    def line_before(self) -> tuple[int, str]:
        """The last line with anything on it before the one where libyaml stopped."""
        number = self.fault.place.line - 1
        while number > 0 and not self.source.line(number).split("#")[0].strip():
            number -= 1
        return number, self.source.line(number)


def mistake(source: Source, fault: Fault) -> Mistake:
    """The likely mistake behind a syntax error."""
    scene = Scene(source=source, fault=fault)
    answers = (look(scene) for look in MISTAKES)
    return next((answer for answer in answers if answer), None) or other(scene)


def unquoted_template(source: Source, place: Place) -> Mistake:
    """A whole value `{{ … }}` that YAML took for a mapping."""
    start = source.index(place.line, place.column)
    end = source.index(place.end_line, place.end_column)
    text = source.text[start:end]
    edits = (Edit(start, end, quoted(text)),) if "\n" not in text and "\r" not in text else ()
    return template_mistake(start, end, edits)


def template_mistake(start: int, end: int, edits: tuple[Edit, ...]) -> Mistake:
    return Mistake(
        message="a value that begins with a template must be quoted",
        why="YAML reads an unquoted { as the beginning of a mapping",
        fix=f"write {edits[0].text}" if edits and len(edits[0].text) <= 100 else "put quotes around the whole value",
        start=start,
        end=end,
        edits=edits,
    )


def bare_template(scene: Scene) -> Mistake | None:
    """`url: {{ workload.api }}/items`"""
    for number in dict.fromkeys((scene.fault.place.line, scene.begin_line)):
        line, first = scene.source.line(number), scene.start_of(number)
        found = TEMPLATE.search(line)
        if not found or first + found.start(1) > scene.at or is_in_quotes(line, found.start(1)):
            continue
        alone = TEMPLATE_ALONE.match(line)
        value = without_comment(alone.group(1)) if alone else ""
        start = first + found.start(1)
        is_whole = value.count("{{") == value.count("}}") and value.count("{%") == value.count("%}")
        if alone and alone.start(1) == found.start(1) and is_whole and value:
            return template_mistake(start, start + len(value), (Edit(start, start + len(value), quoted(value)),))
        return template_mistake(start, start + 2, ())
    return None


def without_comment(text: str) -> str:
    comment = COMMENT.search(text)
    return text[: comment.start() if comment else len(text)].rstrip(" \t")


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" ")) if line.strip() else 0


def is_in_quotes(line: str, column: int) -> bool:
    before = line[:column]
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1


def tab(scene: Scene) -> Mistake | None:
    indent = scene.line[: len(scene.line) - len(scene.line.lstrip())]
    if "\t" not in indent or ("tab" not in scene.problem and "cannot start any token" not in scene.problem):
        return None
    start = scene.start_of(scene.fault.place.line) + indent.index("\t")
    return Mistake(
        message="this line is indented with a tab",
        why="YAML allows only spaces before a key or a list item",
        fix="indent with spaces, as the lines around it",
        start=start,
        end=start + indent.count("\t"),
    )


def open_quote(scene: Scene) -> Mistake | None:
    if "quoted scalar" not in scene.context or "end of stream" not in scene.problem:
        return None
    return Mistake(
        message=f"the quote that opens on line {scene.begin_line} is never closed",
        why="a quoted text goes on until the same quote comes again, here until the end of the file",
        fix="close the quote at the end of its value",
        start=scene.begin,
        end=scene.start_of(scene.begin_line) + len(scene.source.line(scene.begin_line)),
    )


def after_quote(scene: Scene) -> Mistake | None:
    before = scene.source.text[: scene.at].rstrip(" \t")
    if not before.endswith(("'", '"')) or ("expected key" not in scene.problem and "expected '-'" not in scene.problem):
        return None
    return Mistake(
        message="there is text after a closing quote",
        why="a quoted value ends at its closing quote; only a comment may follow",
        fix="quote the whole value, or look above for a quote that was not closed",
        start=scene.at,
        end=scene.start_of(scene.fault.place.line) + len(scene.line),
    )


def open_bracket(scene: Scene) -> Mistake | None:
    if "flow" not in scene.context or "expected ',' or" not in scene.problem:
        return None
    bracket, closing = ("[", "]") if "sequence" in scene.context else ("{", "}")
    if scene.begin_line == scene.fault.place.line:
        return Mistake(
            message=f"a comma or {closing} is missing here",
            why=f"inside {bracket} {closing} values are separated by commas, and , [ ] {{ }} have a meaning",
            fix="add the comma, or quote the value that holds such a character",
            start=scene.at,
            end=scene.at + 1,
        )
    return Mistake(
        message=f"the {bracket} on line {scene.begin_line} is not closed",
        why=f"what follows was read as part of it, up to line {scene.fault.place.line}",
        fix=f"add the missing {closing}",
        start=scene.begin,
        end=scene.begin + 1,
    )


def extra_bracket(scene: Scene) -> Mistake | None:
    char = scene.source.text[scene.at : scene.at + 1]
    if char not in ("]", "}"):
        return None
    return Mistake(
        message=f"this {char} closes nothing",
        why=f"no {'[' if char == ']' else '{'} is open here",
        fix=f"delete the {char}, or put quotes around the value it is part of",
        start=scene.at,
        end=scene.at + 1,
    )


def value_with_colon(scene: Scene) -> Mistake | None:
    found = TWO_COLONS.match(scene.line) if "mapping values are not allowed" in scene.problem else None
    first = scene.start_of(scene.fault.place.line)
    if not found or first + found.start(1) > scene.at:
        return None
    value = without_comment(found.group(1))
    start = first + found.start(1)
    return Mistake(
        message='a value that contains ": " must be quoted',
        why="YAML takes every colon followed by a space for the end of a key",
        fix=f"write {quoted(value)}" if len(value) <= 100 else "put quotes around the whole value",
        start=start,
        end=start + len(value),
        edits=(Edit(start, start + len(value), quoted(value)),),
    )


def colon_without_space(scene: Scene) -> Mistake | None:
    number, line = scene.line_before()
    found = NO_SPACE.match(line)
    if not found or ("mapping values" not in scene.problem and "expected ':'" not in scene.problem):
        return None
    start, end = scene.start_of(number) + found.start(1), scene.start_of(number) + found.end(1)
    return Mistake(
        message="there is no space after this colon",
        why="YAML reads key:value without a space as one word",
        fix=f"write {found.group(1)} and then a space",
        start=start,
        end=end,
        edits=(Edit(end, end, " "),),
    )


def too_deep(scene: Scene) -> Mistake | None:
    if "mapping values are not allowed" not in scene.problem:
        return None
    number, _ = scene.line_before()
    start = scene.start_of(scene.fault.place.line) + len(scene.line) - len(scene.line.lstrip())
    return Mistake(
        message="this key is indented deeper than its place allows",
        why=f"line {number} has a value already, so nothing can stand below it",
        fix=f"indent it like line {number}, or take the value of line {number} away",
        start=start,
        end=max(scene.at, start + 1),
    )


def no_key(scene: Scene) -> Mistake | None:
    if "could not find expected ':'" not in scene.problem:
        return None
    line, first = scene.source.line(scene.begin_line), scene.start_of(scene.begin_line)
    return Mistake(
        message=f"line {scene.begin_line} is neither `key: value` nor a list item",
        why="text on its own line has no meaning here",
        fix='add the key and a colon, begin it with "- ", or indent it under the value it continues',
        start=scene.begin,
        end=first + len(line.rstrip()),
    )


def bad_beginning(scene: Scene) -> Mistake | None:
    """A value that begins with a character that means something else to YAML."""
    is_within = any(word in scene.context for word in ("alias", "anchor", "block scalar"))
    at = scene.begin if is_within else scene.at
    char = scene.source.text[at : at + 1]
    is_such = any(words in scene.problem for words in BEGINNING_PROBLEMS)
    if not char or char not in BEGINNINGS or not is_such:
        return None
    line, column = scene.source.line_and_column(at)
    value = without_comment(scene.source.line(line)[column - 1 :])
    before = scene.source.line(line)[: column - 1].rstrip()
    is_block = char in "|>" and indent_of(scene.source.line(line + 1)) > indent_of(scene.source.line(line))
    is_whole = before.endswith((":", "-")) and bool(value) and not is_block
    edits = (Edit(at, at + len(value), quoted(value)),) if is_whole else ()
    return Mistake(
        message=f"a value cannot begin with {char}",
        why=f"{char} has a meaning of its own in YAML",
        fix=f"write {edits[0].text}" if edits and len(value) <= 100 else "put quotes around the whole value",
        start=at,
        end=at + max(len(value), 1),
        edits=edits,
    )


def item_beside_key(scene: Scene) -> Mistake | None:
    if "block sequence entries are not allowed" not in scene.problem:
        return None
    return Mistake(
        message="a list item cannot begin on the line of its key",
        why="each item of a list has a line of its own, or the list stands in [ ]",
        fix="move the dash to the next line and indent it, or quote the value if the dash is part of it",
        start=scene.at,
        end=scene.at + 1,
    )


def unknown_alias(scene: Scene) -> Mistake | None:
    if "undefined alias" not in scene.problem:
        return None
    found = re.compile(r"\*[^\s,\[\]{}]*").match(scene.source.text, scene.at)
    name = found.group() if found else "*"
    return Mistake(
        message=f"{name} repeats an anchor that does not exist",
        why=f"* repeats the value that was marked with &{name[1:]} before",
        fix=f"mark that value with &{name[1:]} above this line, or quote it if * is part of the text",
        start=scene.at,
        end=scene.at + len(name),
    )


def second_anchor(scene: Scene) -> Mistake | None:
    if scene.problem != "second occurrence":
        return None
    found = re.compile(r"&[^\s,\[\]{}]*").match(scene.source.text, scene.at)
    name = found.group() if found else "&"
    return Mistake(
        message=f"the anchor {name} is given twice",
        why=f"line {scene.begin_line} has one of that name, so *{name[1:]} could mean either",
        fix="give one of them another name",
        start=scene.at,
        end=scene.at + len(name),
    )


def bad_escape(scene: Scene) -> Mistake | None:
    if "escape" not in scene.problem and "hexdecimal" not in scene.problem:
        return None
    return Mistake(
        message="a backslash in double quotes begins an escape, and this is none",
        why='inside "…" YAML knows \\n, \\t, \\", \\\\, \\u263a and a few more',
        fix="use single quotes, where a backslash is only a backslash, or write \\\\",
        start=scene.at,
        end=scene.at + 1,
    )


def indentation(scene: Scene) -> Mistake | None:
    words = ("did not find expected key", "did not find expected '-' indicator", "violates indentation")
    start = scene.start_of(scene.fault.place.line) + len(scene.line) - len(scene.line.lstrip())
    if not any(word in scene.problem for word in words) or start != scene.at or not scene.line.strip():
        return None
    what = "list" if "'-'" in scene.problem or "collection" in scene.context else "mapping"
    return Mistake(
        message="the indentation of this line fits none of the lines above it",
        why=f"it would belong to the {what} that begins on line {scene.begin_line}",
        fix="indent it exactly like the line it belongs beside",
        start=start,
        end=scene.start_of(scene.fault.place.line) + len(scene.line.rstrip()),
    )


def control_character(scene: Scene) -> Mistake | None:
    character = scene.fault.facts.get("character")
    if not character:
        return None
    return Mistake(
        message=f"the character {character} may not stand in YAML",
        why="it cannot be seen, and YAML allows no such characters",
        fix=f'delete it, or write "\\u{character[2:].zfill(4)}" in double quotes',
        start=scene.at,
        end=scene.at + 1,
    )


def other(scene: Scene) -> Mistake:
    """libyaml's own words, for a mistake that is none of the above."""
    context = f" {scene.context}, which begins on line {scene.begin_line}" if scene.context else ""
    return Mistake(
        message=f"not YAML: {scene.problem or 'it cannot be read'}",
        why=f"found{context}" if context else "",
        fix="look at this line and the one before it: quotes, colons, brackets, indentation",
        start=scene.at,
        end=scene.at + 1,
    )


MISTAKES: tuple[Callable[[Scene], Mistake | None], ...] = (
    control_character,
    tab,
    bare_template,
    open_quote,
    bad_escape,
    value_with_colon,
    colon_without_space,
    too_deep,
    open_bracket,
    extra_bracket,
    item_beside_key,
    unknown_alias,
    second_anchor,
    bad_beginning,
    no_key,
    after_quote,
    indentation,
)
