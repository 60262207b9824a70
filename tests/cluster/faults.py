"""What is done to a cluster while it works: processes killed and paused, PostgreSQL gone and back, NATS stopped."""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping

from tests.cluster.cluster import Cluster
from tests.cluster.deployment import Deployment
from tests.cluster.processes import Program

BETWEEN_SECONDS = (2.0, 10.0)
DOWN_SECONDS = (0.0, 3.0)  # of a process that was killed
NATS_DOWN_SECONDS = (1.0, 6.0)


class Faults:
    """Draws a fault every few seconds, and undoes it; all of them are undone when it has stopped."""

    def __init__(self, deployment: Deployment, seed: int, weights: "Mapping[Fault, int] | None" = None) -> None:
        self.deployment = deployment
        self.chance = random.Random(seed)
        self.weights = WEIGHTS if weights is None else weights
        self.counts: Counter[str] = Counter()
        self.told: list[str] = []  # what was done, and when: to read beside the logs

    def run(self, seconds: float) -> None:
        """Disturb for so long, then make everything whole."""
        self.disturb(seconds)
        self.heal()

    def disturb(self, seconds: float) -> None:
        begun_at = time.monotonic()
        faults = tuple(self.weights)
        first = self.chance.sample(faults, len(faults))  # each of them once; then as often as their weights say
        while (passed := time.monotonic() - begun_at) < seconds:
            fault = first.pop() if first else self.chance.choices(faults, tuple(self.weights.values()))[0]
            self.counts[fault.__name__] += 1
            self.told.append(f"{passed:7.1f} s {fault.__name__} {fault(self)}")
            time.sleep(self.chance.uniform(*BETWEEN_SECONDS))
            self.revive()

    def revive(self) -> None:
        """Start what has ended by itself, as whoever supervises it would: a server may find no database."""
        for program in (*self.deployment.servers, *self.deployment.workers):
            if not program.is_running:
                self.told.append(f"          {program.name} had ended by itself")
                program.start()

    def heal(self) -> None:
        for program in (*self.deployment.servers, *self.deployment.workers):
            program.go_on()
        self.revive()
        self.deployment.await_ready()

    @property
    def cluster(self) -> Cluster:
        """For faults of services, which only a cluster has."""
        assert isinstance(self.deployment, Cluster), "an embedded deployment has no services"
        return self.deployment

    def _any(self, programs: list[Program]) -> Program:
        return self.chance.choice(programs)

    # --- the faults --------------------------------------------------------------------------------------------------

    def kill_worker(self) -> str:
        return self._killed(self._any(self.deployment.workers))

    def kill_server(self) -> str:
        return self._killed(self._any(self.deployment.servers))

    def kill_all_servers(self) -> str:
        for server in self.deployment.servers:
            server.kill()
        for server in self.deployment.servers:
            server.start()
        return "all"

    def _killed(self, program: Program) -> str:
        """kill -9, and after a while it is started again."""
        program.kill()
        time.sleep(self.chance.uniform(*DOWN_SECONDS))
        program.start()
        return program.name

    def pause_worker(self) -> str:
        return self._paused(self._any(self.deployment.workers))

    def pause_server(self) -> str:
        return self._paused(self._any(self.deployment.servers))

    def _paused(self, program: Program) -> str:
        """Stopped for less than a lease, or for longer: then it wakes up as somebody who has lost everything."""
        seconds = self.chance.uniform(0.5, 2.0 * self.deployment.lease_seconds)
        program.pause()
        time.sleep(seconds)
        program.go_on()
        return f"{program.name} for {seconds:.1f} s"

    def restart_postgres(self) -> str:
        self.cluster.postgres.stop()
        time.sleep(self.chance.uniform(0.0, 2.0))
        self.cluster.postgres.start()
        return ""

    def stop_nats(self) -> str:
        seconds = self.chance.uniform(*NATS_DOWN_SECONDS)
        self.cluster.nats.stop()
        time.sleep(seconds)
        self.cluster.nats.start()
        return f"for {seconds:.1f} s"


Fault = Callable[[Faults], str]  # what was hit, and for how long
WEIGHTS: Mapping[Fault, int] = {
    Faults.kill_worker: 6,
    Faults.kill_server: 5,
    Faults.kill_all_servers: 1,
    Faults.pause_worker: 4,
    Faults.pause_server: 3,
    Faults.restart_postgres: 2,
    Faults.stop_nats: 2,
}
