"""The work that a deployment does while it is disturbed: playbooks of every shape, started, signalled and cancelled.

Each tool leaves two lines in the ledger and gives back the word that it made up (checker.py). What a server has
acknowledged is written to the promises, one line each, before anything else is asked.
"""

import json
import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.cluster.deployment import Answer, Deployment
from tests.cluster.playbooks import PLAYBOOKS, SCHEDULE

REFUSED = 400  # the first status with which a server says no


class Demand(NamedTuple):
    """How much is asked of a deployment, and how patiently."""

    between_seconds: tuple[float, float] = (0.05, 0.4)  # two requests
    wait_seconds_max: float = 60.0
    first: tuple[str, ...] = ("patient", "patient")  # those that wait for a minute, once
    shapes: tuple[str, ...] = ("chain", "chain", "loops", "caller", "stubborn")
    playbooks: Mapping[str, str] = PLAYBOOKS


class Load:
    """What asks of a deployment, from a thread of its own, and writes down what was promised."""

    def __init__(self, deployment: Deployment, folder: Path, seed: int, demand: Demand | None = None) -> None:
        self.deployment = deployment
        self.demand = demand or Demand()
        self.ledger = folder / "ledger"
        self.promises = folder / "promises"
        self.ledger.touch()
        self.ledger.chmod(0o666)
        self.promises.touch()
        self.chance = random.Random(seed)
        self.started: list[str] = []
        self.failure: BaseException | None = None
        self._number = 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    # --- its life ----------------------------------------------------------------------------------------------------

    def register(self) -> None:
        for name, text in self.demand.playbooks.items():
            answer = self.deployment.ask_any("POST", "/api/v1/catalog", {"text": text, "name": f"{name}.yaml"})
            assert answer.status < REFUSED, answer

    def schedule(self) -> None:
        """From now on one execution every few seconds, whoever is there to start it."""
        text = SCHEDULE % self.ledger
        answer = self.deployment.ask_any("PUT", "/api/v1/schedules/tick", {"text": text, "name": "tick.yaml"})
        assert answer.status < REFUSED, answer

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        self._thread.join()
        answer = self.deployment.ask_any("POST", "/api/v1/schedules/tick/pause", {})
        assert answer.status < REFUSED, answer
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            for shape in self.demand.first:
                self._begin(shape)
            while not self._ending.wait(self.chance.uniform(*self.demand.between_seconds)):
                self.chance.choices(DEEDS, WEIGHTS)[0](self)
        except BaseException as failure:  # the test that started this thread raises it
            self.failure = failure

    # --- what it asks ------------------------------------------------------------------------------------------------

    def begin_some(self) -> None:
        self._begin(self.chance.choice(self.demand.shapes))

    def begin_and_cancel(self) -> None:
        execution_id = self._begin("endless")
        self._pause()
        answer = self._insist("POST", f"/api/v1/executions/{execution_id}/cancel", {"reason": "enough"})
        assert answer.status < REFUSED, answer
        self._promise(what="cancel", execution_id=execution_id)

    def begin_and_signal(self) -> None:
        """A signal that was acknowledged opens the gate; one whose answer was lost is sent again."""
        execution_id = self._begin("gated")
        self._pause()
        answer = self._insist("POST", f"/api/v1/executions/{execution_id}/signal", {"set": {"ctx.is_open": True}})
        assert answer.status < REFUSED or is_over(answer), answer

    def _begin(self, name: str) -> str:
        """Start one, under a key of its own, and ask until somebody says yes."""
        self._number += 1
        key = f"{name}-{self._number}"
        body = {"path": f"load/{name}", "payload": {"ledger": str(self.ledger)}}
        answer = self._insist("POST", "/api/v1/executions", body, **{"Idempotency-Key": key})
        assert answer.status in (200, 201), answer
        self._promise(what="start", execution_id=answer.body["execution_id"], key=key)
        self.started.append(answer.body["execution_id"])
        return str(answer.body["execution_id"])

    def _insist(self, method: str, path: str, body: Any, **headers: str) -> Answer:
        """The first definite answer; a server that is gone, or is asked too much, is asked again, or another one is."""
        deadline = time.monotonic() + self.demand.wait_seconds_max
        while True:
            url = self.chance.choice(self.deployment.urls)
            answer = self.deployment.ask(url, method, path, body, **headers)
            if answer.status and answer.status not in (429, 500, 502, 503):
                return answer
            assert answer.status != 500, answer
            assert time.monotonic() < deadline, f"{method} {path} gets no answer: {answer}"
            time.sleep(0.1)

    def _pause(self) -> None:
        self._ending.wait(self.chance.uniform(0.0, 3.0))

    def _promise(self, **promise: str) -> None:
        with self.promises.open("a", encoding="utf-8") as file:
            file.write(json.dumps(promise) + "\n")
            file.flush()
            os.fsync(file.fileno())


def is_over(answer: Answer) -> bool:
    """It has ended: an earlier signal, whose answer was lost, was heard."""
    return answer.status == 409


DEEDS: tuple[Callable[[Load], None], ...] = (Load.begin_some, Load.begin_and_cancel, Load.begin_and_signal)
WEIGHTS = (8, 1, 1)
