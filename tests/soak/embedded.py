"""A soak of the embedded deployment: a server with its workers inside, asked over its API, and rounds of `noetl run`.

Both keep their log in SQLite and have a home of their own. The server is killed, paused for less and for more than a
lease, and restarted cleanly; commands are killed and paused. Then the checker reads both homes.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.deployment import Deployment
from tests.cluster.faults import Fault, Faults
from tests.cluster.load import Demand, Load
from tests.soak.commands import Commands, live_in
from tests.soak.figures import ROOT, Disturbances, Figures, Report
from tests.soak.patience import CHECK_SECONDS_MAX, END_SECONDS_MAX, WAIT_SECONDS_MAX, has_ended, story_in, telling
from tests.soak.playbooks import ALL

SHAPES = ("chain", "chain", "loops", "caller", "stubborn", "bulky", "bulky", "patient")
DEMAND = Demand(between_seconds=(0.3, 1.5), wait_seconds_max=WAIT_SECONDS_MAX, first=(), shapes=SHAPES, playbooks=ALL)


def restart_server(faults: Faults) -> str:
    """Ended cleanly, as a deployment of a new version does it, and started again."""
    (server,) = faults.deployment.servers
    if server.is_running:
        server.await_ready(END_SECONDS_MAX)  # before that SIGTERM just ends it
        code = server.stop(END_SECONDS_MAX)
        assert code == 0, f"a clean end has code {code}:\n{server.log_tail}"
    server.start()
    return server.name


FAULTS: dict[Fault, int] = {Faults.kill_server: 6, Faults.pause_server: 3, restart_server: 1}


def soak(folder: Path, seconds: float, seed: int, demand: Demand = DEMAND) -> Figures:
    with running_server(folder / "server") as deployment:
        load = Load(deployment, deployment.folder, seed, demand)
        faults = Faults(deployment, seed, FAULTS)
        commands = Commands(folder / "commands", seed, deployment.environ)
        load.register()
        load.schedule()
        load.start()
        counts = (faults.counts, commands.counts)
        progress = telling("embedded", seconds, lambda: f"{len(load.started)} started, {[*map(dict, counts)]}")
        with progress, story_in(folder / "story", faults.told):
            with commands:
                faults.run(seconds)
                load.stop()
            has_ended(lambda: len(live_in(deployment.home)), END_SECONDS_MAX)
        deployment.stop()
    reports = (
        checked(deployment.home, load.ledger, load.promises),
        checked(commands.home, commands.ledger, commands.promises),
    )
    return Figures("embedded", seconds / 60.0, seed, disturbances_of(faults, commands), reports)


@contextmanager
def running_server(folder: Path) -> Iterator[Deployment]:
    """A server with no store and no queue of its own: SQLite in its home; ended by force, whatever was done to it."""
    folder.mkdir(parents=True)
    deployment = Deployment(folder)
    try:
        deployment.add_server()
        deployment.await_ready()
        yield deployment
    finally:
        for server in deployment.servers:
            server.discard()


def disturbances_of(faults: Faults, commands: Commands) -> Disturbances:
    return Disturbances(
        kills=faults.counts["kill_server"] + commands.counts["kill"],
        pauses=faults.counts["pause_server"] + commands.counts["pause"],
        restarts=faults.counts["restart_server"],
    )


def checked(home: Path, ledger: Path, promises: Path) -> Report:
    """What an independent program finds, that knows the files and nothing else."""
    words = [sys.executable, "-m", "tests.soak.checker", str(home), str(ledger), str(promises)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=CHECK_SECONDS_MAX, check=False)
    assert done.stdout, done.stderr
    report: Report = json.loads(done.stdout)
    return report
