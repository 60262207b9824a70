"""What only results in files have: modes, names, atomicity, a disk that is full."""

import errno
import os
import stat
import subprocess
import sys
import textwrap

import pytest

from noetl.errors import DiskFull, ReferenceCorrupt, StoreUnusable
from noetl.results.files import FileResults, write_faults

PAYLOAD = b"payload"


def files_under(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


async def test_files_and_folders_are_private(tmp_path):
    root = tmp_path / "results"

    await FileResults(root).store(PAYLOAD)

    (file,) = files_under(root)
    assert (mode(file), mode(file.parent), mode(root)) == (0o600, 0o700, 0o700)


async def test_a_file_is_named_by_its_content(tmp_path):
    reference = await FileResults(tmp_path).store(PAYLOAD)

    (file,) = files_under(tmp_path)
    assert f"sha256:{file.parent.name}{file.name}" == reference.locator
    assert file.read_bytes() == PAYLOAD


async def test_the_same_payload_is_not_written_again(tmp_path):
    results = FileResults(tmp_path)
    await results.store(PAYLOAD)
    (file,) = files_under(tmp_path)
    before = file.stat().st_ino

    await results.store(PAYLOAD)
    await results.store_stream([PAYLOAD])

    assert files_under(tmp_path) == [file]
    assert file.stat().st_ino == before


async def test_a_stream_that_breaks_off_leaves_no_file(tmp_path):
    def broken():
        yield PAYLOAD
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await FileResults(tmp_path).store_stream(broken())

    assert files_under(tmp_path) == []


async def test_a_link_in_the_place_of_a_payload_is_not_followed(tmp_path):
    results = FileResults(tmp_path / "results")
    reference = await results.store(PAYLOAD)
    (file,) = files_under(tmp_path / "results")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(PAYLOAD)
    file.unlink()
    file.symlink_to(elsewhere)

    with pytest.raises(ReferenceCorrupt):
        await results.fetch(reference)


@pytest.mark.spec("RS-08")
async def test_what_a_crash_left_half_written_is_walked_and_removed(tmp_path):
    results = FileResults(tmp_path)
    left = tmp_path / f".incoming-{'a' * 16}"
    left.write_bytes(PAYLOAD)
    (tmp_path / "readme.txt").write_bytes(b"not ours")

    found = [kept async for kept in results.walk()]

    assert [(kept.locator, kept.bytes) for kept in found] == [(left.name, len(PAYLOAD))]
    assert await results.remove(left.name, stored_before=found[0].stored_at + 1)
    assert files_under(tmp_path) == [tmp_path / "readme.txt"]
    assert not await results.remove("readme.txt", stored_before=float("inf"))


async def test_a_file_stored_again_after_the_look_at_its_time_gets_its_name_back(tmp_path, monkeypatch):
    results = FileResults(tmp_path)
    reference = await results.store(PAYLOAD)
    (file,) = files_under(tmp_path)
    os.utime(file, (1, 1))
    rename = type(file).replace

    def store_first(path, target):
        if path == file:
            os.utime(file)
        return rename(path, target)

    monkeypatch.setattr(type(file), "replace", store_first)

    assert not await results.remove(reference.locator, stored_before=100.0)
    assert await results.fetch(reference) == PAYLOAD
    assert files_under(tmp_path) == [file]


@pytest.mark.parametrize("way", ["store(data)", "store_stream([data[:9], data[9:]])"])
def test_a_full_disk_leaves_no_file_and_the_next_payload_is_stored(tmp_path, way):
    script = f"""
        import asyncio, pathlib, resource
        from noetl.errors import DiskFull
        from noetl.results.files import FileResults

        async def main():
            results = FileResults(pathlib.Path({str(tmp_path)!r}))
            data = bytes(100_000)
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
            try:
                await results.{way}
            except DiskFull:
                print("full")
            await results.store(b"small")

        asyncio.run(main())
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout, done.returncode) == ("full\n", 0), done.stderr
    (file,) = files_under(tmp_path)
    assert file.read_bytes() == b"small"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG], ids=errno.errorcode.get)
def test_no_space_a_quota_and_a_size_limit_are_all_a_full_disk(tmp_path, number):
    with pytest.raises(DiskFull, match=str(tmp_path)), write_faults(tmp_path):
        raise OSError(number, os.strerror(number))


async def test_a_root_that_is_no_folder_is_refused_with_what_to_do(tmp_path):
    root = tmp_path / "results"
    root.write_bytes(b"")

    with pytest.raises(StoreUnusable, match="NOETL_HOME"):
        await FileResults(root).store(PAYLOAD)
