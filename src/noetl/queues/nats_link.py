"""The link of a role to the queue, as the settings have it. The only door to the NATS library for queues: what stands
behind it is imported when it is used, and without the extra the user is told which one is missing.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from noetl.clock import Clock
from noetl.config import Settings
from noetl.errors import MissingLibrary, OperatorError
from noetl.queues.wire import Subjects

if TYPE_CHECKING:
    from noetl.messaging.link import Link

CA_BYTES_MAX = 1024 * 1024


def worker_link(settings: Settings, clock: Clock) -> Link:
    """The link of a worker; `start` it. Answers come under its pool's subject."""
    return _link(settings, Subjects(settings.queue_prefix).inbox(settings.pool), clock)


def server_link(settings: Settings, clock: Clock) -> Link:
    """The link of a server; `start` it."""
    return _link(settings, Subjects(settings.queue_prefix).server_inbox, clock)


def _link(settings: Settings, inbox: str, clock: Clock) -> Link:
    """Raises MissingLibrary, OperatorError: a URL or a CA file that cannot be used."""
    try:
        from noetl.messaging.link import Link
    except ImportError:
        raise MissingLibrary('queue.url = nats://… needs: pip install "noetl[nats]"') from None
    from noetl.messaging.server import WANTED, server_of
    from noetl.messaging.signing import UnusableCredential

    fields = {"url": settings.queue_url, "ca": _authority(settings.queue_ca_file)}
    try:
        server = server_of("queue.url", fields)
    except UnusableCredential:
        raise OperatorError(f"queue.url is none; {WANTED}") from None
    return Link(server, inbox=inbox, clock=clock, chance=random.random)


def _authority(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        with file.open("rb") as stream:
            return stream.read(CA_BYTES_MAX).decode("ascii")
    except OSError as fault:
        raise OperatorError(f"queue.ca_file {file} cannot be read: {fault.strerror}") from None
    except UnicodeDecodeError:
        raise OperatorError(f"queue.ca_file {file} must be certificates in PEM") from None
