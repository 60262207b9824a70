"""This machine: the home and who may read it, room on the disk, Python, SQLite, and the libraries of the extras."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from noetl import __version__
from noetl.checkup.findings import FAIL, Finding, Findings, fail, judged, ok, warn
from noetl.config import Settings
from noetl.identity.token_files import OF_ADMIN, OF_WORKERS
from noetl.keychain.key_file import FILE_NAME as KEYS_FILE
from noetl.keychain.key_file import SHARED_FILE_NAME as SHARED_KEYS_FILE
from noetl.stores.disk import free_bytes
from noetl.stores.sqlite_database import SQLITE_MIN

HOME, SYSTEM = "home", "system"
PRIVATE_FILES = (OF_ADMIN, OF_WORKERS, KEYS_FILE, SHARED_KEYS_FILE)
OTHERS = stat.S_IRWXG | stat.S_IRWXO
FREE_BYTES_MIN = 512 * 1024 * 1024  # below this a server refuses starts (protocol §9)
FREE_BYTES_WANTED = 2 * 1024 * 1024 * 1024
MEBIBYTE = 1024 * 1024
PYTHON_MIN = (3, 11)
EXTRAS = {"psycopg": "postgres", "nats-py": "nats", "duckdb": "duckdb", "obstore": "s3", "opentelemetry-sdk": "otel"}


async def home(settings: Settings) -> Findings:
    folder = settings.home
    if not folder.is_dir():
        yield not_there(folder)
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    is_writable = os.access(folder, os.W_OK | os.X_OK)
    yield judged(
        HOME,
        "folder",
        f"{folder}, mode {mode:04o}",
        is_ok=is_writable,
        otherwise=FAIL,
        fix=f"this user cannot write there: chown it, or choose another with NOETL_HOME (now {folder})",
    )
    for finding in (*private_files(folder), room(folder)):
        yield finding


def not_there(folder: Path) -> Finding:
    """Whether the first run could make it: that is asked of the nearest folder above that is there."""
    above = next(one for one in folder.absolute().parents if one.exists())
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return ok(HOME, "folder", f"{folder} is not there yet; the first run or server makes it")
    says = f"{folder} is not there, and this user cannot make it in {above}"
    return fail(HOME, "folder", says, "make it and chown it, or choose another with NOETL_HOME")


def private_files(folder: Path) -> Iterator[Finding]:
    for name in PRIVATE_FILES:
        path = folder / name
        try:
            found = path.lstat()
        except OSError:
            continue  # it is made when it is needed
        mode = stat.S_IMODE(found.st_mode)
        yield judged(
            HOME,
            name,
            f"mode {mode:04o}",
            is_ok=stat.S_ISREG(found.st_mode) and not (sys.platform != "win32" and mode & OTHERS),
            otherwise=FAIL,
            fix=f"others can read it, or it is a link. If nobody has: chmod 600 {path}; else replace what is in it",
        )


def room(folder: Path) -> Finding:
    free = free_bytes(folder)
    says = f"{free // MEBIBYTE:,} MiB free"
    if free < FREE_BYTES_MIN:
        needed = FREE_BYTES_MIN // MEBIBYTE
        return fail(HOME, "disk", says, f"starts are refused below {needed} MiB: free some space, or run noetl sweep")
    fix = "free some space soon, or run noetl sweep"
    return judged(HOME, "disk", says, is_ok=free >= FREE_BYTES_WANTED, fix=fix)


async def system(settings: Settings) -> Findings:
    python = ".".join(map(str, sys.version_info[:3]))
    wanted = ".".join(map(str, PYTHON_MIN))
    yield judged(
        SYSTEM,
        "versions",
        f"NoETL {__version__}, Python {python}, SQLite {sqlite3.sqlite_version}",
        is_ok=sys.version_info[:2] >= PYTHON_MIN and sqlite3.sqlite_version_info >= SQLITE_MIN,
        otherwise=FAIL,
        fix=f"Python {wanted} with SQLite {'.'.join(map(str, SQLITE_MIN))} is wanted, or newer",
    )
    yield ok(SYSTEM, "libraries", ", ".join(f"{name} {found}" for name, found in installed().items()) or "no extras")
    for name, extra in needed_extras(settings):
        yield fail(SYSTEM, extra, f"{name} is not installed", f'pip install "noetl[{extra}]"')


def installed() -> dict[str, str]:
    """The libraries of extras that are there."""
    found = {}
    for name in EXTRAS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def needed_extras(settings: Settings) -> Iterator[tuple[str, str]]:
    """What the settings ask for and is not there."""
    there = installed()
    asked = {"psycopg": settings.is_shared, "nats-py": bool(settings.queue_url), "opentelemetry-sdk": settings.otel_url}
    yield from ((name, EXTRAS[name]) for name, is_asked in asked.items() if is_asked and name not in there)


async def addresses(settings: Settings) -> Findings:
    """What the server's settings say of who can reach it."""
    if settings.server_insecure and settings.server_tls_cert is None:
        yield warn(
            SYSTEM,
            "transport",
            f"server.insecure is set: a server on {settings.server_host} takes tokens without TLS",
            "give it server.tls_cert and server.tls_key, unless something before it brings TLS",
        )
