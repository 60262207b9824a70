"""The values of settings: each reader takes what somebody gave, in whatever form it came, and gives what it means.

What cannot be meant is refused with the key, where the value came from, what was wanted and what was found. What may be
a password is not shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace

from noetl.errors import RequestError

FLAGS = {"true": True, "1": True, "false": False, "0": False}
LIST_ITEMS_MAX = 1000
SQLITE = "sqlite:///"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
POOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
SUBJECT = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){0,7}")
POSTGRES_SCHEMES = ("postgresql", "postgres")
POSTGRES = "postgresql://"
QUEUE_SCHEMES = ("nats", "tls")
LOG_TEXT, LOG_JSON = "text", "json"
LOG_LEVELS = ("debug", "info", "warning", "error")
RESULT_STORES = ("files", "sqlite")
RESULT_SCHEMES = (*POSTGRES_SCHEMES, "nats", "tls", "s3", "gs", "az")
KEYS_IN_FILE, KEYS_IN_SERVICE = "file", "keyring"


class Given(msgspec.Struct, frozen=True):
    """A value as somebody gave it."""

    key: str
    value: Any
    origin: str  # for messages: --store, NOETL_SLOTS, noetl.toml:3
    folder: Path  # what a relative path is relative to


def refuse(given: Given, wanted: str, found: str | None = None) -> NoReturn:
    shown = repr(given.value) if found is None else found
    raise RequestError(f"{given.key} (from {given.origin}) must be {wanted}, but is {shown}")


def whole_number(least: int, most: int) -> Callable[[Given], int]:
    def read(given: Given) -> int:
        value = given.value
        if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
            value = int(value) if len(value) < 20 else most + 1
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            refuse(given, f"a whole number from {least} to {most}")
        return value

    return read


def flag(given: Given) -> bool:
    """true or false; in a variable also 1 or 0."""
    found = FLAGS.get(str(given.value).strip().lower())
    if found is None:
        refuse(given, "true or false")
    return found


def path(given: Given) -> Path:
    if not isinstance(given.value, str) or not given.value.strip() or "\0" in given.value:
        refuse(given, "a path")
    return Path(os.path.normpath(given.folder.absolute() / Path(given.value).expanduser()))


def home_folder(given: Given) -> Path:
    folder = path(given)
    if folder.exists() and not folder.is_dir():
        refuse(given, "a folder", f"the file {folder}")
    return folder


def words(given: Given) -> tuple[str, ...]:
    """A list of texts; in a variable, texts with commas between them."""
    value = given.value.split(",") if isinstance(given.value, str) else given.value
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value) or len(value) > LIST_ITEMS_MAX:
        refuse(given, f"a list of at most {LIST_ITEMS_MAX} texts")
    return tuple(word.strip() for word in value if word.strip())


def hosts(given: Given) -> tuple[str, ...]:
    """Host names, addresses and networks (10.0.0.0/8)."""
    found = words(given)
    for word in found:
        if "://" in word or any(char.isspace() for char in word):
            refuse(given, "a list of hosts and networks, such as db.local or 10.0.0.0/8", f'"{word}"')
        if "/" in word:
            check_network(given, word)
    return found


def check_network(given: Given, word: str) -> None:
    from ipaddress import ip_network

    try:
        ip_network(word)
    except ValueError as error:
        refuse(given, "a list of hosts and networks, such as db.local or 10.0.0.0/8", f'"{word}": {error}')


def paths(given: Given) -> tuple[Path, ...]:
    return tuple(path(replace(given, value=word)) for word in words(given))


def key_place(given: Given) -> str:
    """What is neither word may be a key that somebody put here by mistake, and is not shown."""
    if given.value not in (KEYS_IN_FILE, KEYS_IN_SERVICE):
        refuse(given, f'"{KEYS_IN_FILE}" or "{KEYS_IN_SERVICE}"; a key itself belongs into NOETL_MASTER_KEY', "neither")
    return str(given.value)


def url_of(file: Path) -> str:
    return SQLITE + file.as_posix()  # on Windows sqlite:///C:/folder/file.db


def store_url(given: Given) -> str:
    """sqlite:///relative.db or sqlite:////absolute.db, made absolute, or postgresql://…

    What stands in another URL may be a password.
    """
    value = given.value.strip() if isinstance(given.value, str) else ""
    scheme, _, rest = value.partition("://")
    if scheme in POSTGRES_SCHEMES and rest:
        return POSTGRES + rest
    file = value.removeprefix(SQLITE)
    if not value.startswith(SQLITE) or file in ("", "/", ":memory:") or file.endswith("/") or "?" in file:
        found = f'"{value}"' if scheme == "sqlite" or "@" not in value else f'"{scheme}://…"'
        wanted = f"{SQLITE}relative/file.db, {SQLITE}/absolute/file.db or {POSTGRES}user@host/database"
        refuse(given, wanted, found)
    return url_of(path(replace(given, value=file)))


def queue_url(given: Given) -> str:
    """nats://host:4222. What stands in it may be a password."""
    value = given.value.strip() if isinstance(given.value, str) else ""
    scheme, _, rest = value.partition("://")
    if scheme not in QUEUE_SCHEMES or not rest:
        refuse(given, "nats://host:4222 or tls://host:4222", f'"{scheme}://…"' if "@" in value else None)
    return value


def subject_prefix(given: Given) -> str:
    if not isinstance(given.value, str) or not SUBJECT.fullmatch(given.value.strip()):
        refuse(given, "words of letters, digits, hyphens and underscores with dots between")
    return given.value.strip()


def pool_name(given: Given) -> str:
    if not isinstance(given.value, str) or not POOL.fullmatch(given.value.strip()):
        refuse(given, "a name of letters, digits, hyphens and underscores")
    return given.value.strip()


def host(given: Given) -> str:
    value = given.value.strip() if isinstance(given.value, str) else ""
    if not value or "/" in value or any(char.isspace() for char in value):
        refuse(given, "an address or a host name, such as 127.0.0.1 or 0.0.0.0")
    return value


def log_format(given: Given) -> str:
    if given.value not in (LOG_TEXT, LOG_JSON):
        refuse(given, f'"{LOG_TEXT}" or "{LOG_JSON}"')
    return str(given.value)


def log_level(given: Given) -> str:
    if given.value not in LOG_LEVELS:
        refuse(given, f"one of: {', '.join(LOG_LEVELS)}")
    return str(given.value)


def seconds(least: float, most: float) -> Callable[[Given], float]:
    def read(given: Given) -> float:
        try:
            value = float(given.value)
        except (TypeError, ValueError):
            value = -1.0
        if isinstance(given.value, bool) or not least <= value <= most:
            refuse(given, f"a number of seconds from {least} to {most}")
        return value

    return read


def name(given: Given) -> str:
    if not isinstance(given.value, str) or not NAME.fullmatch(given.value.strip()):
        refuse(given, "a name of letters, digits and hyphens")
    return given.value.strip()


def service_url(given: Given) -> str:
    """Where a service is that secrets are asked of: https, or http on this machine, and no password in it."""
    from urllib.parse import urlsplit

    wanted = "a URL such as https://service.example.com:8200, or http:// on this machine, without user and password"
    try:
        parts = urlsplit(given.value.strip() if isinstance(given.value, str) else "")
        is_local = parts.hostname in LOCAL_HOSTS
        is_one = bool(parts.hostname) and parts.username is None and not parts.query and parts.port != 0
    except ValueError:
        refuse(given, wanted, "another text")
    if not is_one or not (parts.scheme == "https" or (parts.scheme == "http" and is_local)):
        refuse(given, wanted, "another text")
    return str(given.value).strip().rstrip("/")


def result_stores(given: Given) -> tuple[str, ...]:
    """Where results may be kept. What stands in a URL may be a password, so none is shown."""
    found = words(given)
    for word in found:
        scheme, colon, rest = word.partition("://")
        if word not in RESULT_STORES and not (colon and rest and scheme in RESULT_SCHEMES):
            shown = f'"{scheme}://…"' if colon else f'"{word}"'
            schemes = ", ".join(f"{scheme}://…" for scheme in RESULT_SCHEMES)
            refuse(given, f"a list of stores: {', '.join(RESULT_STORES)}, {schemes}", f"a list with {shown}")
    return found or RESULT_STORES[:1]
