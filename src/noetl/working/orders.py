"""What a supervisor and a worker process say to each other: one line each way. Light: the supervisor runs no task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from noetl.config import Settings

ORDERS_BYTES_MAX = 1024 * 1024


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What a supervisor tells a process."""

    settings: Settings
    drain_seconds: float


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What a process says to its supervisor."""

    is_ready: bool = False
    refused: str = ""  # why it is no worker; a message for people
    exit_code: int = 0


def encode_orders(orders: Orders) -> bytes:
    return msgspec.json.encode(orders, enc_hook=str) + b"\n"


def decode_orders(line: bytes) -> Orders:
    return msgspec.json.decode(line, type=Orders, dec_hook=_path)


def _path(kind: type, value: Any) -> Any:
    if kind is not Path:
        raise NotImplementedError
    return Path(value)
