"""Every span is exact, whatever stands around it: white space, line breaks, comments, raw sections, quotes."""

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.expressions import Read, parse, rename

NAMES = st.sampled_from(["ctx", "outcome", "a", "é", "_prev", "ctx2", "日本"])
SPACE = st.sampled_from(["", " ", "\n", "\r\n", "\r", "\t ", "  \n "])
TEXT = st.sampled_from(
    [
        *("", "plain ", "ctx.a ", "\r\n", "\n\n", "{# ctx.a {{ b }} #}", "{#- c -#}", "é\r"),
        *("{% raw %}{{ ctx.a }}{% endraw %}", "{%- raw -%} {{ ctx }} {%- endraw -%}", "{% set zz = 'ctx.a' %}"),
    ]
)


@st.composite
def parts(draw: st.DrawFn) -> str:
    key = draw(st.sampled_from(["x", "data", "items", "ü"]))
    space, more = draw(SPACE), draw(SPACE)
    quoted = draw(st.sampled_from([f"'{key}'", f'"{key}"', "'it\\'s'", '"]"', "'a\\nb'"]))
    number = draw(st.sampled_from(["0", "12", "-1"]))
    return draw(
        st.sampled_from(
            [f".{space}{key}", f"{space}[{more}{quoted}{space}]", f"[{number}]", f"{space}.{more}{key}", ".0"]
        )
    )


PATHS = st.tuples(NAMES, st.lists(parts(), max_size=4).map("".join)).map("".join)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    left = draw(PATHS)
    if depth == 0:
        return left
    right = draw(expressions(depth=depth - 1))
    space = draw(SPACE)
    return draw(
        st.sampled_from(
            [
                left,
                f"{left}[{space}{right}{space}]",
                f"{left} {space}+ {right}",
                f"({left}{space}) ~ 'ctx.a {{{{ x }}}}' ~ {right}",
                f"{left} if ({right}) else {left}",
                f"{left} | default({space}{right})",
                f"{left} is divisibleby ({right})",
                f"[{left},{space}{right}]",
                f"{{'ctx.a':{space}{left}, {right}: 1}}",
                f"{left}.upper({right})",
                f"range({left}, {right})",
                f"{left} == {right} and not {left} in [{right}]",
            ]
        )
    )


@st.composite
def sources(draw: st.DrawFn) -> str:
    holes = draw(
        st.lists(
            st.tuples(TEXT, st.sampled_from(["{{", "{{-", "{{+"]), SPACE, expressions(), SPACE), min_size=1, max_size=3
        )
    )
    close = draw(st.sampled_from(["}}", "-}}"]))
    return "".join(f"{text}{opening} {space}{inner}{more} {close}" for text, opening, space, inner, more in holes)


def spelled(source: str, read: Read) -> list[str | int]:
    """The keys of a read, as its spans spell them."""
    keys: list[str | int] = []
    before = read.end
    for part in read.parts:
        assert source[before : part.offset].strip() == ""
        text = source[part.offset : part.end]
        inner = text[1:].strip() if text[0] == "." else text[1:-1].strip()
        keys.append(ast.literal_eval(inner) if text[0] == "[" or inner.isdecimal() else inner)
        before = part.end
    return keys


@settings(max_examples=100, deadline=None)
@given(sources())
def test_every_read_spells_its_name_and_its_keys(source: str) -> None:
    found = parse(source)

    for read in found.reads:
        assert source[read.offset : read.end] == read.name
        assert spelled(source, read) == [part.key for part in read.parts]
    assert [read.offset for read in found.reads] == sorted({read.offset for read in found.reads})
    for use in (*found.filters, *found.tests):
        assert source[use.offset : use.end] == use.name
    for call in found.calls:
        text = source[call.offset : call.end]
        assert text[-1] == ")"
        assert re.match(rf"\.?\s*{call.method}\s*\(", text)


@settings(max_examples=60, deadline=None)
@given(sources())
def test_renaming_every_name_changes_the_names_and_nothing_else(source: str) -> None:
    reads = parse(source).reads
    renames: dict[tuple[str, ...], str] = {(name,): f"new_{name}.deep" for name in {read.name for read in reads}}

    renamed, edits = rename(source, renames)

    assert len(edits) == len(reads)
    assert [read.path for read in parse(renamed).reads] == [
        (f"new_{read.name}", "deep", *read.path[1:]) for read in reads
    ]
    back = re.sub(r"new_(\w+)\.deep", r"\1", renamed)
    assert back == source


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_breaks_are_kept_and_counted_as_written(newline: str) -> None:
    source = f"one{newline}two {{{{ ctx.a }}}}{newline}{{{{ 'x{newline}y' }}}}{newline}"

    found = parse(source)

    assert source[found.reads[0].offset :].startswith("ctx.a")
    assert found.evaluate({"ctx": {"a": 1}}) == f"one{newline}two 1{newline}x{newline}y{newline}"
