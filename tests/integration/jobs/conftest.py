"""The jobs of examples/, run as a person would: a process over a home of its own, a real PostgreSQL, a real API."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from noetl.testing.http_server import ApiServer, running_api

ROOT = Path(__file__).parent.parent.parent.parent
DATABASES = ("warehouse", "shop", "app", "production")  # the names that jobs have for theirs; here all are one
SECRETS = {"crm": {"token": "crm-token"}}


class Stage:
    """A home, an API and a database for one job, and what it did to them."""

    def __init__(self, home: Path, api: ApiServer, database_url: str) -> None:
        self.home = home
        self.api = api
        secrets = {name: {"dsn": database_url} for name in DATABASES} | SECRETS
        self.environ = {f"NOETL_SECRET_{name.upper()}": json.dumps(value) for name, value in secrets.items()}
        self._connection = psycopg.connect(database_url, autocommit=True)

    def close(self) -> None:
        self._connection.close()

    def noetl(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "noetl", *words],
            cwd=ROOT,
            env={**os.environ, "NOETL_HOME": str(self.home), **self.environ},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def run(self, job: str, *settings: str) -> dict[str, Any]:
        """Run a job against the API; its JSON document."""
        words = [word for setting in (f"api_url={self.api.url}", *settings) for word in ("--set", setting)]
        done = self.noetl("run", f"examples/jobs/{job}.yaml", "--format", "json", *words)
        assert done.stdout, done.stderr
        found = json.loads(done.stdout)
        assert found["status"] != "invalid", found
        return found

    def sql(self, text: str, *values: object) -> list[Any]:
        """Rows of a statement; of a single column its values."""
        cursor = self._connection.execute(text, values or None)
        rows = cursor.fetchall() if cursor.description else []
        return [row[0] if len(row) == 1 else row for row in rows]

    def sent(self, path: str) -> list[Any]:
        """The JSON bodies that came to a path."""
        return [json.loads(seen.body) for seen in self.api.requests(path)]


@pytest.fixture
def stage(tmp_path: Path, database_url: str) -> Iterator[Stage]:
    """A stage whose database is empty, and empty again afterwards."""
    with running_api() as api:
        found = Stage(tmp_path, api, database_url)
        yield found
        found.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        found.close()
