"""Settings: one frozen object, read once by whoever starts something, handed down from there.

Comes in: flags, the environment and the folder the user stands in. Goes out: `Settings`, or an error that names the
key, where its value came from, what was wanted and what was found. A flag wins over a `NOETL_*` variable, that over
the nearest `noetl.toml` upward. Nothing is created or opened here but that file. Every key is in docs/settings.md.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from noetl.errors import RequestError

FLAGS = {"true": True, "1": True, "false": False, "0": False}
FILE_NAME = "noetl.toml"
HOME_NAME = ".noetl"
STORE_NAME = "noetl.db"
FILE_BYTES_MAX = 1024 * 1024
LIST_ITEMS_MAX = 1000
KEEP_DAYS_MAX = 36_500
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


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator chose."""

    home: Path  # data lives here
    store_url: str  # sqlite:///, the path absolute
    http_allow: tuple[str, ...] = ()
    http_loopback: bool | None = None  # None: as the role has it; with embedded workers yes, in a cluster no
    script_roots: tuple[Path, ...] = ()
    slots: int = 128
    process_slots: int = 2
    python_memory_mb: int = 1024
    python_inline: bool = False  # tasks may run inside the worker
    duckdb_external_access: bool = False  # SQL may reach files and networks
    results_mb_max: int = 64
    results_stores: tuple[str, ...] = ()  # URLs, perhaps with a password; the first is where results go; (): by role
    results_keep_days: int | None = None  # after the end of an execution; None: for ever
    keychain_key: str = KEYS_IN_FILE  # where the key ring is
    tools_plugins: tuple[str, ...] = ()  # kinds of other packages that may be used
    keychain_env_allow: tuple[str, ...] = ()  # variables that provider env may read
    keychain_file_roots: tuple[Path, ...] = ()  # folders that provider file may read from
    keychain_secrets_allow: tuple[str, ...] = ("*",)  # patterns of provider:name
    keychain_pools_allow: tuple[str, ...] = ("*",)  # patterns of pool:name, for workers of a cluster
    keychain_ca_file: Path | None = None  # certificates of the services that are asked for secrets
    keychain_vault_url: str = ""
    keychain_vault_token_file: Path | None = None
    keychain_aws_region: str = ""
    keychain_aws_url: str = ""
    keychain_gcp_url: str = ""
    keychain_azure_url: str = ""
    queue_url: str = ""  # nats://, perhaps with a password; "": workers are in the server's process
    queue_prefix: str = "noetl"  # of every subject: several clusters may share one NATS
    queue_ca_file: Path | None = None
    server_host: str = "127.0.0.1"
    server_port: int = 8642
    server_names: tuple[str, ...] = ()  # names in a Host header that are this server's, besides its addresses
    server_tls_cert: Path | None = None
    server_tls_key: Path | None = None
    server_insecure: bool = False  # listen beyond this machine without TLS, in so many words
    server_workers: bool = True  # without a queue: run tasks in the server's process too
    server_url: str = ""  # where the command line finds its server; "": it runs by itself
    server_token_file: Path | None = None  # of the command line and of workers; None: the one in the home
    server_ca_file: Path | None = None  # certificates that the command line trusts a server by
    pool: str = "default"  # of a worker
    worker_processes: int = 0  # 0: one for each core
    lease_seconds: float = 30.0
    otel_url: str = ""  # where traces are sent, OTLP over HTTP
    log_format: str = LOG_TEXT
    export_events: bool = False  # committed events go to a stream of the queue, too
    log_level: str = "info"

    @property
    def is_shared(self) -> bool:
        """Whether several servers may use the store."""
        return self.store_url.startswith(POSTGRES)

    @property
    def store_path(self) -> Path:
        """The file of a store on this machine; raises RequestError where servers share one."""
        if self.is_shared:
            raise RequestError(
                "store.url names PostgreSQL, which belongs to servers: name one with --server URL (NOETL_SERVER_URL), "
                f"start one with `noetl server start`, or run without: --store {SQLITE}{STORE_NAME}"
            )
        return Path(self.store_url.removeprefix(SQLITE))

    @property
    def result_bytes_max(self) -> int:
        return self.results_mb_max * 1024 * 1024


class Given(NamedTuple):
    """A value as somebody gave it."""

    key: str
    value: Any
    origin: str  # for messages: --store, NOETL_SLOTS, noetl.toml:3
    folder: Path  # what a relative path is relative to


class Setting(NamedTuple):
    """One key of noetl.toml; its variable is NOETL_ and the key in capitals, with _ for the dot."""

    key: str
    read: Callable[[Given], Any]

    @property
    def variable(self) -> str:
        return "NOETL_" + self.key.upper().replace(".", "_")

    @property
    def field(self) -> str:
        return self.key.replace(".", "_")


def load(
    *,
    home: str | None = None,
    store: str | None = None,
    environ: Mapping[str, str],
    folder: Path,
    flags: Mapping[str, tuple[str, Any]] | None = None,
) -> Settings:
    """The settings that hold in a folder; `flags`: further ones, by key: the flag's name and what it was given."""
    flags = {"home": ("--home", home), "store.url": ("--store", store), **(flags or {})}
    file = nearest(folder, FILE_NAME, Path.is_file)
    written = read_file(file) if file else {}
    chosen: dict[str, Any] = {"process_slots": cores()}
    for setting in SETTINGS:
        name, value = flags.get(setting.key, ("", None))
        if value is not None:
            given = Given(setting.key, value, name, folder)
        elif environ.get(setting.variable):  # an empty variable is an unset one
            given = Given(setting.key, environ[setting.variable], setting.variable, folder)
        elif setting.key in written:
            given = written[setting.key]
        else:
            continue
        chosen[setting.field] = setting.read(given)
    chosen.setdefault("home", default_home(environ, folder))
    chosen.setdefault("store_url", url_of(chosen["home"] / STORE_NAME))
    return Settings(**chosen)


# --- where things are ------------------------------------------------------------------------------------------------


def nearest(folder: Path, name: str, is_it: Callable[[Path], bool]) -> Path | None:
    """The file or folder of that name here or in the nearest folder above."""
    here = folder.absolute()
    return next((path for above in (here, *here.parents) if is_it(path := above / name)), None)


def default_home(environ: Mapping[str, str], folder: Path) -> Path:
    """The nearest .noetl/ upward, else a folder of our own in the user's data directory."""
    return nearest(folder, HOME_NAME, Path.is_dir) or user_data(environ) / "noetl"


def user_data(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where programs keep a user's data on this system."""
    if platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return Path(local) if local else user_folder(environ) / "AppData" / "Local"
    if platform == "darwin":
        return user_folder(environ) / "Library" / "Application Support"
    chosen = environ.get("XDG_DATA_HOME", "")
    return Path(chosen) if chosen.startswith("/") else user_folder(environ) / ".local" / "share"


def user_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


# --- noetl.toml ------------------------------------------------------------------------------------------------------


def read_file(file: Path) -> dict[str, Given]:
    """The values of a noetl.toml by key; a key that is no setting is an error."""
    import tomllib

    with file.open("rb") as stream:
        data = stream.read(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise RequestError(f"{file} may have {FILE_BYTES_MAX} bytes, but has more")
    try:
        text = data.decode("utf-8")
        table = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise RequestError(f"{file} is not TOML: {error}") from None
    return {
        key: Given(key, value, f"{file}{line_of(text, key)}", file.parent) for key, value in flat(table, file, text)
    }


def flat(table: dict[str, Any], file: Path, text: str, prefix: str = "") -> list[tuple[str, Any]]:
    """The values of nested tables under their dotted keys."""
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if key in KNOWN:
            found.append((key, value))
        elif isinstance(value, dict) and any(known.startswith(f"{key}.") for known in KNOWN):
            found += flat(value, file, text, f"{key}.")
        else:
            raise RequestError(f'{file}{line_of(text, key)}: there is no setting "{key}"; {advice(key)}')
    return found


def line_of(text: str, key: str) -> str:
    """`:3`, where a line begins with the key or its last part; else nothing. For messages, so near is good enough."""
    words = (key, key.rpartition(".")[2])
    for number, line in enumerate(text.splitlines(), 1):
        if line.partition("=")[0].strip().strip("\"'[]") in words:
            return f":{number}"
    return ""


def advice(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, KNOWN, n=1)
    return f'did you mean "{near[0]}"?' if near else f"the settings are: {', '.join(KNOWN)}"


# --- values ----------------------------------------------------------------------------------------------------------


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
    return tuple(path(given._replace(value=word)) for word in words(given))


def key_place(given: Given) -> str:
    """What is neither word may be a key that somebody put here by mistake, and is not shown."""
    if given.value not in (KEYS_IN_FILE, KEYS_IN_SERVICE):
        refuse(given, f'"{KEYS_IN_FILE}" or "{KEYS_IN_SERVICE}"; a key itself belongs into NOETL_MASTER_KEY', "neither")
    return str(given.value)


def url_of(file: Path) -> str:
    return SQLITE + str(file)


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
    return url_of(path(given._replace(value=file)))


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

    wanted = "a URL such as https://vault.example.com:8200, or http:// on this machine, without user and password"
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


SETTINGS = (
    Setting("home", home_folder),
    Setting("store.url", store_url),
    Setting("http.allow", hosts),
    Setting("http.loopback", flag),
    Setting("script.roots", paths),
    Setting("slots", whole_number(1, 100_000)),
    Setting("process_slots", whole_number(1, 1024)),
    Setting("python.memory_mb", whole_number(16, 1024 * 1024)),
    Setting("python.inline", flag),
    Setting("duckdb.external_access", flag),
    Setting("results.mb_max", whole_number(1, 1024)),
    Setting("results.stores", result_stores),
    Setting("results.keep_days", whole_number(0, KEEP_DAYS_MAX)),
    Setting("keychain.env_allow", words),
    Setting("keychain.file_roots", paths),
    Setting("keychain.secrets_allow", words),
    Setting("keychain.pools_allow", words),
    Setting("keychain.ca_file", path),
    Setting("keychain.vault_url", service_url),
    Setting("keychain.vault_token_file", path),
    Setting("keychain.aws_region", name),
    Setting("keychain.aws_url", service_url),
    Setting("keychain.gcp_url", service_url),
    Setting("keychain.azure_url", service_url),
    Setting("keychain.key", key_place),
    Setting("tools.plugins", words),
    Setting("queue.url", queue_url),
    Setting("queue.prefix", subject_prefix),
    Setting("queue.ca_file", path),
    Setting("server.host", host),
    Setting("server.port", whole_number(0, 65535)),
    Setting("server.names", words),
    Setting("server.tls_cert", path),
    Setting("server.tls_key", path),
    Setting("server.insecure", flag),
    Setting("server.workers", flag),
    Setting("server.url", service_url),
    Setting("server.token_file", path),
    Setting("server.ca_file", path),
    Setting("pool", pool_name),
    Setting("worker.processes", whole_number(0, 1024)),
    Setting("lease_seconds", seconds(1.0, 3600.0)),
    Setting("otel.url", service_url),
    Setting("log.format", log_format),
    Setting("export.events", flag),
    Setting("log.level", log_level),
)
KNOWN = tuple(setting.key for setting in SETTINGS)
