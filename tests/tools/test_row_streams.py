"""Bytes in pieces → rows in batches: any pieces give the same rows, and what cannot be read says which row."""

import csv
import io
import json
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.tools.copy_text import Special, array_literal, copy_text
from noetl.tools.row_batches import BadRows, Batch, FlatBatch
from noetl.tools.row_streams import batches, batches_to_copy

NAMES = ("id", "näme", "a b")
VALUES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.lists(st.integers(0, 9))
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES)), min_size=1, max_size=20)


async def pieces(data, size):
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def read(data, row_format, *, size=7, names=None):
    """The rows as lists, in the order of the columns."""
    rows = []
    async for batch in batches(pieces(data, size), row_format, names):
        rows += map(list, zip(*batch.columns, strict=True))
    return rows


async def fault(data, row_format, **more):
    with pytest.raises(BadRows) as found:
        await read(data, row_format, **more)
    return str(found.value)


@given(rows=ROWS, size=st.integers(1, 50), indent=st.sampled_from((None, 1)), ascii_only=st.booleans())
@pytest.mark.spec("UP-09")
async def test_any_pieces_of_json_give_the_same_rows(rows, size, indent, ascii_only):
    wanted = [[row[name] for name in rows[0]] for row in rows]
    lines = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows).encode()
    array = json.dumps(rows, ensure_ascii=ascii_only, indent=indent).encode()

    assert await read(lines, "ndjson", size=size) == wanted
    assert await read(array, "json", size=size) == wanted


@given(
    cells=st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"), min_size=1), min_size=2, max_size=2
        ),
        min_size=1,
        max_size=20,
    ),
    size=st.integers(1, 40),
)
async def test_any_pieces_of_csv_give_the_same_rows(cells, size):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["a", "b"], *cells])

    assert await read(text.getvalue().encode(), "csv", size=size) == cells


async def test_nested_rows_longer_than_a_piece_are_found():
    rows = [{"id": number, "lines": [{"n": {"m": [one]}} for one in range(50)]} for number in range(40)]

    found = await read(json.dumps(rows).encode(), "json", size=100)

    assert [row[0] for row in found] == list(range(40))
    assert found[39][1] == rows[39]["lines"]


async def test_no_digit_of_a_number_is_lost():
    amount = "12345678901234567890.123456789"

    rows = await read(f'{{"amount": {amount}, "more": [{amount}]}}'.encode(), "ndjson")

    assert rows == [[Decimal(amount), [Decimal(amount)]]]
    assert (
        copy_text(Batch(names=("a", "b"), columns=[[rows[0][0]], [rows[0][1]]])) == f"{amount}\t[{amount}]\n".encode()
    )


async def test_columns_choose_and_what_a_row_lacks_is_null():
    rows = await read(b'{"a": 1, "b": 2}\n\n{"b": 3, "c": 4}\n', "ndjson", names=["c", "a"])

    assert rows == [[None, 1], [4, None]]


async def test_empty_sources_have_no_rows():
    assert [await read(data, name) for data, name in ((b"\n\n", "ndjson"), (b" [ ] ", "json"), (b"a,b\n", "csv"))] == [
        []
    ] * 3


@pytest.mark.parametrize(
    ("data", "row_format", "words"),
    [
        (b'{"a": 1}\n{"a": }\n', "ndjson", "row 2 is not valid JSON"),
        (b'{"a": 1}\n{"a": 2', "ndjson", "row 2 is not valid JSON"),
        (b'{"a": 1}\n[2]\n', "ndjson", "row 2 cannot be used"),
        (b'{"a": 1}\n{"b": 2}\n', "ndjson", "unknown field `b`"),
        (b'"text"\n', "ndjson", "row 1 is no mapping of column to value, but text"),
        (b'{"a": "\xff"}\n', "ndjson", "row 1 is not valid JSON"),
        (b'{"a\\"b": 1}\n', "ndjson", "rename it at the source"),
        (b'{"a": 1}', "json", "must be a JSON array"),
        (b'[{"a": 1}', "json", "does not end"),
        (b'[{"a": 1} {"a": 2}]', "json", "comma after row 1"),
        (b'[{"a": 1},]', "json", "comma after row 1"),
        (b"[[1, 2]]", "json", "row 1 is no mapping"),
        (b"", "json", "there is none"),
        (b"a,b\n1\n", "csv", "row 1 has 1 columns, but the header has 2"),
        (b'a\n"x', "csv", "not valid CSV"),
        (b"a\n\xff\n", "csv", "UTF-8"),
    ],
)
async def test_rows_that_cannot_be_read_say_which(data, row_format, words):
    assert words in await fault(data, row_format)


async def test_a_column_that_csv_lacks_is_named():
    assert 'no column "c"; it has: a, b' in await fault(b"a,b\n1,2\n", "csv", names=["c"])


async def test_only_line_breaks_of_csv_end_its_rows():
    text = "id,note\n1,a\u2028b\x0bc\x85d\n"

    assert await read(text.encode(), "csv") == [["1", "a\u2028b\x0bc\x85d"]]


async def test_a_long_cell_of_csv_is_read_as_any_row_is():
    cell = "x" * 200_000

    assert await read(f"id,note\n1,{cell}\n".encode(), "csv", size=65_536) == [["1", cell]]


async def test_a_quote_that_never_closes_costs_one_pass_over_a_piece():
    rows = b'note\n"' + b"x\n" * 400_000
    started_at = time.process_time()

    message = await fault(rows, "csv", size=65_536)

    assert "unexpected end of data" in message
    assert time.process_time() - started_at < 5  # a walk back line by line takes minutes


async def test_a_row_without_an_end_is_not_held_for_ever(monkeypatch):
    monkeypatch.setattr("noetl.tools.row_batches.ROW_BYTES_MAX", 1000)

    for data, row_format in ((b'{"a": "' + b"x" * 3000, "ndjson"), (b'[{"a": "' + b"x" * 3000, "json")):
        assert "longer than 1000 bytes" in await fault(data, row_format, size=100)


def test_copy_escapes_what_would_end_a_value_or_a_row():
    batch = Batch(names=("a", "b"), columns=[["x\ty\nz\r\\", None], [{"k": 'q"\\'}, True]])

    assert copy_text(batch) == b'x\\ty\\nz\\r\\\\\t{"k":"q\\\\"\\\\\\\\"}\n\\N\ttrue\n'


def test_a_list_for_an_array_column_is_an_array():
    assert array_literal([1, None, 'a"b\\', [True]]) == '{"1",NULL,"a\\"b\\\\",{"true"}}'


NUMBERS = st.sampled_from(["1.10", "1e5", "0.00000001", "-2E-7", "12345678901234567890.5", "7"])
FLAT_VALUES = st.text(max_size=5) | st.sampled_from(["construed", "null", "[x]", "True"]) | NUMBERS | st.booleans()


def line_of(row, raw):
    """A row as JSON, numbers as they are in `raw`."""
    cells = [f"{json.dumps(name)}: {value if name in raw else json.dumps(value)}" for name, value in row.items()]
    return "{" + ", ".join(cells) + "}"


@given(
    rows=st.lists(st.fixed_dictionaries({"n": NUMBERS, "t": FLAT_VALUES, "b": st.booleans() | st.none()}), min_size=1),
    size=st.integers(1, 200),
    row_format=st.sampled_from(("ndjson", "json")),
)
async def test_rows_are_copied_as_the_same_text_with_and_without_a_look_at_each_value(rows, size, row_format):
    lines = [line_of(row, {"n"}) for row in rows]
    data = ("\n".join(lines) if row_format == "ndjson" else f"[{', '.join(lines)}]").encode()
    special = Special(booleans=frozenset("b"))
    looked_at = [copy_text(batch, special) async for batch in batches(pieces(data, size), row_format)]

    found = [copy_text(batch, special) async for batch in batches_to_copy(pieces(data, size), row_format, None, {"b"})]

    assert b"".join(found) == b"".join(looked_at)


async def test_plain_rows_need_no_look_at_each_value_and_others_do():
    sorts = {
        b'{"a": 1.50, "b": true}\n{"a": 2, "b": false}\n': FlatBatch,
        b'{"a": 1.50, "b": null}\n': Batch,
        b'{"a": true, "b": 1}\n': Batch,
        b'{"a": "construed", "b": 1}\n': Batch,
        b'{"a": {"c": 1}, "b": 1}\n': Batch,
        b'{"a": "x\\ty", "b": 1}\n': Batch,
    }

    for data, sort in sorts.items():
        found = [batch async for batch in batches_to_copy(pieces(data, 100), "ndjson", None, {"b"})]
        assert [type(batch) for batch in found] == [sort], data
