"""Whatever is kept in a folder is lost with the folder's name, so that is on disk first."""

from pathlib import Path

import pytest

from noetl.results.files import FileResults
from noetl.stores.disk import prepare_folder
from noetl.testing.crash_images import Trace, recording
from noetl.testing.crash_images.sqlite_calls import UnreachableLibrary
from noetl.testing.crash_images.trace import FolderMade, FolderSynced, folder_of


def fleeting(trace: Trace) -> set[str]:
    """Folders that were made, and whose names a failure of power may still take."""
    found: set[str] = set()
    for entry in trace.entries:
        if isinstance(entry, FolderMade):
            found.add(entry.name)
        elif isinstance(entry, FolderSynced):
            found = {name for name in found if folder_of(name) != entry.name}
    return found


@pytest.fixture
def trace(tmp_path: Path):
    try:
        with recording(tmp_path) as found:
            yield found
    except UnreachableLibrary as error:
        pytest.skip(f"the calls of this Python's SQLite cannot be seen: {error}")


def test_the_folders_of_a_new_home_last(tmp_path: Path, trace: Trace) -> None:
    prepare_folder(tmp_path / "project" / ".noetl")

    assert [entry.name for entry in trace.entries if isinstance(entry, FolderMade)] == ["project", "project/.noetl"]
    assert fleeting(trace) == set()


@pytest.mark.spec("RS-01")
async def test_the_folders_of_a_stored_result_last(tmp_path: Path, trace: Trace) -> None:
    await FileResults(tmp_path / "noetl.results").store(b"[1, 2, 3]")

    assert sum(isinstance(entry, FolderMade) for entry in trace.entries) == 2
    assert fleeting(trace) == set()


@pytest.mark.spec("RS-01")
async def test_a_folder_that_a_process_left_unfinished_lasts_once_another_has_stored_in_it(
    tmp_path: Path, trace: Trace
) -> None:
    data, results = b"[1, 2, 3]", tmp_path / "noetl.results"
    reference = await FileResults(tmp_path / "elsewhere").store(data)
    (results / str(reference.sha256)[:2]).mkdir(parents=True)

    await FileResults(results).store(data)

    assert fleeting(trace) == set()
