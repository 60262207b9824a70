"""What a playbook allows: how many iterations of each loop may be in flight (I7), how large an event may be (RS-01)."""

from __future__ import annotations

from noetl.dsl.model import Loop, Playbook, Step
from noetl.testing.simulator.checks.log_book import LogBook
from noetl.testing.simulator.checks.loop_book import WINDOW_MAX

EVENT_BYTES_MAX = 64 * 1024
SMALL_EVENT_BYTES = 16 * 1024  # ids, errors and a few arcs take so much under any limit


class Limits:
    """Of all playbooks of a world, by their sha."""

    def __init__(self) -> None:
        self.windows: dict[str, dict[str, tuple[int, ...]]] = {}
        self._event_bytes_max: dict[str, int] = {}

    def add(self, sha: str, playbook: Playbook) -> None:
        self.windows[sha] = {name: _windows(step) for name, step in playbook.steps.items() if step.loop}
        self._event_bytes_max[sha] = max(playbook.settings.max_payload_bytes, SMALL_EVENT_BYTES)

    def check(self, book: LogBook, body: bytes) -> None:
        """The size of one event of a log."""
        bytes_max = self._event_bytes_max.get(book.sha, EVENT_BYTES_MAX)
        if len(body) > bytes_max:
            book.fail("size", f"an event has {len(body)} bytes, and may have {bytes_max}: {body[:200]!r}")


def _windows(step: Step) -> tuple[int, ...]:
    """How many iterations of each loop may be in flight, outermost first."""
    found: list[int] = []
    loop: Loop | None = step.loop
    while loop is not None:
        wanted = (loop.max_in_flight or WINDOW_MAX) if loop.is_parallel else 1
        found.append(min(wanted, WINDOW_MAX))
        loop = loop.inner
    return tuple(found)
