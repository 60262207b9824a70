"""The command line against a cluster, in the hands of the acceptance tests: the same verbs, the same documents.

Commands go to the servers in turn, so that what one of them has begun another one shows. What a test gives to its run
by the environment that a worker would have needed (credentials) is kept in the servers' keychain first. Between two
tests nothing is left of the one before.
"""

import json
import os
from itertools import cycle
from pathlib import Path
from typing import Any

import psycopg

from tests.acceptance.noetl import Ended, Noetl
from tests.cluster.cluster import Cluster, until

SECRET = "NOETL_SECRET_"
LIVE = "SELECT id FROM execution WHERE status IN ('running', 'waiting', 'incident') AND parent_id IS NULL"
KINDS = {"dsn": "postgres_credential", "value": "secret_manager", "token": "bearer"}  # by the field that tells

# Acceptance tests that cannot hold on a cluster, and why.
ONLY_EMBEDDED = {
    "test_the_event_has_a_reference_whose_file_is_what_it_says": "looks for the file of a result",
    "test_a_large_body_is_in_no_byte_of_the_store": "reads the bytes of the SQLite file and of the result files",
    "test_a_large_body_streams_into_a_file_result_and_out_again_in_bounded_memory": "measures one process",
    "test_a_worker_with_fewer_slots_runs_fewer_at_once": "the slots are those of workers that run already",
    "test_inline_needs_the_operators_word": "the setting is one of workers that run already",
    "test_a_task_that_asks_for_a_sandbox_fails_where_there_is_none": "changes the PATH of workers that run already",
    "test_a_store_of_a_newer_version_is_left_alone": "opens the SQLite file",
    "test_a_second_run_is_told_who_has_the_store_and_leaves_with_3": "any number of runs have a cluster at once",
    "test_a_second_run_that_waits_gets_its_turn": "as above",
    "test_a_reader_that_goes_away_does_not_make_a_success_a_failure": "starts a shell with an environment of its own",
    "test_a_signal_reaches_an_execution_that_runs_elsewhere": "says which process of this machine has it",
    "test_ctrl_c_lets_tasks_at_work_finish_and_resume_goes_on_after_them": "Ctrl-C leaves a server's execution running",
    "test_ctrl_c_twice_stops_at_once_and_resume_does_the_open_task_again_under_its_key": "as above",
    "test_ctrl_c_does_not_wait_for_a_retry_that_is_due_later": "as above",
    "test_a_request_to_end_is_taken_as_ctrl_c": "as above",
    "test_a_killed_run_is_resumed_where_its_log_ends": "a killed command kills no worker; tests/cluster kills those",
    "test_a_fault_of_our_own_in_any_part_ends_the_run_with_1_and_says_so": "plants the fault in the command's process",
}


class OnCluster(Noetl):
    """A folder with playbooks in it, and the command line over a cluster."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        super().__init__(folder)
        self.cluster = cluster
        self._urls = cycle(cluster.urls)
        self._kept: dict[str, str] = {}

    @property
    def variables(self) -> dict[str, str]:
        own = {name: value for name, value in self.environ.items() if not name.startswith(SECRET)}
        return {
            **os.environ,
            "NOETL_HOME": str(self.home),
            "NOETL_SERVER_URL": next(self._urls),
            "NOETL_SERVER_TOKEN_FILE": str(self.cluster.home / "server.token"),
            **own,
        }

    def _ended(self, command: list[str], stdin: str = "") -> Ended:
        self._keep_secrets()
        return super()._ended(command, stdin)

    def _keep_secrets(self) -> None:
        """What a run on this machine would find in its own environment, servers find in their keychain."""
        for name, value in self.environ.items():
            if name.startswith(SECRET) and self._kept.get(name) != value:
                self._kept[name] = value
                kind = next(kind for field, kind in KINDS.items() if field in json.loads(value))
                words = ("keychain", "set", name.removeprefix(SECRET).lower(), "--kind", kind, "--from-json", "-")
                kept = self(*words, stdin=value)
                assert kept.code == 0, kept.err

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Read the store's tables themselves, not through NoETL."""
        with psycopg.connect(self.cluster.postgres.url) as connection:
            return connection.execute(query).fetchall()

    def log(self) -> list[dict[str, Any]]:
        return [body for (body,) in self.rows("SELECT body FROM event ORDER BY execution_id, seq")]

    def leave(self) -> None:
        """End what the test left running, and empty the store."""
        with psycopg.connect(self.cluster.postgres.url, autocommit=True) as connection:
            for (execution_id,) in connection.execute(LIVE).fetchall():
                self.cluster.ask_any(
                    "POST", f"/api/v1/executions/{execution_id}/cancel", {"reason": "the test is over"}
                )
            until(lambda: not connection.execute(LIVE).fetchall(), "nothing runs any more")
            connection.execute("TRUNCATE execution, event, job, holding, snapshot, catalog")
