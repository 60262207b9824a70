"""Worker processes as a user starts them, over a real NATS, before an office in the test's own process.

The office (`noetl.testing.office`) hands out jobs of one playbook and keeps what it is told. It ends no lease by
itself: a test says when a worker is taken to be lost.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from noetl.control.catalog import Text
from noetl.engine.commands import Work
from noetl.engine.events import name_of
from noetl.engine.state import Progress
from noetl.queues.contract import PlaybookText
from noetl.testing.nats_stage import NatsStage
from noetl.testing.office import TOKEN, Office
from noetl.testing.waiting import until

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"


class Stage:
    """One office on NATS, and the workers before it."""

    def __init__(self, nats: NatsStage, folder: Path) -> None:
        self.nats = nats
        self.folder = folder
        self.office = Office()
        self.workers: list[asyncio.subprocess.Process] = []
        self._runs = 0
        (folder / "worker.token").write_text(TOKEN, encoding="ascii")
        (folder / "worker.token").chmod(0o600)

    async def start(self, *words: str, **variables: str) -> asyncio.subprocess.Process:
        """`noetl worker start`, ready to take jobs."""
        environ = {
            **os.environ,
            "NOETL_HOME": str(self.folder),
            "NOETL_QUEUE_URL": self.nats.url,
            "NOETL_QUEUE_PREFIX": self.nats.prefix,
            "NOETL_LOG_FORMAT": "json",
            **variables,
        }
        command = (sys.executable, "-m", "noetl", "worker", "start", *words)
        with (self.folder / "worker.log").open("ab") as log:
            worker = await asyncio.create_subprocess_exec(*command, env=environ, stderr=log, start_new_session=True)
        self.workers.append(worker)
        return worker

    async def enrolled(self, count: int) -> list[int]:
        """The processes of the first so many workers that were let in."""
        return await until(lambda: len(self.processes) >= count and self.processes)

    @property
    def processes(self) -> list[int]:
        return list(dict.fromkeys(profile.pid for profile in self.office.enrolled))

    def playbook(self, body: str) -> str:
        text = Text(data=(HEAD + body).encode(), name="t.yaml")
        self.office.playbooks[text.sha] = PlaybookText(data=text.data, name=text.name)
        return text.sha

    async def give(self, sha: str, count: int = 1, **fields: Any) -> None:
        """Hand out so many jobs of the playbook's step `start`."""
        for _ in range(count):
            self._runs += 1
            progress = Progress(ctx={})
            work = Work(
                execution_id=1, run=self._runs, iter=-1, lease=0, step="start", sha=sha, progress=progress, **fields
            )
            await self.office.add(work)

    def events(self, name: str) -> list[Any]:
        return [event for _, report in self.office.reports for event in report.events if name_of(event) == name]

    def log(self) -> list[dict[str, Any]]:
        lines = (self.folder / "worker.log").read_bytes().splitlines()
        return [msgspec.json.decode(line) for line in lines if line.startswith(b"{")]

    def actions(self) -> list[str]:
        return [line.get("action", "") for line in self.log()]

    async def close(self) -> None:
        for worker in self.workers:
            if worker.returncode is None:
                worker.send_signal(signal.SIGKILL)
                await worker.wait()
        await self.nats.close()


@asynccontextmanager
async def staged(nats_url: str, folder: Path) -> AsyncIterator[Stage]:
    nats = NatsStage(nats_url)
    stage = Stage(nats, folder)
    await nats.server(stage.office)
    try:
        yield stage
    finally:
        await stage.close()


def is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process_id}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
