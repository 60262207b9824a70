"""A failure of power at any moment: what was acknowledged is there, the log holds, and the work goes on from it."""

from pathlib import Path

import pytest

from noetl.results import files
from noetl.testing.crash_images import CrashImage, Trace, drawn
from noetl.testing.crash_images.images import SECTOR_BYTES
from noetl.testing.crash_images.sqlite_calls import UnreachableLibrary
from noetl.testing.crash_images.trace import FolderMade, FolderSynced, Synced, Truncated, Wrote
from tests.simulation.crash_trial import tried
from tests.simulation.crash_workload import OFF, Recording, recorded

IMAGES, GROUPS = 200, 4
FORGETFUL_IMAGES = 50
SEEDS = range(500)


async def recording_in(folder: Path, **options: str) -> Recording:
    folder.mkdir()
    try:
        return await recorded(folder, **options)
    except UnreachableLibrary as error:
        pytest.skip(f"the calls of this Python's SQLite cannot be seen: {error}")


# --- the product -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("EV-05", "EV-06", "TK-15", "RS-01")
@pytest.mark.parametrize("group", range(GROUPS))
async def test_whatever_a_power_failure_leaves_is_gone_on_with_and_nothing_acknowledged_is_lost(
    tmp_path: Path, group: int
) -> None:
    recording = await recording_in(tmp_path / "recorded")

    verdicts = [await tried(recording, seed) for seed in range(group, IMAGES, GROUPS)]

    assert [str(verdict) for verdict in verdicts if verdict.faults] == []
    assert sum(verdict.image.unsynced for verdict in verdicts) > len(verdicts)
    assert sum(verdict.calls for verdict in verdicts) > len(verdicts)


@pytest.mark.slow
async def test_a_store_that_does_not_sync_is_found_out(tmp_path: Path) -> None:
    recording = await recording_in(tmp_path / "recorded", synchronous=OFF)

    verdicts = [await tried(recording, seed) for seed in range(FORGETFUL_IMAGES)]

    assert sum(bool(verdict.faults) for verdict in verdicts) > FORGETFUL_IMAGES * 0.8


@pytest.mark.slow
async def test_results_whose_names_are_not_synced_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_bring_folder_to_disk", lambda _folder: None)
    recording = await recording_in(tmp_path / "recorded")

    verdicts = [await tried(recording, seed) for seed in range(FORGETFUL_IMAGES)]

    assert any("a result of the log" in fault for verdict in verdicts for fault in verdict.faults)


# --- the recording ---------------------------------------------------------------------------------------------------


async def test_what_is_recorded_is_what_lies_on_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    recording = await recording_in(folder)
    trace = recording.trace

    for file in list(trace.files.values()):
        trace.note(Synced(file=file))
    for name in ("", *(entry.name for entry in trace.entries if isinstance(entry, FolderMade))):
        trace.note(FolderSynced(name=name))
    image = drawn(trace, 0, cut=len(trace.entries))

    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    recorded_files = {name: data for name, data in image.files.items() if not name.endswith(".lock")}
    assert recorded_files
    assert {name: found[name].read_bytes() for name in recorded_files} == recorded_files
    assert {name for name in found if name.startswith("home/noetl.results/")} <= set(recorded_files)


# --- the images ------------------------------------------------------------------------------------------------------


def trace_of(*sizes: int) -> Trace:
    """A file with a write of each size, at the end of the one before."""
    trace = Trace()
    file, offset = trace.created("file"), 0
    trace.note(FolderSynced(name=""))
    for number, size in enumerate(sizes, 1):
        trace.note(Wrote(file=file, offset=offset, data=bytes([number]) * size))
        offset += size
    return trace


def after_all(trace: Trace) -> list[CrashImage]:
    """Images in which all of the trace came to pass."""
    return [drawn(trace, seed, cut=len(trace.entries)) for seed in SEEDS]


def whole(trace: Trace) -> list[bytes]:
    """The file, in those images."""
    return [image.files["file"] for image in after_all(trace)]


def test_the_same_seed_gives_the_same_image() -> None:
    trace = trace_of(700, 5000, 20)

    assert [drawn(trace, seed) for seed in SEEDS] == [drawn(trace, seed) for seed in SEEDS]
    assert len({drawn(trace, seed).files.get("file") for seed in SEEDS}) > 20


def test_what_was_synced_is_kept() -> None:
    trace = trace_of(5000, 700)
    trace.note(Synced(file=1))

    assert set(whole(trace)) == {b"\1" * 5000 + b"\2" * 700}


def test_what_was_not_synced_is_torn_at_sectors() -> None:
    found = whole(trace_of(100, 3 * SECTOR_BYTES))

    assert b"" in found
    assert b"\1" * 100 + b"\2" * 3 * SECTOR_BYTES in found
    torn = [
        data for data in found if data.startswith(b"\1" * 100) and data[SECTOR_BYTES : 2 * SECTOR_BYTES].strip(b"\2")
    ]
    assert {data[100:SECTOR_BYTES] for data in torn} <= {b"\2" * (SECTOR_BYTES - 100), bytes(SECTOR_BYTES - 100), b""}


def test_a_truncation_may_be_lost_until_it_is_synced() -> None:
    trace = trace_of(600)
    trace.note(Synced(file=1))
    trace.note(Truncated(file=1, size_bytes=10))

    assert set(map(len, whole(trace))) == {600, 10}
    trace.note(Synced(file=1))
    assert set(map(len, whole(trace))) == {10}


def test_a_name_may_be_lost_until_its_folder_is_synced() -> None:
    trace = Trace()
    trace.note(FolderMade(name="a"))
    trace.created("a/new")
    trace.renamed("a/new", "a/named")

    names = {tuple(drawn(trace, seed).files) for seed in SEEDS}
    trace.note(FolderSynced(name="a"))
    trace.note(FolderSynced(name=""))

    assert names == {(), ("a/new",), ("a/named",)}
    assert {tuple(image.files) for image in after_all(trace)} == {("a/named",)}


def test_a_file_that_was_renamed_before_it_was_synced_may_be_empty() -> None:
    trace = trace_of(100)
    trace.renamed("file", "named")
    trace.note(FolderSynced(name=""))

    images = after_all(trace)

    assert {image.files["named"] for image in images} == {b"", b"\1" * 100}
