"""How long a soak waits, and what it says meanwhile. The machine may be shared: only NoETL is judged, not its pace."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT_SECONDS_MAX = 300.0  # for a definite answer to one request
END_SECONDS_MAX = 900.0  # for the end of every execution, once the faults have stopped
CHECK_SECONDS_MAX = 1_800.0
TELL_SECONDS = 60.0
LOOK_SECONDS = 0.5


def has_ended(live: Callable[[], int], seconds_max: float) -> bool:
    """Wait until nothing is live; what is live after so long is for the checker to find."""
    deadline = time.monotonic() + seconds_max
    while live():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True


@contextmanager
def telling(name: str, seconds: float, progress: Callable[[], str]) -> Iterator[None]:
    """Write a line each minute to standard error."""
    over = threading.Event()
    begun_at = time.monotonic()

    def tell() -> None:
        while not over.wait(TELL_SECONDS):
            passed = (time.monotonic() - begun_at) / 60.0
            print(
                f"soak {name}: minute {passed:.0f} of {seconds / 60.0:.0f}, {progress()}", file=sys.stderr, flush=True
            )

    thread = threading.Thread(target=tell, name="telling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def story_in(file: Path, told: list[str]) -> Iterator[None]:
    """Leave behind what was done to a deployment and when, however it ends."""
    try:
        yield
    finally:
        file.write_text("\n".join(told), encoding="utf-8")
