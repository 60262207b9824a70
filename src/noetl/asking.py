"""Asking the process that has the store: the other side of control/inbox.py."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from noetl.control.inbox import ANSWER, LOOK_SECONDS, REQUEST, Answer, Request, write_whole
from noetl.errors import RequestError

ANSWER_SECONDS_MAX = 10.0


def ask(folder: Path, request: Request) -> dict[str, Any] | None:
    """Hand a request to the process that has the store; None: it did not answer, since it is ending or just begins."""
    if not folder.is_dir():
        return None
    file = folder / f"{os.getpid()}-{time.monotonic_ns()}{REQUEST}"
    write_whole(file, msgspec.json.encode(request))
    answer_file = file.with_suffix(ANSWER)
    try:
        answer = _awaited(answer_file)
    finally:
        file.unlink(missing_ok=True)
        answer_file.unlink(missing_ok=True)
    if answer is not None and answer.error:
        raise RequestError(answer.error)
    return answer.result if answer else None


def _awaited(file: Path) -> Answer | None:
    until = time.monotonic() + ANSWER_SECONDS_MAX
    while time.monotonic() < until:
        if file.exists():
            return msgspec.json.decode(file.read_bytes(), type=Answer)
        time.sleep(LOOK_SECONDS / 2)
    return None
