"""I14: no secret in any stored byte, log line or answer.

Secrets of a simulated world are strings that stand nowhere else. Whatever is kept or said is looked through for them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from noetl.testing.simulator.case import Violation


class Canaries:
    """The secrets of one world."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._texts = tuple(secrets)
        self._bytes = tuple(secret.encode() for secret in secrets)

    def look(self, where: str, data: bytes, execution_id: int = 0) -> None:
        for secret in self._bytes:
            if secret in data:
                raise Violation("I14", f"a secret stands in {where}", execution_id)

    def look_at_text(self, where: str, text: str) -> None:
        for secret in self._texts:
            if secret in text:
                raise Violation("I14", f"a secret stands in {where}")


class Listener(logging.Handler):
    """Hears every log line. It raises nothing where the line is written: the first find is kept for whoever asks."""

    def __init__(self, canaries: Canaries) -> None:
        super().__init__(logging.DEBUG)
        self.canaries = canaries
        self.found: Violation | None = None
        self._written = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            fields = " ".join(map(str, record.__dict__.values()))
            self.canaries.look_at_text(f"a log line of {record.name}", f"{self._written.format(record)} {fields}")
        except Violation as found:
            self.found = self.found or found
