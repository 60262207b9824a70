"""What is wrong with the text itself: NL101 to NL109, in the words of an author and at the exact place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.dsl.check import check
from noetl.dsl.findings import Finding, apply_edits
from noetl.dsl.read import BYTES_MAX
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD

BODY = "workflow:\n  - step: start\n    tool: { kind: noop }\n"
PLAYBOOK = HEAD + BODY


def findings(text: str | bytes, code: str = "") -> list[Finding]:
    found = check(text, "t.yaml", declarations).findings
    return [finding for finding in found if finding.code.startswith(code)]


def alone(text: str | bytes) -> Finding:
    found = findings(text)
    assert len(found) == 1, [finding.message for finding in found]
    return found[0]


@pytest.mark.spec("PB-02")
@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a:\n\tb: 1\n", 2, 1, "indented with a tab"),
        ("a:\n  b: 1\n\tc: 2\n", 3, 1, "indented with a tab"),
        ('a: "one\nb: 2\n', 1, 4, "the quote that opens on line 1 is never closed"),
        ("a: 'one\nb: 2\n", 1, 4, "the quote that opens on line 1 is never closed"),
        ("a: [1, 2\nb: 3\n", 1, 4, "the [ on line 1 is not closed"),
        ("a: {x: 1\nb: 3\n", 1, 4, "the { on line 1 is not closed"),
        ('a: {x: "1" y: 2}\n', 1, 12, "a comma or } is missing"),
        ("a: [1]]\n", 1, 7, "this ] closes nothing"),
        ("a: 1\nb: }\n", 2, 4, "this } closes nothing"),
        ("a: b: c\n", 1, 4, 'contains ": "'),
        ("a:1\nb: 2\n", 1, 1, "no space after this colon"),
        ("a: 1\n  b: 2\n", 2, 3, "indented deeper"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "the indentation of this line fits none"),
        ("a: 1\nb\nc: 2\n", 2, 1, "neither `key: value` nor a list item"),
        ("a: @x\n", 1, 4, "cannot begin with @"),
        ("a: `x`\n", 1, 4, "cannot begin with `"),
        ("a: *.csv\n", 1, 4, "cannot begin with *"),
        ("a: >=2\n", 1, 4, "cannot begin with >"),
        ("a: - b\n", 1, 4, "a list item cannot begin on the line of its key"),
        ("a: *x\n", 1, 4, "*x repeats an anchor that does not exist"),
        ("a: &x 1\nb: &x 2\n", 2, 4, "the anchor &x is given twice"),
        ('a: "\\d+"\n', 1, 5, "a backslash in double quotes"),
        ('a: "x" y\n', 1, 8, "text after a closing quote"),
        ("a: é\nb: \x01\n", 2, 4, "U+0001"),
        ("a: {{ x }}/y\n", 1, 4, "begins with a template"),
        ("a: {{ x[0] }}\n", 1, 4, "begins with a template"),
        ("a: {% if x %}y{% endif %}\n", 1, 4, "begins with a template"),
        ("- {{ x }}-{{ y }}\n", 1, 3, "begins with a template"),
        ("a: {b: {{ x[0] }}, c: 1}\n", 1, 8, "begins with a template"),
    ],
)
def test_a_syntax_error_is_told_as_the_mistake_behind_it(text: str, line: int, column: int, words: str) -> None:
    found = alone(text)

    assert found.code == "NL101"
    assert (found.place.line, found.place.column) == (line, column)
    assert words in found.message
    assert found.why
    assert found.fix


@pytest.mark.spec("TP-01")
@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("a: {{ x }}/y # why\n", 'a: "{{ x }}/y" # why\n'),
        ("a: {{ x | default('n') }}\n", "a: \"{{ x | default('n') }}\"\n"),
        ('a: {{ x | default("n") }}\n', "a: '{{ x | default(\"n\") }}'\n"),
        ("a: {b: {{ x }}, c: 1}\n", 'a: {b: "{{ x }}", c: 1}\n'),
        ("- {{ x }}\n- {{ y }}\n", '- "{{ x }}"\n- "{{ y }}"\n'),
        ("a: b: c\n", 'a: "b: c"\n'),
        ("a:1\nb: 2\n", "a: 1\nb: 2\n"),
        ("a: @x\n", 'a: "@x"\n'),
        ("a: !!str 01\n", 'a: "01"\n'),
        ("404: x\n", '"404": x\n'),
        ("a: .inf\n", 'a: ".inf"\n'),
    ],
)
def test_what_is_mechanical_is_repaired_exactly(text: str, repaired: str) -> None:
    after, count = apply_edits(text, findings(text, "NL10"))

    assert count
    assert after == repaired


def test_an_unquoted_template_is_read_as_the_text_that_was_meant() -> None:
    text = PLAYBOOK.replace("kind: noop", "kind: noop, input: { a: {{ workload.a }}, b: {{ wrkload.b }} }")

    found = findings(text)

    assert [finding.code for finding in found] == ["NL101", "NL101", "NL606"]


def test_a_quoted_or_block_template_is_no_mistake() -> None:
    text = PLAYBOOK.replace(
        "{ kind: noop }", "\n      kind: noop\n      desc: |\n        a: {{ x }}: b\n        c: {{ y }}\n"
    )

    assert findings(text, "NL10") == []


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "---\n...\n", "~\n"])
def test_an_empty_file_holds_no_playbook(text: str) -> None:
    assert alone(text).message == "the file is empty"


@pytest.mark.parametrize("text", ["text\n", "- a\n", "12\n", "[]\n", "{}\n", "a: 1\nb: 2\n"])
def test_a_document_of_another_sort_is_told_once(text: str) -> None:
    assert alone(text).code == "NL109"


def test_an_empty_document_at_the_end_means_nothing() -> None:
    assert findings(PLAYBOOK + "---\n") == []


def test_every_document_of_a_file_is_checked() -> None:
    text = f"{PLAYBOOK}---\n{PLAYBOOK.replace('step: start', 'step: output')}"

    assert [(finding.code, finding.place.line) for finding in findings(text)] == [("NL207", 12)]


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: " + "x" * BYTES_MAX, "1,048,579 bytes"),
        ("[" * 100 + "]" * 100, "nested deeper than 64 levels"),
        ("a: &a\n  b: *a\n", "repeats the value itself"),
        ("[" + "a," * 100_001 + "]", "more than 100,000 values"),
    ],
    ids=["bytes", "depth", "cycle", "values"],
)
def test_what_is_too_large_is_refused_before_it_costs_anything(text: str, words: str) -> None:
    found = alone(text)

    assert found.code == "NL103"
    assert words in found.message


@pytest.mark.spec("TP-05")
def test_a_bomb_of_aliases_is_told_where_it_is_used() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]

    found = alone("\n".join(lines))

    assert found.code == "NL103"
    assert found.place.line > 3


def test_what_stands_under_an_anchor_is_told_once() -> None:
    text = PLAYBOOK + "  - &two\n    step: two\n    colour: blue\n    tool: { kind: noop }\n"
    text += "workload:\n  again: [*two, *two]\n"

    assert [finding.code for finding in findings(text, "NL203")] == ["NL203"]


def test_a_merged_key_counts_as_written_and_is_not_moved() -> None:
    workload = "workload:\n  base: &base { url: https://example.com, timeout: 3 }\n"
    workflow = "workflow:\n  - step: start\n    tool:\n      <<: *base\n      kind: http\n"

    found = alone(HEAD + workload + workflow)

    assert (found.code, found.place.line, found.edits) == ("NL126", 5, ())


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028"])
def test_places_are_right_whatever_breaks_the_lines(line_break: str) -> None:
    found = alone(PLAYBOOK.replace("kind: Playbook", "kind: playbook").replace("\n", line_break))

    assert (found.code, found.place.line, found.place.column) == ("NL112", 2, 7)


def test_a_byte_order_mark_moves_nothing() -> None:
    found = alone(b"\xef\xbb\xbf" + PLAYBOOK.replace("v2", "v1").encode())

    assert (found.code, found.place.line, found.place.column) == ("NL111", 1, 13)


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_gets_an_answer(text: str | bytes) -> None:
    assert findings(text)


@pytest.mark.spec("PB-02")
def test_a_second_merge_key_is_a_duplicate_key() -> None:
    merged = "workload:\n  a: &a {x: 1}\n  b: &b {y: 1}\n  c:\n"

    (found,) = findings(PLAYBOOK + merged + "    <<: *a\n    <<: *b\n")

    assert (found.code, found.fix) == ("NL104", "write one << with a list: <<: [*first, *second]")
    assert findings(PLAYBOOK + merged + "    <<: [*a, *b]\n") == []
