"""Kind resolve on large lists: a part is taken out as the list passes, and the list never is in memory."""

import json
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.output import Output
from noetl.references import JSON, LINES, Reference
from noetl.results.files import FileResults
from noetl.testing.hands import call, hands, run
from noetl.tools import resolve, resolve_tool
from noetl.tools.contract import ToolSettings
from noetl.tools.resolve_parts import Part, part_of

COUNT = 30_000
ROWS = [{"id": number, "name": f"row, {number}", "tags": ["a", number]} for number in range(COUNT)]
CSV_HEAD = "id,name\n"


def array() -> Iterator[bytes]:
    yield json.dumps(ROWS).encode()


def lines() -> Iterator[bytes]:
    yield "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def table() -> Iterator[bytes]:
    yield (CSV_HEAD + "".join(f'{row["id"]},"{row["name"]}"\n' for row in ROWS)).encode()


FORMS = {JSON: array, LINES: lines, "text/csv; charset=utf-8": table}


@pytest.fixture
def results(tmp_path: Path) -> FileResults:
    return FileResults(tmp_path)


async def resolved(results: FileResults, reference: Reference, *, bytes_max: int = 64 * 1024, **part: Any) -> Output:
    tool = resolve.make(hands(settings=ToolSettings(result_bytes_max=bytes_max)))
    return await run(tool, call(resolve.KIND, results=results, ref=reference.as_data(), **part))


def seen(form: str, rows: Any) -> Any:
    """Rows as a form gives them: a table knows texts only."""
    return [{"id": str(row["id"]), "name": row["name"]} for row in rows] if form.startswith("text/csv") else rows


@pytest.mark.spec("TL-05")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "bounds",
    [[0, 3], [20_000, 20_003], [-3, None], [-5, -2], [29_999, None], [40_000, None], [3, 1], [-2, 29_999], "5:7"],
    ids=str,
)
async def test_a_slice_of_a_list_over_the_bound_comes_back(results: FileResults, form: str, bounds: Any) -> None:
    reference = await results.store_stream(FORMS[form](), form)
    start, end = bounds if isinstance(bounds, list) else (5, 7)

    output = await resolved(results, reference, slice=bounds)

    assert output.error is None
    assert output.data == seen(form, ROWS[start:end])


@pytest.mark.spec("TL-05")
async def test_a_path_goes_through_one_element(results: FileResults) -> None:
    reference = await results.store_stream(array())

    name = await resolved(results, reference, path="25000.name")
    tags = await resolved(results, reference, path="25000.tags", slice=[1, None])
    nowhere = await resolved(results, reference, path="30000.name")

    assert name.data == "row, 25000"
    assert tags.data == [25_000]
    assert nowhere.error is not None
    assert nowhere.error.kind == "not_found"


@pytest.mark.spec("TL-05")
@pytest.mark.parametrize("bounds", [[0, 20_000], [-20_000, None], [10, -1]], ids=str)
async def test_a_part_that_is_too_large_is_refused(results: FileResults, bounds: list[int | None]) -> None:
    reference = await results.store_stream(array())

    output = await resolved(results, reference, slice=bounds)

    assert output.error is not None
    assert output.error.kind == "limit"
    assert "take less" in output.error.message


@pytest.mark.spec("TL-05")
async def test_a_whole_list_over_the_bound_is_refused(results: FileResults) -> None:
    reference = await results.store_stream(array())

    output = await resolved(results, reference)

    assert output.error is not None
    assert output.error.kind == "limit"


@pytest.mark.spec("TL-05")
@pytest.mark.parametrize("place", [100, -100], ids=["before the part", "after the part"])
async def test_damage_is_noticed_wherever_it_is(results: FileResults, tmp_path: Path, place: int) -> None:
    reference = await results.store_stream(array())
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)

    output = await resolved(results, reference, slice=[10, 12])

    assert output.error is not None
    assert output.error.kind == "ref_corrupt"


@pytest.mark.parametrize(("form", "content"), [(JSON, b"[1, 2, x]"), (LINES, b"1\n{\n"), ("text/csv", b'a,b\n"1,2\n')])
async def test_what_is_not_what_it_is_said_to_be_is_damaged(
    results: FileResults, form: str, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve_tool, "STREAM_BYTES_MIN", 0)
    reference = await results.store(content, form)

    output = await resolved(results, reference, slice=[0, 10])

    assert output.error is not None
    assert output.error.kind == "ref_corrupt"


async def test_a_large_mapping_is_read_whole_and_only_within_the_bound(results: FileResults) -> None:
    reference = await results.store(json.dumps({"rows": ROWS}).encode())

    refused = await resolved(results, reference, path="rows", slice=[0, 2])
    read = await resolved(results, reference, path="rows", slice=[0, 2], bytes_max=8 * 1024 * 1024)

    assert refused.error is not None
    assert refused.error.kind == "limit"
    assert read.data == ROWS[:2]


@pytest.mark.spec("TL-05")
async def test_memory_does_not_grow_with_the_list(results: FileResults) -> None:
    def many() -> Iterator[bytes]:
        yield b"[0"
        for _ in range(16):
            yield (',"' + "x" * 1000 + '"').encode() * 1000
        yield b"]"

    reference = await results.store_stream(many())
    tracemalloc.start()
    try:
        output = await resolved(results, reference, slice=[-2, None])
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert reference.bytes is not None
    assert reference.bytes > 16_000_000
    assert output.data == ["x" * 1000] * 2
    assert peak_bytes < 10_000_000


@given(
    count=st.integers(0, 12),
    sizes=st.lists(st.integers(1, 4), max_size=12),
    start=st.none() | st.integers(-15, 15),
    end=st.none() | st.integers(-15, 15),
)
async def test_a_slice_of_batches_is_that_of_the_list(
    count: int, sizes: list[int], start: int | None, end: int | None
) -> None:
    items = list(range(count))

    async def batches() -> AsyncIterator[list[int]]:
        rest = items
        for size in sizes:
            yield rest[:size]
            rest = rest[size:]
        yield rest

    found = await Part(bounds=(start, end)).of_batches(batches(), 10_000)  # type: ignore[arg-type]

    assert found == items[start:end]


def test_what_is_asked_for_is_read_once() -> None:
    assert part_of(None, None).is_whole
    assert part_of("a.0.b", [None, 3]) == Part(path=("a", "0", "b"), bounds=(None, 3))
    assert part_of("7", None).index == 7
