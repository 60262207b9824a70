"""Token files: what lets the command line and workers of one home in, without anybody setting anything up.

The first server over a store without tokens makes two, each in a file of the home that only its owner may read. The
file is the truth: servers that share a home agree on the token in it, whoever wrote it, and keep its hash in the store.
A file that others can read is refused, and never mended by itself: whoever could read it may have done so.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from noetl.errors import TokenUnusable
from noetl.keychain.plain_files import read_plain_file, sync_folder

OF_ADMIN, OF_WORKERS = "server.token", "worker.token"  # in the home
PRIVATE_FILE = 0o600
FILE_BYTES_MAX = 4096
OPEN_TO_ANY = stat.S_IRWXO
OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_own(file: Path) -> str | None:
    """The token in a file of the home; None: there is none. Raises TokenUnusable."""
    return _read(file, OPEN_TO_OTHERS, follows_link=False)


def read_named(file: Path) -> str:
    """The token in a file that somebody named. It may be a link, and a group may read it: so secrets are mounted."""
    found = _read(file, OPEN_TO_ANY, follows_link=True)
    if found is None:
        raise TokenUnusable(f"there is no token file {file}; `noetl token create` makes a token to put into it")
    return found


def _read(file: Path, too_open: int, *, follows_link: bool) -> str | None:
    try:
        data, found = read_plain_file(file, FILE_BYTES_MAX, follows_link=follows_link)
    except FileNotFoundError:
        return None
    except OSError as fault:
        reason = "it is a link" if fault.errno == errno.ELOOP else fault.strerror or type(fault).__name__
        raise TokenUnusable(f"the token file {file} cannot be used: {reason}. It must be a file of its own") from None
    if sys.platform != "win32" and found.st_mode & too_open:
        raise TokenUnusable(
            f"the token file {file} must not be open to others, but has mode {stat.S_IMODE(found.st_mode):04o}. "
            f"If nobody else has read it: chmod 600 {file}; else revoke that token and make another"
        )
    token = data.decode("ascii", "replace").strip()
    if not token or len(data) > FILE_BYTES_MAX or not token.isprintable() or " " in token:
        raise TokenUnusable(f"the token file {file} must hold one token and nothing else; remove it or write it anew")
    return token


def create(file: Path, token: str, mark: str) -> str:
    """Put a token into a file that is not there yet; gives the token that is in it then, perhaps another's.

    It is written beside, under a name that only this token (`mark`) has, and linked into place: nobody ever sees half.
    """
    beside = file.with_name(f".{file.name}.{mark}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(beside, flags, PRIVATE_FILE), "wb") as written:
            written.write(f"{token}\n".encode("ascii"))
            written.flush()
            os.fsync(written.fileno())
        with suppress(FileExistsError):
            os.link(beside, file)
        beside.unlink()
        sync_folder(file.parent)
    except OSError as fault:
        reason = fault.strerror or type(fault).__name__
        raise TokenUnusable(f"the token file {file} cannot be made: {reason}. Mend its folder's permissions") from None
    found = read_own(file)
    if found is None:
        raise TokenUnusable(f"the token file {file} was removed while it was made; start again")
    return found
