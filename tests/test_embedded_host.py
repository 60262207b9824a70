"""A server over SQLite: what it makes of settings that are meant for a cluster."""

from pathlib import Path

import msgspec
import pytest

from noetl.embedded_host import embedded_host
from tests.control.parts import settings_of


@pytest.mark.parametrize(("queue_url", "count"), [("nats://127.0.0.1:4222", 1), ("", 0)])
async def test_a_queue_that_no_worker_is_served_by_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, queue_url: str, count: int
) -> None:
    settings = msgspec.structs.replace(settings_of(tmp_path), queue_url=queue_url)

    async with embedded_host(settings, "one"):
        warned = [line for line in caplog.records if getattr(line, "action", "") == "queue_without_workers"]

    assert len(warned) == count
