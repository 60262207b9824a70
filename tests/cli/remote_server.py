"""`noetl server start` in a process of its own, for tests of the command line against a server."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STOP_SECONDS_MAX = 60.0
LISTENS = re.compile(r"the server listens at (\S+)")


class Server:
    """A server over the store of a home; it can be killed and started again on the same port."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.port = 0
        self.url = ""
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None
        self._drain: threading.Thread | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "noetl", "server", "start", "--port", str(self.port)]
        environment = {**os.environ, "NOETL_HOME": str(self.home), **self._settings}
        self._process = subprocess.Popen(
            command, cwd=self.home.parent, env=environment, stderr=subprocess.PIPE, text=True
        )
        said = []
        for line in self._process.stderr:
            said.append(line)
            if found := LISTENS.search(line):
                self.url = found[1]
                self.port = int(self.url.rpartition(":")[2])
                break
        else:
            raise AssertionError("".join(said))
        self._drain = threading.Thread(target=self._process.stderr.read)  # or it would wait for somebody to read
        self._drain.start()

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(STOP_SECONDS_MAX)
            self._drain.join()
            self._process.stderr.close()
            self._process = None


@contextmanager
def serving(home: Path, **settings: str) -> Iterator[Server]:
    """A server as long as this lasts; `settings`: further variables."""
    server = Server(home, **settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()
