"""The kill test: a cluster that is disturbed for minutes keeps its word, by the record and by the ledger of its tools.

NOETL_KILL_MINUTES says how long; NOETL_KILL_SEED repeats the order of the faults, not their effects.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.cluster.cluster import Cluster, running_cluster, until
from tests.cluster.faults import WEIGHTS, Faults
from tests.cluster.load import Load

ROOT = Path(__file__).parents[2]
MINUTES = float(os.environ.get("NOETL_KILL_MINUTES", "3"))
SEED = int(os.environ.get("NOETL_KILL_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
END_SECONDS_MAX = 180.0  # once the faults have stopped: leases run out, parked jobs come back, the rest is done
CHECK_SECONDS_MAX = 120.0
LIVE = "SELECT count(*) FROM execution WHERE status IN ('running', 'waiting', 'incident')"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("NOETL_KILL_MINUTES" not in os.environ, reason="minutes by itself: make kill MINUTES=3"),
]


def live(cluster: Cluster) -> int:
    with psycopg.connect(cluster.postgres.url) as connection:
        (count,) = connection.execute(LIVE).fetchone() or (0,)
    return int(count)


def checked(cluster: Cluster, load: Load) -> dict:
    """What an independent program finds, that knows the tables and the file and nothing else."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster.checker", cluster.postgres.url, str(load.ledger), str(load.promises)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=CHECK_SECONDS_MAX,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.spec("RO-03", "TL-04", "TK-15", "EV-06")
def test_a_cluster_that_is_killed_and_paused_at_random_loses_nothing_and_does_nothing_twice(tmp_path):
    with running_cluster(tmp_path, stop_signal="SIGQUIT") as cluster:
        load, faults = Load(cluster, tmp_path, SEED), Faults(cluster, SEED)
        load.register()
        load.schedule()
        load.start()

        faults.run(MINUTES * 60.0)
        load.stop()
        story = f"seed {SEED}\n" + "\n".join(faults.told)
        until(lambda: live(cluster) == 0, f"every execution ends; {live(cluster)} are live\n{story}", END_SECONDS_MAX)
        report = checked(cluster, load)

        print(json.dumps(report["seen"]), story, sep="\n")
        assert report["fault_count"] == 0, (report, story)
        assert report["seen"]["executions"] >= 60 * MINUTES
        assert MINUTES < 3 or len(faults.counts) == len(WEIGHTS), story
        cluster.stop()
