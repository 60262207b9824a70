"""Who does what a verb asks: this machine, over its own store, or a server (`--server`). Chosen here and nowhere else.

Both sides have the same functions, so verbs do not know which they talk to. Neither is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from noetl.config import Settings

if TYPE_CHECKING:
    from noetl.proving import Proof
    from noetl.server import Observer, RerunRequest, RunRequest, RunResult

Row = dict[str, Any]


class ExportedFile(Protocol):
    """An execution as one file, on its way."""

    @property
    def name(self) -> str: ...

    @property
    def pieces(self) -> Iterator[bytes]: ...


class Executions(Protocol):
    """`noetl.server`, or `noetl.remote`."""

    def run(self, settings: Settings, request: RunRequest, observer: Observer) -> RunResult: ...

    def resume(
        self, settings: Settings, execution_id: int, observer: Observer, wait_seconds: float = 0.0
    ) -> RunResult: ...

    def rerun(
        self, settings: Settings, request: RerunRequest, observer: Observer, wait_seconds: float = 0.0
    ) -> RunResult: ...

    def rerun_all(
        self, settings: Settings, requests: Sequence[RerunRequest], tell: Callable[[Row], None], wait_seconds: float
    ) -> bool: ...

    def cancel(self, settings: Settings, execution_id: int, reason: str) -> Row: ...

    def signal(self, settings: Settings, execution_id: int, patches: dict[str, Any]) -> Row: ...

    def catalog_register(
        self, settings: Settings, data: bytes, name: str, folder: str, is_legacy: bool, is_upstream: bool
    ) -> Row: ...

    def sweep(self, settings: Settings, keep_days: int | None, *, is_dry_run: bool, is_alone: bool = False) -> Row: ...

    def list_executions(self, settings: Settings, limit: int, filters: Mapping[str, Any] = ...) -> list[Row]: ...

    def named(self, settings: Settings, digits: str, limit: int) -> list[Row]: ...

    def show(self, settings: Settings, execution_id: int) -> Row: ...

    def events(self, settings: Settings, execution_id: int, after: int = 0) -> Iterator[Row]: ...

    def follow(self, settings: Settings, execution_id: int, after: int = 0) -> Iterator[Row]: ...

    def export(self, settings: Settings, execution_id: int, payload_bytes_max: int | None = None) -> ExportedFile: ...

    def import_file(self, settings: Settings, file: BinaryIO, wait_seconds: float = 0.0) -> Row: ...

    def replay(self, settings: Settings, execution_id: int, at: int | None) -> Row: ...

    def verify(self, settings: Settings, execution_id: int) -> Row: ...

    def why(self, settings: Settings, execution_id: int, step: str) -> Row: ...

    def diff(self, settings: Settings, before: int, after: int) -> Row: ...

    def evaluate(
        self, settings: Settings, execution_id: int, expression: str, at: int | None, place: dict[str, Any]
    ) -> Row: ...

    def catalog_list(self, settings: Settings) -> list[Row]: ...

    def catalog_show(self, settings: Settings, path: str, version: int | None) -> Row: ...


class Credentials(Protocol):
    """`noetl.safekeeping`, or `noetl.remote.keychain`."""

    def keep(self, settings: Settings, name: str, kind: str, fields: Mapping[str, Any]) -> Row: ...

    def apply(
        self, settings: Settings, documents: Iterable[tuple[str, str, Mapping[str, Any]]], folder: Path
    ) -> list[Row]: ...

    def listed(self, settings: Settings) -> list[Row]: ...

    def remove(self, settings: Settings, name: str) -> None: ...

    def rotate(self, settings: Settings) -> Row: ...


class Tokens(Protocol):
    """`noetl.issuing`, or `noetl.remote.tokens`."""

    def create(
        self,
        settings: Settings,
        *,
        role: str,
        label: str,
        pool: str,
        path_prefix: str,
        expires_in_seconds: float | None,
    ) -> Row: ...

    def listed(self, settings: Settings) -> list[Row]: ...

    def revoke(self, settings: Settings, token_id: str) -> Row: ...


class Schedules(Protocol):
    """`noetl.scheduling`, or `noetl.remote.scheduling`."""

    def apply(self, data: bytes, name: str) -> list[Row]: ...

    def listed(self) -> list[Row]: ...

    def shown(self, name: str, count: int) -> Row: ...

    def pause(self, name: str) -> Row: ...

    def resume(self, name: str) -> Row: ...

    def run(self, name: str) -> Row: ...

    def remove(self, name: str) -> None: ...


class Triggers(Protocol):
    """As above."""

    def apply(self, data: bytes, name: str) -> list[Row]: ...

    def listed(self) -> list[Row]: ...

    def shown(self, name: str) -> Row: ...

    def remove(self, name: str) -> None: ...


def executions_of(settings: Settings) -> Executions:
    if settings.server_url:
        from noetl import remote

        return remote
    from noetl import server

    return server


def keychain_of(settings: Settings) -> Credentials:
    if settings.server_url:
        from noetl.remote import keychain

        return keychain
    from noetl import safekeeping

    return safekeeping


def tokens_of(settings: Settings) -> Tokens:
    if settings.server_url:
        from noetl.remote import tokens

        return tokens
    from noetl import issuing

    return issuing


def schedules_of(settings: Settings) -> Schedules:
    if settings.server_url:
        from noetl.remote.scheduling import RemoteSchedules

        return RemoteSchedules(settings)
    from noetl.scheduling import OwnSchedules

    return OwnSchedules(settings)


def triggers_of(settings: Settings) -> Triggers:
    if settings.server_url:
        from noetl.remote.scheduling import RemoteTriggers

        return RemoteTriggers(settings)
    from noetl.scheduling import OwnTriggers

    return OwnTriggers(settings)


def proof_of(settings: Settings, name: str, kind: str | None, *, is_connecting: bool) -> Proof:
    """Whether a credential works, where it is kept."""
    if settings.server_url:
        from noetl.remote.keychain import prove

        return prove(settings, name, is_connecting=is_connecting)
    from noetl.proving import prove as prove_here

    return prove_here(settings, name, kind, is_connecting=is_connecting)


def is_empty(settings: Settings) -> bool:
    """Whether nothing was ever kept here: a home in which nothing ran yet has no store."""
    return not settings.server_url and not settings.is_shared and not settings.store_path.exists()


def place_name(settings: Settings) -> str:
    """Where verbs look, for messages; of a PostgreSQL what may be shown."""
    if settings.server_url:
        return settings.server_url
    return settings.store_url if not settings.is_shared else f"postgresql://{settings.store_url.rpartition('@')[2]}"
