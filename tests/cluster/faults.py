"""What is done to a cluster while it works: processes killed and paused, PostgreSQL gone and back, NATS stopped."""

import random
import time
from collections import Counter
from collections.abc import Callable

from tests.cluster.cluster import READY_SECONDS_MAX, Cluster
from tests.cluster.processes import Program

BETWEEN_SECONDS = (2.0, 10.0)
DOWN_SECONDS = (0.0, 3.0)  # of a process that was killed
NATS_DOWN_SECONDS = (1.0, 6.0)


class Faults:
    """Draws a fault every few seconds, and undoes it; all of them are undone when it has stopped."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.chance = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.told: list[str] = []  # what was done, and when: to read beside the logs

    def run(self, seconds: float) -> None:
        """Disturb for so long, then make everything whole."""
        begun_at = time.monotonic()
        first = self.chance.sample(FAULTS, len(FAULTS))  # each of them once; then as often as their weights say
        while (passed := time.monotonic() - begun_at) < seconds:
            fault = first.pop() if first else self.chance.choices(FAULTS, WEIGHTS)[0]
            self.counts[fault.__name__] += 1
            self.told.append(f"{passed:7.1f} s {fault.__name__} {fault(self)}")
            time.sleep(self.chance.uniform(*BETWEEN_SECONDS))
        self.heal()

    def heal(self) -> None:
        for program in (*self.cluster.servers, *self.cluster.workers):
            program.go_on()
            if not program.is_running:
                program.start()
        for program in (*self.cluster.servers, *self.cluster.workers):
            program.await_ready(READY_SECONDS_MAX)

    def _any(self, programs: list[Program]) -> Program:
        return self.chance.choice(programs)

    # --- the faults --------------------------------------------------------------------------------------------------

    def kill_worker(self) -> str:
        return self._killed(self._any(self.cluster.workers))

    def kill_server(self) -> str:
        return self._killed(self._any(self.cluster.servers))

    def kill_all_servers(self) -> str:
        for server in self.cluster.servers:
            server.kill()
        for server in self.cluster.servers:
            server.start()
        return "all"

    def _killed(self, program: Program) -> str:
        """kill -9, and after a while it is started again."""
        program.kill()
        time.sleep(self.chance.uniform(*DOWN_SECONDS))
        program.start()
        return program.name

    def pause_worker(self) -> str:
        return self._paused(self._any(self.cluster.workers))

    def pause_server(self) -> str:
        return self._paused(self._any(self.cluster.servers))

    def _paused(self, program: Program) -> str:
        """Stopped for less than a lease, or for longer: then it wakes up as somebody who has lost everything."""
        seconds = self.chance.uniform(0.5, 2.0 * self.cluster.lease_seconds)
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


FAULTS: tuple[Callable[[Faults], str], ...] = (
    Faults.kill_worker,
    Faults.kill_server,
    Faults.kill_all_servers,
    Faults.pause_worker,
    Faults.pause_server,
    Faults.restart_postgres,
    Faults.stop_nats,
)
WEIGHTS = (6, 5, 1, 4, 3, 2, 2)
