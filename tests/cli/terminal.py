"""A command on a terminal of some width, as a person sees it."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path


def on_terminal(*words: str, home: Path, columns: int = 80, rows: int = 24, **environ: str) -> str:
    """All that a command writes to a terminal, standard output and standard error together."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    env = {**os.environ, "NOETL_HOME": str(home / ".noetl"), "TERM": "xterm-256color", **environ}
    env = {
        name: value for name, value in env.items() if name not in ("COLUMNS", "LINES", "NO_COLOR") or name in environ
    }
    with subprocess.Popen(
        [sys.executable, "-m", "noetl", *words], cwd=home, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        seen = b"".join(iter(lambda: read(ours), b""))
    os.close(ours)
    return seen.decode("utf-8", "replace").replace("\r\n", "\n")


def read(file: int) -> bytes:
    try:
        return os.read(file, 65536)
    except OSError:  # Linux says so when the other end is closed
        return b""
