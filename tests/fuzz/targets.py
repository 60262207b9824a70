"""What is fuzzed beside the front end: each target makes an input of a chance, and tries one.

An input is bytes that can be kept as a file and tried again; what must not happen raises. `make test` tries a few of
each, `make fuzz` many.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from tests.fuzz.bodies import Bodies
from tests.fuzz.forged_exports import ForgedExports
from tests.fuzz.forged_references import ForgedReferences
from tests.fuzz.messages import Messages
from tests.fuzz.reports import Reports


class Target(Protocol):
    def make(self, chance: random.Random) -> bytes: ...

    def attempt(self, data: bytes) -> None:
        """Raises if something happens that must not."""
        ...


TARGETS: dict[str, Callable[[Path], AbstractContextManager[Target]]] = {
    "bodies": Bodies,
    "messages": Messages,
    "reports": Reports,
    "references": ForgedReferences,
    "exports": ForgedExports,
}


def input_of(target: Target, seed: int, number: int) -> bytes:
    """Input number n of a seed is always the same."""
    return target.make(random.Random(f"{seed}:{number}"))
