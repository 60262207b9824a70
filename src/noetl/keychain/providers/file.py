"""Provider file: a file such as /run/secrets/db_password, under a folder that the operator allows.

`keychain.file_roots` lists the folders; there are none by default. The path is resolved first, so neither .. nor a
symbolic link leads out of them (the links within one, as Kubernetes makes them for mounted secrets, are followed), and
the file is opened without following a link that took its place since. A file that everybody can write or read is
refused: whoever is on the machine would have the secret already. One line end at the file's end is not part of it.
"""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

from noetl.keychain.plain_files import read_plain_file, text_of
from noetl.keychain.providers.contract import Fetched, Means, wanted
from noetl.secret import Declared

FILE_BYTES_MAX = 1024 * 1024


class FileProvider:
    def __init__(self, means: Means) -> None:
        self._roots = means.settings.keychain_file_roots

    async def fetch(self, declared: Declared) -> Fetched:
        name = wanted(declared, "path", "file")
        return Fetched(text=await asyncio.to_thread(read_secret, name, self._roots))

    async def close(self) -> None:
        """There is nothing to give back."""


def read_secret(name: str, roots: tuple[Path, ...]) -> str:
    """The text of a file under one of the roots."""
    path = allowed_path(name, roots)
    try:
        content, found = read_plain_file(path, FILE_BYTES_MAX, follows_link=False)
    except OSError as error:
        raise LookupError(f"the file {path} cannot be read: {error.strerror}") from None
    check_mode(path, found)
    return text_of(content, FILE_BYTES_MAX, f"the file {path}")


def allowed_path(name: str, roots: tuple[Path, ...]) -> Path:
    if "\0" in name:
        raise LookupError("a path has no NUL character")
    for root in roots:
        folder = Path(os.path.realpath(root))
        path = Path(os.path.realpath(folder / name))
        if path.is_relative_to(folder) and path != folder:
            return path
    folders = ", ".join(map(str, roots)) or "none"
    raise LookupError(
        f'the file "{name}" is not in a folder that the operator allows; keychain.file_roots '
        f"(NOETL_KEYCHAIN_FILE_ROOTS) lists: {folders}"
    )


def check_mode(path: Path, status: os.stat_result) -> None:
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        raise LookupError(
            f"the file {path} is open to others; take that away: chmod o-rwx,g-w {path}, or, of a mounted secret, "
            "mode: 0400 (Docker) or defaultMode: 0400 (Kubernetes)"
        )
