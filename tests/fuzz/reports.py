"""Reports that a worker never wrote, under a lease that stands: what the pump makes of them is a word or an incident of
that one execution, and the log still verifies.
"""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any, Self

import msgspec

from noetl.control.verify import Audit
from noetl.engine import commands as ops
from noetl.engine.events import encode
from noetl.engine.state import canonical
from noetl.queues import wire
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE
from noetl.queues.nats_answers import Refused, decoded
from tests.fuzz.growing import changed
from tests.properties.post import Post

WORDS = {ACCEPTED, DUPLICATE, STALE}
ROUNDS_MAX = 4


class Forged(msgspec.Struct, frozen=True, kw_only=True):
    """An input: how far the execution has come, and what is done to the events of the next report."""

    rounds: int
    seed: int
    changes: int


class Reports:
    """See the module. An execution is one input's, so that what it breaks is its own doing."""

    def __init__(self, _folder: Path) -> None:
        self._level = logging.INFO

    def __enter__(self) -> Self:
        self._level = logging.getLogger("noetl.control.turn").level
        logging.getLogger("noetl.control.turn").setLevel(logging.CRITICAL)  # a fault is logged, and that is right
        self._post = Post()
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("noetl.control.turn").setLevel(self._level)
        self._post.close()

    def make(self, chance: random.Random) -> bytes:
        return msgspec.json.encode(
            Forged(rounds=chance.randrange(ROUNDS_MAX), seed=chance.randrange(2**32), changes=chance.choice((1, 1, 2)))
        )

    def attempt(self, data: bytes) -> None:
        forged = msgspec.json.decode(data, type=Forged)
        post = self._post
        post.start()
        execution_id = max(post.audits)
        for _ in range(forged.rounds):
            self._work_on()
        post.poll("forger", 9)
        for holding in [one for one in post.holdings if one.letter is None]:
            post.compose(holding, 2)
            assert holding.letter is not None
            report = changed_report(random.Random(forged.seed), holding.letter, forged.changes)
            if report is not None:
                (word,) = post.ask(report)
                assert word in WORDS, word
        self._check(execution_id)
        post.ask(ops.Cancel(execution_id=execution_id))
        self._check(execution_id)
        assert execution_id not in post.live(), "a cancelled execution has not ended"
        post.holdings, post.letters, post.granted = [], [], {}
        post.audits.clear()

    def _work_on(self) -> None:
        self._post.poll("worker", 9)
        for holding in list(self._post.holdings):
            self._post.compose(holding, 9)
            if holding.letter:
                self._post.deliver(holding.letter)

    def _check(self, execution_id: int) -> None:
        post = self._post
        post.read_logs()
        audit: Audit = post.audits[execution_id]
        assert audit.faults == {}, audit.faults
        live = post.executions.known(execution_id)
        assert live is None or canonical(live.state) == canonical(audit.state), "memory is not the fold of the log"


def changed_report(chance: random.Random, letter: ops.Report, changes: int) -> ops.Report | None:
    """A report with something changed in it, as a server would take it off the wire; None: it is refused there."""
    said: dict[str, Any] = {
        "execution_id": letter.execution_id,
        "run": letter.run,
        "iter": letter.iter,
        "lease": letter.lease,
        "n": letter.n,
    }
    events = [msgspec.json.decode(encode(event)) for event in letter.events]
    for _ in range(changes):
        events = changed(chance, events)
    try:
        asked = decoded(wire.REPORT, msgspec.json.encode({"v": wire.VERSION, "reports": [{**said, "events": events}]}))
    except (Refused, OverflowError, TypeError, ValueError):
        return None
    assert isinstance(asked, wire.Reporting)
    (report,) = asked.reports
    return report.report()
