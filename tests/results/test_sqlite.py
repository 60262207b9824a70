"""What only results in SQLite have: one private file, shared by processes, that gives space back."""

import asyncio
import math
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from noetl.errors import StoreUnusable
from noetl.results.blobs import Place
from noetl.results.sqlite import SqliteResults

PLACE = Place(type="relational", prefix="sqlite:sha256:")
LARGE = bytes(range(256)) * 20_000


def results_in(file: Path) -> SqliteResults:
    return SqliteResults(file, PLACE)


async def test_the_file_is_private(tmp_path: Path) -> None:
    results = results_in(tmp_path / "deep" / "results.db")

    await results.store(LARGE)

    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "deep").iterdir()} == {0o600}
    await results.close()


@pytest.mark.spec("RS-08")
async def test_removing_gives_space_back(tmp_path: Path) -> None:
    results = results_in(tmp_path / "results.db")
    reference = await results.store(LARGE)

    await results.remove(reference.locator, stored_before=math.inf)

    await results.close()
    assert (tmp_path / "results.db").stat().st_size < len(LARGE) / 10


async def test_what_is_stored_goes_on_after_whoever_waits_for_it_is_cancelled(tmp_path: Path) -> None:
    results = results_in(tmp_path / "results.db")
    storing = asyncio.ensure_future(results.store(LARGE))
    await asyncio.sleep(0)

    storing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await storing
    reference = await results.store(LARGE)
    assert await results.fetch(reference) == LARGE
    await results.close()


async def test_a_file_that_is_no_database_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "results.db").write_bytes(b"not a database" * 100)
    results = results_in(tmp_path / "results.db")

    with pytest.raises(StoreUnusable, match=r"results\.stores"):
        await results.store(LARGE)

    await results.close()


@pytest.mark.slow
async def test_processes_store_and_remove_beside_one_another(tmp_path: Path) -> None:
    script = f"""
        import asyncio, math, pathlib, sys
        from noetl.results.blobs import Place
        from noetl.results.sqlite import SqliteResults

        async def main():
            place = Place(type="relational", prefix="sqlite:sha256:")
            results = SqliteResults(pathlib.Path({str(tmp_path)!r}) / "results.db", place)
            for number in range(5):
                shared = await results.store(b"shared" * 400_000)
                own = await results.store(sys.argv[1].encode() * 1000)
                await results.fetch(shared)
                assert await results.remove(own.locator, stored_before=math.inf)
            await results.close()

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]

    running = [subprocess.Popen([*command, str(number)], stderr=subprocess.PIPE, text=True) for number in range(4)]
    ended = [process.communicate(timeout=60)[1] for process in running]

    assert ended == [""] * 4
    results = results_in(tmp_path / "results.db")
    assert [kept.bytes async for kept in results.walk()] == [6 * 400_000]
    await results.close()
