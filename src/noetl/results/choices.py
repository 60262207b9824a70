"""What playbooks and operators write to choose a store of results (RS-06), and what locators tell of it.

    store: s3                                                    one of the operator's (results.stores), by its kind
    store: { kind: s3, bucket: acme, prefix: etl, auth: aws }    a place of the playbook's own, and who opens it

A `Spot` is one place of one kind, however it was written: by a playbook, in a setting, or in the locator of a
reference. Nothing here opens anything. What is no spot is refused: spots become file names, table names and URLs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from noetl.config import Settings
from noetl.errors import UnknownResultStore

FILES, SQLITE, POSTGRES, NATS = "files", "sqlite", "postgres", "nats_object"
SCHEMES = {"s3": "s3", "gcs": "gs", "azure": "az"}  # of buckets, as locators and settings write them
KINDS = (FILES, SQLITE, POSTGRES, NATS, *SCHEMES)
LOCAL = (FILES, SQLITE)
NAMED_BY = {POSTGRES: "table", NATS: "bucket", "azure": "container"}  # the key that says where; others: bucket
DEFAULTS = {POSTGRES: "noetl_result", NATS: "noetl-results"}
SHOWN_CHARACTERS_MAX = 80
CA_FILE = "ca_file"  # of nats://…?ca_file=/etc/ca.pem: whom to trust

# Compiled when they are first asked: few runs store anything, and every run starts.
_TABLE = r"[a-z_][a-z0-9_]{0,40}(\.[a-z_][a-z0-9_]{0,40})?"
_NATS_BUCKET = r"[A-Za-z0-9_-]{1,100}"
_BUCKET = r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9](/[A-Za-z0-9_=.-]{1,100}){0,8}"  # and folders in it
_PATTERNS = {POSTGRES: _TABLE, NATS: _NATS_BUCKET, **dict.fromkeys(SCHEMES, _BUCKET)}
_LOCATORS = (
    (r"sha256:[^/]*", FILES),
    (r"sqlite:sha256:.*", SQLITE),
    (r"postgres:([^/:]+)/sha256:.*", POSTGRES),
    (r"nats:([^/:]+)/sha256:.*", NATS),
    *((rf"{scheme}://(.+)/sha256/[^/]*", kind) for kind, scheme in SCHEMES.items()),
)


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """One place where results are kept."""

    kind: str
    name: str = ""  # the table, the bucket, or the bucket and the folders in it; nothing for local kinds

    @property
    def locator_prefix(self) -> str:
        """What its locators have before the sha256."""
        if self.kind in SCHEMES:
            return f"{SCHEMES[self.kind]}://{self.name}/sha256/"
        word = {FILES: "", SQLITE: "sqlite:", POSTGRES: f"postgres:{self.name}/", NATS: f"nats:{self.name}/"}[self.kind]
        return f"{word}sha256:"

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip()


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a playbook chose: a kind, and perhaps a place of its own and who opens it."""

    kind: str
    name: str | None = None
    auth: str | None = None

    @property
    def spot(self) -> Spot:
        return spot_of(self.kind, self.name or DEFAULTS.get(self.kind, ""))


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """One of the operator's stores: its spot, and what opens it."""

    spot: Spot
    url: str = ""  # may hold a password: never shown
    options: dict[str, str] = {}


def choice_of(written: object) -> Choice | None:
    """`spec.result.store` as a choice; None: none was made."""
    if written is None:
        return None
    if isinstance(written, str):
        return Choice(kind=_known(written))
    if not isinstance(written, Mapping):
        raise UnknownResultStore("spec.result.store must be the name of a store or a mapping with its kind")
    kind = _known(written.get("kind"))
    name, auth = _name_in(kind, written), written.get("auth")
    if auth is not None and not isinstance(auth, str):
        raise UnknownResultStore("auth of spec.result.store must be the name of a credential of the keychain")
    return Choice(kind=kind, name=name, auth=auth)


def spot_of(kind: str, name: str) -> Spot:
    """A spot, its name proved to be one."""
    pattern = _PATTERNS.get(kind)
    if (pattern and not re.fullmatch(pattern, name)) or ".." in name or (not pattern and name):
        key = NAMED_BY.get(kind, "bucket")
        raise UnknownResultStore(f'"{name[:SHOWN_CHARACTERS_MAX]}" is no {key} that a store of kind {kind} can have')
    return Spot(kind=kind, name=name)


def spot_in(locator: str) -> Spot | None:
    """The spot that a locator names; None for what is no locator."""
    for pattern, kind in _LOCATORS:
        match = re.fullmatch(pattern, locator)
        if match is not None:
            try:
                return spot_of(kind, match[1] if match.re.groups else "")
            except UnknownResultStore:
                return None
    return None


def configured(url: str) -> Configured:
    """One of the operator's stores, as results.stores writes it.

    `files`, `sqlite`, `postgresql://user@host/db?table=noetl_result`, `nats://host:4222/bucket`,
    `s3://bucket/folder?endpoint=…&region=…`, `gs://bucket/folder`, `az://container/folder?account=…`.
    """
    if url in LOCAL:
        return Configured(spot=Spot(kind=url))
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    kind = next((kind for kind, scheme in SCHEMES.items() if scheme == parts.scheme), None)
    if kind is not None:
        return Configured(spot=spot_of(kind, f"{parts.netloc}{parts.path}".rstrip("/")), options=options)
    if parts.scheme in ("postgresql", "postgres"):
        table = options.pop("table", DEFAULTS[POSTGRES])
        query = "&".join(word for word in parts.query.split("&") if word and not word.startswith("table="))
        return Configured(spot=spot_of(POSTGRES, table), url=parts._replace(query=query).geturl())
    if parts.scheme in ("nats", "tls"):
        bucket = parts.path.strip("/") or DEFAULTS[NATS]
        said = {name: options[name] for name in ("tls", CA_FILE) if name in options}
        return Configured(spot=spot_of(NATS, bucket), url=f"{parts.scheme}://{parts.netloc}", options=said)
    raise UnknownResultStore(f'there is no store of results "{parts.scheme[:SHOWN_CHARACTERS_MAX]}:…"')


def results_stores_of(settings: Settings) -> tuple[str, ...]:
    """The stores of a server or a worker of a cluster: the operator's, else the queue, which both can reach."""
    if settings.results_stores or not settings.queue_url:
        return settings.results_stores
    trusted = f"?{urlencode({CA_FILE: str(settings.queue_ca_file)})}" if settings.queue_ca_file else ""
    return (settings.queue_url.rstrip("/") + trusted,)


def _known(kind: Any) -> str:
    if not isinstance(kind, str) or kind not in KINDS:
        found = f'"{kind[:SHOWN_CHARACTERS_MAX]}"' if isinstance(kind, str) else "something else"
        raise UnknownResultStore(f"the kind of a store of results is one of {', '.join(KINDS)}, but is {found}")
    return kind


def _name_in(kind: str, written: Mapping[str, Any]) -> str | None:
    key = NAMED_BY.get(kind, "bucket")
    name, prefix = written.get(key, written.get("bucket")), written.get("prefix")
    if name is None and prefix is None:
        return None
    if not isinstance(name, str) or kind in LOCAL or not isinstance(prefix, str | None):
        raise UnknownResultStore(f"a store of kind {kind} is found by: {'nothing more' if kind in LOCAL else key}")
    return "/".join(word.strip("/") for word in (name, prefix) if word)
