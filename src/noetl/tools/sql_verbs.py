"""Statements in which neither PostgreSQL nor DuckDB binds a value: definitions and code, which are kept as text.

Known here, so that an author is told what to do; a database would only point at a $1 that the author never wrote. What
just one of them refuses (SET in PostgreSQL) is left to its own tool.
"""

from __future__ import annotations

from typing import Final

from noetl.tools.sql_lexer import WORD, Token
from noetl.tools.sql_split import BLANK

VERBS: Final = frozenset("ALTER COMMENT DO DROP GRANT REVOKE TRUNCATE".split())
CREATED: Final = frozenset("DOMAIN FUNCTION MACRO POLICY PROCEDURE ROLE RULE TRIGGER TYPE USER VIEW".split())
BETWEEN: Final = frozenset("CREATE OR REPLACE TEMP TEMPORARY RECURSIVE".split())  # CREATE … FUNCTION


def takes_no_values(span: list[Token]) -> str:
    """The words that say so, such as CREATE FUNCTION; empty: it may take some."""
    words = (token.text.upper() if token.kind == WORD else "" for token in span if token.kind not in BLANK)
    verb = next(words, "")
    if verb in VERBS:
        return verb
    if verb != "CREATE":
        return ""
    what = next((word for word in words if word not in BETWEEN), "")
    return f"CREATE {what}" if what in CREATED else ""
