"""Settings: one frozen object, read once by whoever starts something, handed down from there.

Comes in: flags, the environment and the folder the user stands in. Goes out: `Settings`, or an error that names the
key, where its value came from, what was wanted and what was found. A flag wins over a `NOETL_*` variable, that over
the nearest `noetl.toml` upward. Nothing is created or opened here but that file. What each key means
is in `meanings.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from noetl.config import values as read
from noetl.config.values import KEYS_IN_FILE, LOCAL_HOSTS, LOG_JSON, LOG_TEXT, POOL, POSTGRES, SQLITE, Given, url_of
from noetl.errors import RequestError

__all__ = ["LOCAL_HOSTS", "LOG_JSON", "POOL", "SETTINGS", "Settings", "cores", "load", "url_of", "user_data"]

FILE_NAME = "noetl.toml"
HOME_NAME = ".noetl"
STORE_NAME = "noetl.db"
KEEP_DAYS_MAX = 36_500
LEASE_SECONDS = 30.0
DEFAULT_POOL = "default"  # of a step that names none, and of a worker


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
    pool: str = DEFAULT_POOL  # of a worker
    worker_processes: int = 0  # 0: one for each core
    lease_seconds: float = LEASE_SECONDS
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
    written = _read_file(file) if file else {}
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


def _read_file(file: Path) -> Mapping[str, Given]:
    from noetl.config.file import read_file  # most folders have none

    return read_file(file, KNOWN)


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


SETTINGS = (
    Setting("home", read.home_folder),
    Setting("store.url", read.store_url),
    Setting("http.allow", read.hosts),
    Setting("http.loopback", read.flag),
    Setting("script.roots", read.paths),
    Setting("slots", read.whole_number(1, 100_000)),
    Setting("process_slots", read.whole_number(1, 1024)),
    Setting("python.memory_mb", read.whole_number(16, 1024 * 1024)),
    Setting("python.inline", read.flag),
    Setting("duckdb.external_access", read.flag),
    Setting("results.mb_max", read.whole_number(1, 1024)),
    Setting("results.stores", read.result_stores),
    Setting("results.keep_days", read.whole_number(0, KEEP_DAYS_MAX)),
    Setting("keychain.env_allow", read.words),
    Setting("keychain.file_roots", read.paths),
    Setting("keychain.secrets_allow", read.words),
    Setting("keychain.pools_allow", read.words),
    Setting("keychain.ca_file", read.path),
    Setting("keychain.vault_url", read.service_url),
    Setting("keychain.vault_token_file", read.path),
    Setting("keychain.aws_region", read.name),
    Setting("keychain.aws_url", read.service_url),
    Setting("keychain.gcp_url", read.service_url),
    Setting("keychain.azure_url", read.service_url),
    Setting("keychain.key", read.key_place),
    Setting("tools.plugins", read.words),
    Setting("queue.url", read.queue_url),
    Setting("queue.prefix", read.subject_prefix),
    Setting("queue.ca_file", read.path),
    Setting("server.host", read.host),
    Setting("server.port", read.whole_number(0, 65535)),
    Setting("server.names", read.words),
    Setting("server.tls_cert", read.path),
    Setting("server.tls_key", read.path),
    Setting("server.insecure", read.flag),
    Setting("server.workers", read.flag),
    Setting("server.url", read.service_url),
    Setting("server.token_file", read.path),
    Setting("server.ca_file", read.path),
    Setting("pool", read.pool_name),
    Setting("worker.processes", read.whole_number(0, 1024)),
    Setting("lease_seconds", read.seconds(1.0, 3600.0)),
    Setting("otel.url", read.service_url),
    Setting("log.format", read.log_format),
    Setting("export.events", read.flag),
    Setting("log.level", read.log_level),
)
KNOWN = tuple(setting.key for setting in SETTINGS)
