"""What the world saw of a run: every execution of a task that touches it, from the ledger and from the API's log.

An attempt is (task run id, attempt). The ledger has a line when an execution begins and one when it ends; the API logs
a request when its answer leaves. Both outlive the process that is killed.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from noetl.testing.http_server import Answer, ApiServer, running_api

ITEM_COUNT = 13
ORDERS = (1, 2)
Attempt = tuple[str, int]


class Seen(NamedTuple):
    """All executions up to a moment."""

    counts: Counter[Attempt]
    ended_at: dict[Attempt, float]  # of the latest execution that ended


class World:
    """The ledger and the API of one round."""

    def __init__(self, folder: Path, api: ApiServer) -> None:
        self.ledger = folder / "ledger"
        self.ledger.touch()
        self.api = api

    @property
    def payload(self) -> tuple[str, ...]:
        return ("--set", f"ledger={self.ledger}", "--set", f"api_url={self.api.url}")

    def executions(self) -> int:
        """How many there were so far."""
        return self.ledger.read_bytes().count(b"began") + len(self.api.requests())

    def seen(self) -> Seen:
        found = Seen(Counter(), {})
        for line in self.ledger.read_text().splitlines():
            word, key, attempt, ts = line.split()
            one = (divided(key)[0], int(attempt))
            if word == "began":
                found.counts[one] += 1
            else:
                found.ended_at[one] = float(ts)
        for request in self.api.requests():
            task_run, answered = divided(request.headers["idempotency-key"])
            one = (task_run, answered + 1)  # every answer of this API is a definite one
            found.counts[one] += 1
            found.ended_at[one] = request.ended_at
        return found


def divided(key: str) -> tuple[str, int]:
    """The task run of an idempotency key as other systems see it, and the answers before."""
    task_run, _, answered = key.partition(".")[2].rpartition(".")
    return task_run, int(answered)


@contextmanager
def a_world(folder: Path) -> Iterator[World]:
    """An empty ledger, and an API that refuses each order twice."""
    with running_api(item_count=ITEM_COUNT) as api:
        for order in ORDERS:
            busy = Answer(status=503, json={"error": "busy"})
            api.script(f"/orders/{order}", busy, busy, Answer(json={"number": order * 1000}))
        yield World(folder, api)
