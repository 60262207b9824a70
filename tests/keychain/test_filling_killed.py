"""A change of the strongbox that is killed half-way is taken back by whoever reads next."""

import asyncio
import subprocess
import sys

import pytest

from noetl.keychain.strongbox_sqlite import SqliteStrongbox
from tests.keychain.filling import row


@pytest.mark.slow
@pytest.mark.spec("KC-05")
async def test_a_half_written_change_is_taken_back_by_the_next_reader(tmp_path):
    path = tmp_path / "keychain.db"
    box = SqliteStrongbox(path)
    await box.change(lambda turn: turn.put(row("kept")))
    command = [sys.executable, "-m", "tests.keychain.filling", str(path)]
    await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)
    was_cut_short = path.with_name("keychain.db-journal").exists()

    found = [one.name for one in await box.rows()]

    assert was_cut_short
    assert found == ["kept"]
