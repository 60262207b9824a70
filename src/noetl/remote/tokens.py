"""The tokens of a server: made, listed and revoked by its administrators (`noetl.issuing` has those of a store)."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from noetl.config import Settings
from noetl.remote.line import open_line, word

TOKENS = "/api/v1/tokens"


def create(
    settings: Settings, *, role: str, label: str, pool: str, path_prefix: str, expires_in_seconds: float | None
) -> dict[str, Any]:
    """The row of a new token, and under `token` its text: the only time that it is to be had."""
    body = {"role": role, "label": label, "pool": pool, "path_prefix": path_prefix}
    body |= {} if expires_in_seconds is None else {"expires_in_seconds": expires_in_seconds}  # type: ignore[dict-item]
    with closing(open_line(settings)) as line:
        made: dict[str, Any] = line.post(TOKENS, body)
        return made


def listed(settings: Settings) -> list[dict[str, Any]]:
    with closing(open_line(settings)) as line:
        found: list[dict[str, Any]] = line.get(TOKENS)["tokens"]
        return found


def revoke(settings: Settings, token_id: str) -> dict[str, Any]:
    with closing(open_line(settings)) as line:
        row: dict[str, Any] = line.delete(f"{TOKENS}/{word(token_id)}")
        return row
