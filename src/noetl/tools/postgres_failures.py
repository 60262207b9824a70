"""What goes wrong with a database, as the output of the task.

An exception in, one `Output` out: the kind of error by the server's SQLSTATE, whether another attempt may help, and
where in the author's own text the fault is. Messages name host and database, never a user's password or the DSN; what
the server says of a row (its DETAIL) is cut.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg

from noetl.engine.output import Output, failure
from noetl.errors import ResultError
from noetl.tools.sql_statements import Statement

MESSAGE_CHARACTERS_MAX = 1_000
DETAIL_CHARACTERS_MAX = 500
EXCERPT_CHARACTERS_MAX = 60

# by SQLSTATE or its class, the longer first: error.kind, retryable
KINDS: dict[str, tuple[str, bool]] = {
    "40": ("db_conflict", True),  # 40001 serialization, 40P01 deadlock
    "55P03": ("db_conflict", True),  # a lock was not to be had
    "23": ("db_constraint", False),
    "28": ("auth", False),
    "57014": ("timeout", True),
    "08": ("connection", True),
    "57P01": ("connection", True),  # shut down by its administrator, or this backend ended
    "57P02": ("connection", True),
    "57P03": ("connection", True),  # starting up
    "57P05": ("connection", True),  # idle for too long, says the server
    "25P03": ("connection", True),
    "53300": ("connection", True),  # too many clients
    "53": ("db_error", True),  # out of disk or memory
}
HINTS = {
    "25001": "this statement cannot run inside a transaction: set spec.autocommit: true",
    "42P18": "the server cannot tell what this parameter is: write its type after it, such as {{ x }}::text",
    "42883": "a value may be of another type than the column: write the type after it, such as {{ x }}::text",
}
NO_VALUE_THERE = (
    "PostgreSQL binds no value there: for a setting write SELECT set_config('name', {{ … }}, false), for a message "
    "SELECT pg_notify('channel', {{ … }}), for a name {{ … | ident }}"
)
SYNTAX_ERROR = "42601"
_REFUSED_LOGIN = re.compile(
    r"password authentication failed|no password supplied|authentication failed|pg_hba\.conf|"
    r'role ".*" (does not exist|is not permitted)|certificate authentication|permission denied for database',
    re.DOTALL,
)
_UNTRUSTED = re.compile(r"certificate|does not support SSL|does not match host name|SSL error: (?!.*\beof\b)")
_PASSING = re.compile(r"starting up|shutting down|in recovery|too many|remaining connection slots|not yet accepting")


class Failed(Exception):
    """A call that cannot go on; becomes its output."""

    def __init__(self, kind: str, message: str, *, retryable: bool = False, is_definite: bool = True) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.is_definite = is_definite


class CannotConnect(Failed):
    """There is no connection; nothing was done."""


def helper(sqlstate: str | None, affected_rows: int | None = None) -> dict[str, Any]:
    """`output.pg`."""
    return {"pg": {"code": sqlstate, "sqlstate": sqlstate, "affected_rows": affected_rows}}


def failure_of(fault: Exception, where: str, statement: Statement | None, total_seconds: float | None) -> Output:
    """The output of a call that met `fault` in `statement`."""
    if isinstance(fault, Failed):
        return failure(
            fault.kind, str(fault), retryable=fault.retryable, is_definite=fault.is_definite, helpers=helper(None)
        )
    if isinstance(fault, ResultError):
        return failure(fault.kind, str(fault), retryable=fault.retryable, helpers=helper(None))
    if isinstance(fault, TimeoutError):
        return failure("timeout", _too_long(total_seconds), retryable=True, is_definite=False, helpers=helper(None))
    if isinstance(fault, psycopg.Error) and fault.sqlstate:
        return _said_by_server(fault, statement, total_seconds)
    if isinstance(fault, psycopg.OperationalError | psycopg.InterfaceError):
        message = f"the connection to {where} broke before the statement was done"
        return failure("connection", message, retryable=True, is_definite=False, helpers=helper(None))
    return failure("type", f"a value cannot be sent: {fault}"[:MESSAGE_CHARACTERS_MAX], helpers=helper(None))


def connection_failure(fault: psycopg.Error, where: str) -> CannotConnect:
    """Why nobody could connect. libpq keeps the SQLSTATE of a refused login to itself, so its words are looked at."""
    text = str(fault)
    reason = text.partition("FATAL:")[2].strip() or text.splitlines()[0].rpartition(" failed: ")[2]
    message = f"cannot connect to PostgreSQL at {where}: {reason}"[:MESSAGE_CHARACTERS_MAX]
    if _REFUSED_LOGIN.search(text):
        return CannotConnect("auth", message)
    if _UNTRUSTED.search(text):
        fix = "name the file of its CA as sslrootcert in the credential, or say there which sslmode is enough"
        return CannotConnect("connection", f"{message}. Off this machine sslmode is verify-full: {fix}")
    is_final = "FATAL:" in text and not _PASSING.search(text)
    return CannotConnect("connection", message, retryable=not is_final)


def _too_long(total_seconds: float | None) -> str:
    limit = f"its {total_seconds:g} s (spec.timeout)" if total_seconds else "the server's statement_timeout"
    return f"the SQL took longer than {limit} and was cancelled on the server"


def _said_by_server(fault: psycopg.Error, statement: Statement | None, total_seconds: float | None) -> Output:
    sqlstate = fault.sqlstate or ""
    kind, is_retryable = KINDS.get(sqlstate) or KINDS.get(sqlstate[:2]) or ("db_error", False)
    said = (fault.diag.message_primary or str(fault))[:MESSAGE_CHARACTERS_MAX]
    message = _too_long(total_seconds) if kind == "timeout" else f"{said} (SQLSTATE {sqlstate})"
    place = place_of(fault, statement)
    hint = _hint_of(fault, statement)
    return failure(
        kind,
        message + (f", {place}" if place else "") + (f". {hint}" if hint else ""),
        retryable=is_retryable,
        is_definite=kind not in ("timeout", "connection"),
        details=_details(fault, sqlstate),
        helpers=helper(sqlstate),
    )


def _hint_of(fault: psycopg.Error, statement: Statement | None) -> str | None:
    position = int(fault.diag.statement_position or 0)
    if fault.sqlstate == SYNTAX_ERROR and statement and statement.values and statement.text[position - 1] == "$":
        return NO_VALUE_THERE  # it points at a placeholder, which the author never wrote
    return HINTS.get(fault.sqlstate or "") or fault.diag.message_hint


def _details(fault: psycopg.Error, sqlstate: str) -> dict[str, Any]:
    diag = fault.diag
    found = {
        "sqlstate": sqlstate,
        "detail": (diag.message_detail or "")[:DETAIL_CHARACTERS_MAX],
        "context": (diag.context or "")[:DETAIL_CHARACTERS_MAX],
        "schema": diag.schema_name,
        "table": diag.table_name,
        "column": diag.column_name,
        "constraint": diag.constraint_name,
    }
    return {name: value for name, value in found.items() if value}


def place_of(fault: psycopg.Error, statement: Statement | None) -> str:
    """Where in the author's text: the line of the command, and the words that stand there."""
    if statement is None:
        return ""
    position = int(fault.diag.statement_position or 0)
    before = statement.text[: max(position - 1, 0)]
    line = statement.line + before.count("\n")
    rest = statement.text[len(before) :].split("\n", 1)[0][:EXCERPT_CHARACTERS_MAX]
    of = f" of command {statement.command + 1}" if statement.command else ""
    return f"in line {line}{of or ' of the SQL'}, at: {rest}" if position else f"in the statement of line {line}{of}"
