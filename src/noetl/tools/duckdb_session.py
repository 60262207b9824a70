"""A database for the time of one question: opened, locked down, its statements run. Used inside a child.

Locking down comes last: what the question names (database files, attached ones, the files to read and the one to write)
is opened or listed, then access to everything else is given up and the settings are frozen, before any SQL of the
author's runs (security 9). Nothing of it stays: the next question gets a new database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import duckdb

from noetl.sql import Name
from noetl.tools.duckdb_faults import NoRows, OldLibrary, TooManyRows
from noetl.tools.duckdb_values import Columns, bound

VERSION_MIN: Final = 2  # versions before write files where CALL enable_logging says, locked down or not
FETCH_ROWS: Final = 1_000
READERS: Final = {
    "parquet": "read_parquet({path})",
    "csv": "read_csv({path}, sample_size = -1)",
    "json": "read_json({path}, format = 'auto', sample_size = -1)",
    "ndjson": "read_json({path}, format = 'newline_delimited', sample_size = -1)",
}
WRITERS: Final = {
    "parquet": "FORMAT parquet",
    "csv": "FORMAT csv, HEADER true",
    "json": "FORMAT json, ARRAY true",
    "ndjson": "FORMAT json",
}
CHANGES: Final = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE_INTO", "COPY", "CREATE"))
QUERIES: Final = frozenset(("SELECT", "MULTI"))  # what can stand in brackets; MULTI is a PIVOT
NO_ROWS: Final = (["Count"], ["Success"])  # what DuckDB answers where there is nothing to answer


@contextmanager
def opened(question: dict[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database of a question, as its SQL may use it."""
    _check_version()
    database = question["database"] or {"path": ":memory:", "read_only": False}
    connection = duckdb.connect(database["path"], read_only=database["read_only"], config=_config(question))
    try:
        for alias, file in question["attached"].items():
            options = " (READ_ONLY)" if file["read_only"] else ""
            connection.execute(f"ATTACH {literal(file['path'])} AS {Name((alias,)).quoted}{options}")
        _lock_down(connection, question)
        yield connection
    finally:
        connection.close()


def _check_version() -> None:
    if int(duckdb.__version__.partition(".")[0]) < VERSION_MIN:
        raise OldLibrary(
            f"kind: duckdb needs DuckDB {VERSION_MIN} or newer, which can be locked down, but {duckdb.__version__} is "
            'installed: pip install --upgrade "noetl[duckdb]"'
        )


def _config(question: dict[str, Any]) -> dict[str, str | bool | int | float | list[str]]:
    folder = question["folder"]
    return {
        "memory_limit": f"{question['memory_mb']}MiB",
        "threads": str(question["threads"]),
        "temp_directory": f"{folder}/spilled",
        "max_temp_directory_size": f"{question['disk_mb']}MiB",
        "secret_directory": f"{folder}/secrets",
        "extension_directory": f"{folder}/extensions",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
    }


def _lock_down(connection: duckdb.DuckDBPyConnection, question: dict[str, Any]) -> None:
    paths = [read["path"] for read in question["reads"]] + ([question["out"]] if question["out"] else [])
    settings = [
        f"home_directory = {literal(question['folder'])}",
        "TimeZone = 'UTC'",
        "enable_progress_bar = false",
        f"allowed_paths = [{', '.join(map(literal, paths))}]",
        *([] if question["is_external_allowed"] else ["enable_external_access = false"]),
        "lock_configuration = true",
    ]
    for setting in settings:
        connection.execute(f"SET {setting}")


class Session:
    """The statements of one question; `statement`, or before them `reading`, is for whoever has to say what failed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, question: dict[str, Any]) -> None:
        self._connection = connection
        self._question = question
        self.statement: dict[str, Any] | None = None
        self.reading = ""  # the name of the table that is made of a result

    def answers(self) -> list[dict[str, Any]]:
        """What each statement gave: `columns` (null if no rows), `rows` as JSON texts, `affected_rows`."""
        found: list[dict[str, Any]] = []
        statements = self._question["statements"]
        for read in self._question["reads"]:
            self.reading = read["name"]
            source = READERS[read["format"]].format(path=literal(read["path"]))
            self._connection.execute(f"CREATE TEMP VIEW {Name((read['name'],)).quoted} AS FROM {source}")
        self.reading = ""
        with self._transaction():
            for place, statement in enumerate(statements, 1):
                self.statement = statement
                is_written = bool(self._question["out"]) and place == len(statements)
                answer = self._written(statement) if is_written else self._answer(statement)
                if answer["columns"] is not None and not self._question["keeps_all"]:
                    for earlier in found:
                        earlier["rows"] = []
                found.append(answer)
            self.statement = None
        return found

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All statements in one. What fails is taken back when the connection closes."""
        if self._question["is_autocommit"]:
            yield
            return
        self._connection.execute("BEGIN")
        yield
        self._connection.execute("COMMIT")

    def _answer(self, statement: dict[str, Any]) -> dict[str, Any]:
        kinds = self._kinds(statement)
        if kinds <= QUERIES:
            return self._rows(statement)
        relation = self._connection.sql(statement["text"], params=self._values(statement))
        names = list(relation.columns)
        if names in NO_ROWS:
            return gave(counted=relation.fetchall() if names == ["Count"] and kinds & CHANGES else [])
        columns = Columns(names, relation.types)  # RETURNING, EXPLAIN, PRAGMA: no query can be made of it, and few rows
        return gave(names, self._texts(columns, [relation.project(columns.projection).fetchall()]))

    def _rows(self, statement: dict[str, Any]) -> dict[str, Any]:
        """What a query gives, fetched in batches; of two columns with one name DuckDB calls the second name_1."""
        query, values = f"FROM ({statement['text']}\n)", self._values(statement)
        described = self._connection.execute(f"SELECT * {query} LIMIT 0", values).description or []
        columns = Columns([one[0] for one in described], [one[1] for one in described])
        cursor = self._connection.execute(f"SELECT {columns.projection} {query}", values)
        batches = iter(lambda: cursor.fetchmany(FETCH_ROWS), [])
        return gave(columns.names, self._texts(columns, batches))

    def _values(self, statement: dict[str, Any]) -> list[Any] | None:
        return [bound(value) for value in statement["values"]] or None

    def _kinds(self, statement: dict[str, Any]) -> set[str]:
        return {_kind(one) for one in self._connection.extract_statements(statement["text"])}

    def _texts(self, columns: Columns, batches: Iterable[list[Any]]) -> list[str]:
        """The rows in JSON, a text for each batch, no more bytes of them than a result may have."""
        found: list[str] = []
        bytes_left = self._question["rows_bytes_max"]
        for batch in batches:
            text = json.dumps(columns.rows(batch), ensure_ascii=False, separators=(",", ":"))[1:-1]
            bytes_left -= len(text.encode())
            if bytes_left < 0:
                raise TooManyRows(
                    f"the rows are more than {self._question['rows_bytes_max']} bytes as JSON; ask for fewer, or store "
                    "them as a reference with write: {format: parquet}"
                )
            if text:
                found.append(text)
        return found

    def _written(self, statement: dict[str, Any]) -> dict[str, Any]:
        if not self._kinds(statement) <= QUERIES:
            raise NoRows("write stores the rows of the last statement, which must be a SELECT")
        target = f"{literal(self._question['out'])} ({WRITERS[self._question['write_format']]})"
        copied = self._connection.execute(f"COPY ({statement['text']}\n) TO {target}", self._values(statement))
        return gave(counted=copied.fetchall())


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # its client has no word for some, such as UPDATE EXTENSIONS
        return "OTHER"


def gave(
    columns: list[str] | None = None, rows: Iterable[str] = (), counted: list[Any] | None = None
) -> dict[str, Any]:
    """What a statement gave, as an answer has it; `counted` is DuckDB's row with the number of those it changed."""
    return {"columns": columns, "rows": list(rows), "affected_rows": counted[0][0] if counted else 0}


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
