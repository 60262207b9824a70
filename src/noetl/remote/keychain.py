"""The credentials of a server, as `noetl.safekeeping` has those of this machine: values go there and stay there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from noetl.config import Settings
from noetl.errors import RequestError
from noetl.remote.line import open_line, word

if TYPE_CHECKING:
    from noetl.proving import Proof

KEYCHAIN = "/api/v1/keychain"
FOR_PAGES = ("is_stored", "used_by", "uses")


def keep(settings: Settings, name: str, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Store a credential on the server, encrypted, in place of the one with its name."""
    with closing(open_line(settings)) as line:
        return _whole(line.put(f"{KEYCHAIN}/{word(name)}", {"kind": kind, "fields": dict(fields)}))


def apply(
    settings: Settings,
    documents: Iterable[tuple[str, str, Mapping[str, Any]]],  # noqa: ARG001 - as `noetl.safekeeping` has it
    folder: Path,  # noqa: ARG001
) -> NoReturn:
    """Refused."""
    _only_there(settings, "apply")


def listed(settings: Settings) -> list[dict[str, Any]]:
    """What the server has; what its workers find in their own environment is not known there."""
    with closing(open_line(settings)) as line:
        return [_whole(row) | {"shadowed_by": None} for row in line.get(KEYCHAIN)["credentials"]]


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """With all keys that a row has here, and no others; which key seals it is the server's business."""
    return {"key_id": None, **{name: value for name, value in row.items() if name not in FOR_PAGES}}


def remove(settings: Settings, name: str) -> None:
    with closing(open_line(settings)) as line:
        line.delete(f"{KEYCHAIN}/{word(name)}")


def prove(settings: Settings, name: str, *, is_connecting: bool) -> Proof:
    """Whether a credential of the server works, tried there; it is of the kind that it was stored as."""
    from noetl.proving import Proof

    with closing(open_line(settings)) as line:
        return msgspec.convert(line.post(f"{KEYCHAIN}/{word(name)}/test", {"is_connecting": is_connecting}), Proof)


def rotate(settings: Settings) -> NoReturn:
    """Refused."""
    _only_there(settings, "rotate")


def _only_there(settings: Settings, verb: str) -> NoReturn:
    raise RequestError(
        f"noetl keychain {verb} needs the keys, which are only on the server's machine: run it there, without --server "
        f"({settings.server_url})"
    )
