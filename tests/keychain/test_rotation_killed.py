"""A rotation that is killed at any of its steps loses nothing, and the next one cleans up after it."""

import asyncio
import signal
import subprocess
import sys

import pytest

from noetl.clock import SystemClock
from noetl.config import load
from noetl.keychain.key_file import KeyFile
from noetl.keychain.local import stored_credentials
from noetl.keychain.stored import Credential
from tests.keychain.rotating import MOMENTS

NAMES = ("a", "b", "c")


@pytest.fixture
def stored(tmp_path):
    return stored_credentials(load(home=str(tmp_path), environ={}, folder=tmp_path), {}, SystemClock())


async def fields_of_all(stored):
    return [(await stored.read(name))[1] for name in NAMES]


@pytest.mark.slow
@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_killed_rotation_loses_nothing(stored, tmp_path, moment):
    given = [{"token": f"planted-{name}"} for name in NAMES]
    await stored.set_all(
        [Credential(name=name, kind="bearer", fields=one) for name, one in zip(NAMES, given, strict=True)]
    )

    command = [sys.executable, "-m", "tests.keychain.rotating", str(tmp_path), moment]
    killed = await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)

    assert killed.returncode == -signal.SIGKILL
    assert await fields_of_all(stored) == given
    await stored.rotate()
    assert await fields_of_all(stored) == given
    assert len(KeyFile(tmp_path / "keychain.keys").load().keys) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keychain.db", "keychain.keys"]
