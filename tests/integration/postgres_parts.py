"""What the tests of kind postgres share: a tool over a real database, and a look at it from outside."""

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from noetl.engine.output import Output
from noetl.sql import Bound, Sql
from noetl.testing.hands import ResultsInMemory, call, hands, run
from noetl.testing.services import running_postgres
from noetl.tools import postgres
from noetl.tools.contract import Call, ToolSettings

PASSWORD_RULES = "local all postgres trust\nlocal all all scram-sha-256\n"


class Bench:
    """A tool, a credential for it, and results in memory."""

    def __init__(self, url: str, settings: ToolSettings | None = None) -> None:
        self.credentials: dict[str, dict[str, Any]] = {"db": {"dsn": url}}
        self.results = ResultsInMemory()
        self.tool = postgres.make(hands(settings=settings))

    def call(self, **values: Any) -> Call:
        values = {"auth": "db", "credentials": self.credentials, "results": self.results} | values
        return call(postgres.KIND, **values)

    async def output(self, **values: Any) -> Output:
        return await run(self.tool, self.call(**values))

    async def rows(self, command: str | Sql, **values: Any) -> list[dict[str, Any]]:
        """What a command gives that must succeed."""
        output = await self.output(command=command, **values)
        assert output.error is None, output.error
        return output.data

    async def value(self, expression: str) -> Any:
        """One value out of the database."""
        return (await self.rows(f"SELECT {expression} AS value"))[0]["value"]


@asynccontextmanager
async def bench(url: str, settings: ToolSettings | None = None) -> AsyncIterator[Bench]:
    made = Bench(url, settings)
    try:
        yield made
    finally:
        await made.tool.close()


def sql(*pieces: Any) -> Sql:
    """A command as a template gives it: texts at even places, values at odd ones."""
    return Sql(tuple(piece if index % 2 == 0 else Bound(piece) for index, piece in enumerate(pieces)))


def seen(url: str, command: str) -> list[tuple[Any, ...]]:
    """What somebody else sees of the database."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(command)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def guarded_postgres(password: str) -> Iterator[str]:
    """A server that asks everyone but its superuser for a password; the URL is of the user app, who has this one."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        rules = Path(folder) / "pg_hba.conf"
        rules.write_text(PASSWORD_RULES)
        if os.geteuid() == 0:
            import pwd  # which Windows has not

            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        rules.chmod(0o644)
        with running_postgres({"hba_file": str(rules)}) as url:
            seen(url, f"CREATE ROLE app LOGIN PASSWORD '{password}'")
            yield url.replace("postgres@", "app@")


def backends(url: str, condition: str = "true") -> set[int]:
    """The connections that the tool has to this database."""
    found = seen(
        url,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "  # noqa: S608
        f"AND backend_type = 'client backend' AND {condition}",
    )
    return {pid for (pid,) in found}
