"""The first tokens of a store: one for an administrator, one for workers, in files of the home (`token_files`).

Called by every server when it starts. Where tokens were made before, none is made again: a home without the files then
stays without, and whoever runs it hands it a token of its own.
"""

from __future__ import annotations

import logging
from pathlib import Path

from noetl.errors import TokenUnusable
from noetl.identity import token_files
from noetl.identity.roles import ADMIN, WORKER
from noetl.identity.tokens import ID_CHARS, TOKEN, Grant, Tokens, digest_of
from noetl.stores.disk import disk_faults, prepare_folder

FILES = {ADMIN: token_files.OF_ADMIN, WORKER: token_files.OF_WORKERS}
STARTING = "the server, when it started"
log = logging.getLogger("noetl.tokens")


async def ensure(tokens: Tokens, home: Path) -> dict[str, Path]:
    """Make and register what is missing; gives the files there are, by role. Raises TokenUnusable."""
    await tokens.sweep()
    with disk_faults(home):
        prepare_folder(home)
    found: dict[str, Path] = {}
    for role, name in FILES.items():
        file = home / name
        token = token_files.read_own(file) or await _made(tokens, role, file)
        if token is None:
            _say_missing(role, file)
        else:
            await _register(tokens, token, role, file)
            found[role] = file
    return found


async def _made(tokens: Tokens, role: str, file: Path) -> str | None:
    """The token of a file that was not there a moment ago; None: the store's first tokens are in another home."""
    if await tokens.has_any(role):
        return token_files.read_own(file)  # by another server of this home that starts: it writes the file first
    fresh = tokens.new_text()
    return token_files.create(file, fresh, digest_of(fresh)[:ID_CHARS])


def _say_missing(role: str, file: Path) -> None:
    """The store has tokens, and this home none of them: nobody should look for a file that was never made."""
    log.info(
        "tokens of role %s were made before, so none is put into %s: commands and workers of this home need one that "
        "you hand them (--token-file), or make with noetl token create --role %s",
        role,
        file,
        role,
        extra={"action": "token_file_missing", "file": str(file)},
    )


async def _register(tokens: Tokens, token: str, role: str, file: Path) -> None:
    if not TOKEN.fullmatch(token):
        raise TokenUnusable(f"{file} holds no token of NoETL's; remove it, and the next start makes another")
    await tokens.adopt(token, Grant(role=role, label=file.name), STARTING)
    kept = await tokens.standing(digest_of(token))
    if kept is None or kept.role != role:
        log.warning(
            "the token in %s opens nothing any more: it was revoked, has expired, or is of another role",
            file,
            extra={"action": "token_file_useless", "file": str(file)},
        )
