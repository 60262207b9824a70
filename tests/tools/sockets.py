"""Connections that this process has open, as the system sees them."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

TABLE = Path("/proc/net/tcp")
CONNECTED = "01"


def connections_to(url: str) -> set[str]:
    """The sockets of this process that are connected to a server on loopback; none where there is no /proc."""
    if not TABLE.exists():
        return set()
    port = urlsplit(url).port
    rows = [line.split() for line in TABLE.read_text().splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if row[2].endswith(f":{port:04X}") and row[3] == CONNECTED} & mine()


def mine() -> set[str]:
    found = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names only: the listing itself is one of them, and gone
        with suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{name}"))  # noqa: PTH115
    return found
