"""Text to nodes: the types of YAML 1.2, exact places, bounds, and never an exception."""

import json
import time
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from noetl.dsl.nodes import Mapping, Scalar, Sequence, plain
from noetl.dsl.read import DEPTH_MAX, NODES_MAX, read

# JSON spells what is above U+FFFF as pairs; the writer below leaves the line breaks of YAML 1.1 unquoted.
TEXTS = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=("Cs", "Zl", "Zp"), exclude_characters="\x85"))
KEYS = TEXTS.filter(lambda text: len(text) < 100)  # YAML wants a key within 1024 characters, escapes included
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def data_of(text: str | bytes) -> object:
    reading = read(text, "f.yaml")
    assert [fault.fault for fault in reading.faults] == []
    return plain(reading.documents[0])


def faults_of(text: str | bytes) -> list[tuple[str, int, int]]:
    return [(fault.fault, fault.place.line, fault.place.column) for fault in read(text, "f.yaml").faults]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("Yes", "Yes"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("2024-01-02", "2024-01-02"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-7", -7),
        ("+7", 7),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1e", "1e"),
        ("=", "="),
        ("'12'", "12"),
        ('"true"', "true"),
        ("0b11", "0b11"),
    ],
)
def test_a_plain_text_has_the_type_of_the_yaml_1_2_core_schema(text: str, value: object) -> None:
    found = data_of(f"key: {text}\n")

    assert found == {"key": value}
    assert type(found["key"]) is type(value)  # type: ignore[index]


@given(DATA)
def test_data_written_as_json_is_read_as_it_was(data: object) -> None:
    assert data_of(json.dumps(data, ensure_ascii=True)) == data


@given(DATA)
def test_data_written_by_a_yaml_1_2_writer_is_read_as_it_was(data: object) -> None:
    stream = StringIO()
    YAML().dump({"data": data}, stream)

    reading = read(stream.getvalue(), "f.yaml")

    assert {fault.fault for fault in reading.faults} <= {"not-yaml", "number-kept-as-text"}
    if not reading.faults:
        assert plain(reading.documents[0]) == {"data": data}


def test_anchors_and_merge_keys_work_and_what_is_written_wins() -> None:
    text = "base: &b {a: 1, b: 2}\nmore: &m {b: 3, c: 4}\nall: {<<: [*b, *m], a: 9}\nsame: *b\n"

    assert data_of(text) == {
        "base": {"a": 1, "b": 2},
        "more": {"b": 3, "c": 4},
        "all": {"a": 9, "b": 2, "c": 4},
        "same": {"a": 1, "b": 2},
    }


def test_every_node_knows_where_it_begins_and_ends() -> None:
    reading = read("a: [é, 'x y']\nb:\n  c: {d: 1}\n", "f.yaml")
    root = reading.documents[0]
    assert isinstance(root, Mapping)
    items = root.get("a")
    assert isinstance(items, Sequence)

    assert [tuple(item.place)[1:] for item in items.items] == [(1, 5, 1, 6), (1, 8, 1, 13)]
    assert tuple(items.place)[1:] == (1, 4, 1, 14)
    assert tuple(root.entries["b"].key.place)[1:] == (2, 1, 2, 2)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: 2\na: 3\n", ("duplicate-key", 3, 1)),
        ("a: !!python/name:os.system x\n", ("yaml-tag", 1, 4)),
        ("a: !mine x\n", ("yaml-tag", 1, 4)),
        ("? [a]\n: b\n", ("key-not-text", 1, 3)),
        ("a: {<<: 3}\n", ("merge-not-mapping", 1, 5)),
        ("a: 99999999999999999999\n", ("number-kept-as-text", 1, 4)),
        ("a: .nan\n", ("number-kept-as-text", 1, 4)),
        (b"a: \xff\n", ("not-utf8", 1, 4)),
        ("a: 'x\n", ("not-yaml", 2, 1)),
        ("&a [*a]\n", ("too-large", 1, 1)),
        ("a: *missing\n", ("not-yaml", 1, 4)),
    ],
)
def test_a_fault_of_the_text_is_reported_with_its_place(text: str | bytes, fault: tuple[str, int, int]) -> None:
    assert faults_of(text) == [fault]


@pytest.mark.parametrize("text", ["[" * 1_000_000, "[" * 20_000, "{a: " * 20_000, "- " * 20_000, "? " * 20_000])
def test_a_deep_text_is_a_fault_and_does_not_end_the_process(text: str) -> None:
    start = time.perf_counter()

    assert [name for name, _, _ in faults_of(text)] == ["too-large"]
    assert time.perf_counter() - start < 5


def test_the_depth_bound_is_exact() -> None:
    assert faults_of("[" * DEPTH_MAX + "]" * DEPTH_MAX) == []
    assert [name for name, _, _ in faults_of("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1))] == ["too-large"]


def test_aliases_count_as_often_as_they_are_used() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    assert [name for name, _, _ in faults_of("\n".join(lines))] == ["too-large"]


def test_many_small_documents_are_bounded_too() -> None:
    assert [name for name, _, _ in faults_of("--- a\n" * (NODES_MAX + 1))] == ["too-large"]


def test_a_text_over_a_mebibyte_is_refused() -> None:
    assert [name for name, _, _ in faults_of("a: " + "x" * 1024 * 1024)] == ["too-large"]


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert data_of(b"\xef\xbb\xbfa: 1\n") == {"a": 1}


@given(st.binary(max_size=200))
def test_whatever_bytes_come_in_the_answer_is_a_reading(data: bytes) -> None:
    reading = read(data, "f.yaml")

    assert reading.documents or reading.faults or not data.strip() or data.lstrip().startswith((b"#", b"%", b"\xef"))


STYLES = ("plain", "'", '"', "|", ">", "plain lines", '" lines')
WORDS = st.lists(
    st.sampled_from(["{{ a }}", "x", "é", "it's", 'say "hi"', "back\\slash", "tab", "ctx.b"]), min_size=1, max_size=6
)


def written(words: list[str], style: str) -> str:
    text = " ".join(words)
    if style == "'":
        return "'" + text.replace("'", "''") + "'"
    if style == '"':
        return json.dumps(text, ensure_ascii=True)
    if style == '" lines':
        return json.dumps(text, ensure_ascii=False).replace(" ", "\n    ")
    if style in ("|", ">"):
        return f"{style}-\n    " + "\n    ".join(words)
    return "w " + (text if style == "plain" else "\n    ".join(words))


@given(WORDS, st.sampled_from(STYLES))
def test_a_part_of_a_scalar_is_found_in_the_file_whatever_its_quoting(words: list[str], style: str) -> None:
    source_text = f"k: {written(words, style)}\n"
    reading = read(source_text, "f.yaml")
    root = reading.documents[0] if reading.documents else None
    if reading.faults or not isinstance(root, Mapping) or not isinstance(node := root.get("k"), Scalar):
        return

    for word in ("{{ a }}", "ctx.b", "x"):
        offset = node.text.find(word)
        if offset >= 0:
            place = node.place_at(offset, len(word))
            start = reading.source.index(place.line, place.column)
            assert source_text[start] == word[0]
            assert place.line == source_text.count("\n", 0, start) + 1
