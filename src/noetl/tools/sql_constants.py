"""Constants with their type before them: DATE '…', interval '…', TIMESTAMP WITH TIME ZONE '…'.

Only the types that are written so are known; after any other word a literal stands by itself (LIKE '…', THEN '…').
"""

from __future__ import annotations

from typing import Final

from noetl.tools.sql_lexer import LITERALS, WORD, Token
from noetl.tools.sql_split import BLANK

TYPES: Final = frozenset(
    "BIGINT BOOL BOOLEAN BOX BPCHAR BYTEA CIDR CIRCLE DATE DECIMAL FLOAT4 FLOAT8 INET INT INT2 INT4 INT8 INTEGER "
    "INTERVAL JSON JSONB JSONPATH LINE LSEG MACADDR MONEY NUMERIC OID PATH POINT POLYGON REAL REGCLASS REGPROC REGTYPE "
    "SMALLINT TEXT TIME TIMESTAMP TIMESTAMPTZ TIMETZ TSQUERY TSVECTOR UUID VARCHAR XML".split()
)
LONGER: Final = tuple(
    tuple(words.split())
    for words in (
        "TIMESTAMP WITH TIME ZONE",
        "TIMESTAMP WITHOUT TIME ZONE",
        "TIME WITH TIME ZONE",
        "TIME WITHOUT TIME ZONE",
        "DOUBLE PRECISION",
    )
)
INTERVAL_UNITS: Final = frozenset(
    "YEAR YEARS MONTH MONTHS WEEK WEEKS DAY DAYS HOUR HOURS MINUTE MINUTES SECOND SECONDS".split()
)
WORDS_MAX: Final = 4


def typed_constant(span: list[Token], index: int) -> tuple[str, int] | None:
    """If a type begins at `index` and a literal with holes follows: the type's words, and where the literal is."""
    if span[index].kind != WORD or span[index].text.upper() not in STARTS:
        return None
    words: list[str] = []
    for position in range(index, len(span)):
        token = span[position]
        if token.kind == WORD and len(words) < WORDS_MAX:
            words.append(token.text.upper())
        elif token.kind in LITERALS:
            return (" ".join(words), position) if token.holes and _is_type(words) else None
        elif token.kind not in BLANK:
            return None
    return None


def _is_type(words: list[str]) -> bool:
    return tuple(words) in LONGER or (len(words) == 1 and words[0] in TYPES)


STARTS: Final = TYPES | {words[0] for words in LONGER}
