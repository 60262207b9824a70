"""Lists read element by element give what json.loads gives, however the bytes are cut."""

import json
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noetl.references import JSON, LINES
from noetl.results import arrays
from noetl.results.arrays import array_chunks, elements

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
SPACES = st.sampled_from([None, 0, 2, "\t"])
CHUNK_SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=20)


async def cut(data, sizes):
    """The bytes in chunks of these sizes, over and over."""
    place = 0
    while place < len(data):
        for size in sizes:
            yield data[place : place + size]
            place += size


async def read(data, content_type=JSON, sizes=(7,), **bounds):
    return [element async for element in elements(cut(data, sizes), content_type, **bounds)]


async def each(parts):
    for part in parts:
        yield part


@given(st.lists(DATA, max_size=8), SPACES, st.booleans(), CHUNK_SIZES)
@example([12, 345], None, False, [2])
@example([1e-7, -0.5, 1.0], None, False, [1])
@example([], 2, False, [1])
@example(["ключ 🜁"], None, False, [1])
async def test_an_array_in_any_chunks_is_read_as_json_reads_it(values, indent, is_ascii, sizes):
    data = b" \n" + json.dumps(values, indent=indent, ensure_ascii=is_ascii).encode(errors="surrogatepass") + b"\r\n"

    assert await read(data, sizes=sizes) == json.loads(data)


@given(st.lists(DATA, max_size=8), CHUNK_SIZES, st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans())
async def test_lines_in_any_chunks_are_read_as_json_reads_them(values, sizes, ending, is_ended):
    text = ending.join(json.dumps(value) for value in values) + (ending if is_ended else "")

    assert await read(text.encode(), LINES, sizes) == values


@given(st.lists(DATA, max_size=50))
async def test_encoded_elements_become_one_array(values):
    parts = [json.dumps(value).encode() for value in values]

    written = b"".join([chunk async for chunk in array_chunks(each(parts))])

    assert json.loads(written) == values


async def test_an_element_in_pieces_is_written_as_it_comes():
    large = each([b'["', b"x" * 100_000, b'"]'])

    chunks = [chunk async for chunk in array_chunks(each([b"1", large, b"2"]))]

    assert json.loads(b"".join(chunks)) == [1, ["x" * 100_000], 2]
    assert len(chunks) > 3


async def test_a_long_array_is_written_in_several_chunks():
    chunks = [chunk async for chunk in array_chunks(each([b'"0123456789"'] * 20_000))]

    assert len(chunks) > 3
    assert json.loads(b"".join(chunks)) == ["0123456789"] * 20_000


@given(st.binary(max_size=30) | st.text(alphabet='[]{},:"1e-. \n', max_size=30).map(str.encode), CHUNK_SIZES)
@example(b"[1,]", [1])
@example(b"[,1]", [1])
@example(b"[1 2]", [2])
@example(b"[1]]", [4])
@example(b"[1", [1])
@example(b'["a', [1])
@example(b"", [1])
@example(b"[\xff]", [1])
async def test_what_json_refuses_is_refused(data, sizes):
    try:
        wanted = json.loads(data.decode())
    except ValueError:
        wanted = None

    if isinstance(wanted, list):
        assert await read(data, sizes=sizes) == wanted
    else:
        with pytest.raises(ValueError, match="the stored"):
            await read(data, sizes=sizes)


@pytest.mark.parametrize("data", [b'{"secret": [1]}', b'"secret"', b"12", b"null"])
async def test_what_is_not_a_list_is_refused_without_showing_it(data):
    with pytest.raises(ValueError, match="is not a list") as caught:
        await read(data)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("data", [b"[NaN]", b"[Infinity]", b"[-Infinity]"])
async def test_numbers_that_are_not_json_are_refused(data):
    with pytest.raises(ValueError, match="not JSON"):
        await read(data)


@pytest.mark.parametrize("data", [b'1\n{"a"\n2', b"1 2\n", b"1,\n2"])
async def test_a_line_that_is_not_one_value_is_refused(data):
    with pytest.raises(ValueError, match="a line"):
        await read(data, LINES)


async def test_an_element_nested_too_deeply_is_refused():
    with pytest.raises(ValueError, match="nested too deeply"):
        await read(b"[" * 100_001, sizes=(100_000,))


@pytest.mark.parametrize(
    ("content_type", "data"),
    [
        (JSON, b'["' + b"x" * 200 + b'"]'),
        (JSON, b"[1" + b" " * 200 + b"]"),
        (JSON, b'["' + b"x" * 200),
        (LINES, b'"' + b"x" * 200 + b'"\n'),
        (LINES, b" " * 200),
    ],
)
async def test_an_element_over_the_bound_is_refused(content_type, data):
    with pytest.raises(ValueError, match="may have 100 characters"):
        await read(data, content_type, element_characters_max=100)


async def test_elements_up_to_the_bound_are_read():
    data = b'["' + b"x" * 98 + b'",' + b'"' + b"y" * 98 + b'"]'

    assert await read(data, element_characters_max=100) == ["x" * 98, "y" * 98]


@pytest.mark.parametrize(
    ("content_type", "head", "joint", "tail"), [(JSON, b"[0", b",", b"]"), (LINES, b"0", b"\n", b"")]
)
async def test_a_long_list_is_read_in_little_memory(content_type, head, joint, tail):
    async def chunks():
        yield head
        for _ in range(60):
            yield (joint + b'{"n": 123456789}') * 500
        yield tail

    tracemalloc.start()
    count = 0
    async for _ in elements(chunks(), content_type):
        count += 1
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 30_001
    assert peak_bytes < 1_000_000


async def test_a_large_element_in_small_chunks_is_not_parsed_with_every_chunk(monkeypatch):
    parsed = 0
    real = arrays._decoded

    def counted(text, place):
        nonlocal parsed
        parsed += 1
        return real(text, place)

    monkeypatch.setattr(arrays, "_decoded", counted)
    data = json.dumps(["x" * 1_000_000]).encode()

    found = await read(data, sizes=(100,))

    assert found == ["x" * 1_000_000]
    assert parsed < 40
