"""Generated YAML texts, laid out in every way that people do: for what must keep a text's data and comments."""

import json
import re

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

NAMES = ("a", "b", "step", "workflow", "kind", "x_1", "é", "long name", '"quoted"', "'single'", "true", "1.5")
PLAIN = ("1", "0x1F", "~", "", "true", "some text", "a:b", "http://x.y/z#f", "-1.50", "2026-01-02", "on", "x y  z")
QUOTED = (
    '"a # b"',
    "'it''s'",
    '"\\u00e9\\n"',
    "\"{{ a.b == 'c' }}\"",
    "'{{ x }}: y'",
    '"two\n{pad}lines"',
    "'two\n\n{pad}lines'",
)
FLOWS = (
    "{}",
    "[]",
    "{a: 1}",
    "{ a: 1,b: 2 }",
    '{"a":1, b}',
    "[1, 2,]",
    "[a: 1, {b: 2}]",
    "{a: 1, # c\n{pad}b: [x,\n{pad}  y], # d\n{pad}# own\n{pad}}",
    "[ # first\n{pad}1\n{pad}, 2 ]",
    "[\n{pad}text that\n{pad} goes on,\n{pad}'q']",
)
COMMENTS = ("# c", "#c", "# a: b", "#  {{ x }}", "# – é")


@st.composite
def texts(draw: DrawFn) -> str:
    """A text of one or two documents."""
    count = draw(st.integers(1, 2)) if draw(st.booleans()) else 1
    written = [document(draw) for _ in range(count)]
    text = (
        "---\n".join(written)
        if count > 1
        else draw(st.sampled_from(("", "--- # start\n", "# top\n\n\n---\n"))) + written[0]
    )
    ending = draw(st.sampled_from(("", "\n", "\n\n# end", "...\n")))
    return (
        text.removesuffix("\n")
        if not ending and draw(st.booleans())
        else text + ending.lstrip("." if count > 1 else "")
    )


def document(draw: DrawFn) -> str:
    lines = [*trivia(draw, 0), *block(draw, draw(st.integers(1, 3)), draw(st.sampled_from((0, 0, 0, 2))))]
    return "\n".join(lines) + "\n"


def block(draw: DrawFn, depth: int, column: int) -> list[str]:
    lines: list[str] = []
    is_list = draw(st.booleans())
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    for number, name in enumerate(names):
        lines += trivia(draw, column) if number else []
        head = " " * column + ("-" if is_list else name + draw(st.sampled_from((":", ":", " :"))))
        lines += slot(draw, head, depth, column, is_list)
    return lines


def slot(draw: DrawFn, head: str, depth: int, column: int, is_list: bool) -> list[str]:
    choice = draw(st.integers(0, 9))
    if choice < 4 and depth:
        return with_block(draw, head, depth, column, is_list)
    if choice < 6:
        return with_block_scalar(draw, head, column)
    pad = " " * (column + draw(st.integers(1, 4)))
    value = draw(st.sampled_from((*PLAIN, *QUOTED, *FLOWS))).replace("{pad}", pad)
    gap = draw(st.sampled_from((" ", "  ", f"\n{pad}", f" # note\n{pad}# inner\n{pad}"))) if value else ""
    comment = " " + draw(st.sampled_from(COMMENTS)) if draw(st.integers(0, 3)) == 0 else ""
    return (head + gap + value + comment).split("\n")


def with_block(draw: DrawFn, head: str, depth: int, column: int, is_list: bool) -> list[str]:
    inner = column + draw(st.integers(1, 4))
    lines = block(draw, depth - 1, inner)
    if is_list and draw(st.booleans()):
        return [head + lines[0][len(head) :], *lines[1:]]
    anchor = draw(st.sampled_from(("", "", "", f" &a{column}")))
    note = "  " + draw(st.sampled_from(COMMENTS)) if draw(st.integers(0, 3)) == 0 else ""
    if not is_list and not anchor and lines[0].lstrip().startswith("-") and draw(st.booleans()):
        lines = [line[inner - column :] for line in lines]
    return [head + anchor + note, *trivia(draw, inner), *lines]


def with_block_scalar(draw: DrawFn, head: str, column: int) -> list[str]:
    header = draw(st.sampled_from(("|", ">", "|-", ">-", "|+", "|  # c")))
    pad = " " * (column + draw(st.integers(1, 4)))
    lines = draw(st.lists(st.sampled_from(("x = 1", "  deeper", "# no comment", "", "a: b")), min_size=1, max_size=4))
    if lines[0].startswith(" ") or not lines[0]:
        lines = ["first", *lines]
    return [f"{head} {header}", *(pad + line if line else "" for line in lines)]


def trivia(draw: DrawFn, column: int) -> list[str]:
    """Blank lines and comments, as deep as the author liked."""
    found: list[str] = []
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 2, 3)))):
        deeper = draw(st.integers(-2, 4))
        comment = " " * max(0, column + deeper) + draw(st.sampled_from(COMMENTS))
        found.append(draw(st.sampled_from(("", comment))))
    return found


@st.composite
def layouts(draw: DrawFn, data: object) -> str:
    """Given data as a text, laid out at random, with comments and blank lines."""
    return "\n".join([*trivia(draw, 0), *written_block(draw, data, 0)]) + "\n"


def written_block(draw: DrawFn, data: object, column: int) -> list[str]:
    pairs = list(data.items()) if isinstance(data, dict) else [(None, item) for item in data]  # type: ignore[union-attr]
    lines: list[str] = []
    for number, (key, value) in enumerate(pairs):
        lines += trivia(draw, column) if number else []
        head = " " * column + ("-" if key is None else f"{written_scalar(draw, key)}:")
        lines += written_slot(draw, head, value, column, key is None)
    return lines


def written_slot(draw: DrawFn, head: str, value: object, column: int, is_item: bool) -> list[str]:
    comment = " " + draw(st.sampled_from(COMMENTS)) if draw(st.integers(0, 4)) == 0 else ""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 4)) == 0:
        is_literal = isinstance(value, str) and "{{" in value and draw(st.integers(0, 3)) == 0
        if is_literal:
            return [f"{head} {draw(st.sampled_from(('|-', '>-')))}{comment}", " " * (column + 2) + str(value)]
        return [f"{head} {written_flow(draw, value)}{comment}"]
    is_list = isinstance(value, list)
    inner = column + (draw(st.sampled_from((2, 4))) if is_item or not is_list else draw(st.sampled_from((0, 2, 4))))
    lines = written_block(draw, value, inner)
    if is_item and not comment and draw(st.integers(0, 4)):
        return [head + lines[0][len(head) :], *lines[1:]]
    return [head + comment, *trivia(draw, inner), *lines]


def written_flow(draw: DrawFn, value: object) -> str:
    if isinstance(value, dict):
        space = draw(st.sampled_from(("", " ")))
        inside = ", ".join(f"{written_scalar(draw, key)}: {written_flow(draw, item)}" for key, item in value.items())
        return f"{{{space}{inside}{space}}}" if inside else "{}"
    if isinstance(value, list):
        return "[" + draw(st.sampled_from((", ", ","))).join(written_flow(draw, item) for item in value) + "]"
    return written_scalar(draw, value)


def written_scalar(draw: DrawFn, value: object) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    is_plain = re.fullmatch(r"[A-Za-z_][\w./-]*(?: [\w-]+)*", value) and value not in ("true", "false", "null")
    single = "'" + value.replace("'", "''") + "'"
    styles = [
        json.dumps(value, ensure_ascii=False),
        *([] if "\n" in value else [single]),
        *([value] * 4 if is_plain else []),
    ]
    return draw(st.sampled_from(styles))
