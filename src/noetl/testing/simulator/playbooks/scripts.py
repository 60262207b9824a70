"""What a scripted tool does: a pure function of what its task says and of which execution of the task it is.

The script stands in the playbook, as input of the task, so that a run shows what was to happen; the reference run asks
the same function. An execution of an attempt that is made again, after a crash, comes to the same.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from zlib import crc32

import msgspec

from noetl.secret import MASK

ERROR_STATUSES = {"server_error": 503, "rate_limit": 429, "not_found": 404, "client_error": 400}  # of http
PASSING = frozenset(("server_error", "rate_limit", "connection", "timeout"))  # another try may help
RETRY_AFTER_SECONDS = 2.0
IN_ERROR, IN_LOG = "error", "log"  # where else than in its data a task tells its secret
WAYS: dict[str, Callable[[str], str]] = {  # how it does so in its data, each a form that the product promises to find
    "plain": lambda secret: secret,
    "long": lambda secret: f"Bearer {secret}, as it was given",
    "base64": lambda secret: base64.b64encode(secret.encode()).decode() if secret != MASK else MASK,
}
TEMPLATE, DISGUISE = ("{{", "}}"), ("<<", ">>")  # of planned steps, which the planner's own input must not render


class Script(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a task behaves."""

    salt: int
    fails: list[str | None] = []  # error.kind of the first, second, … attempt; None: that one goes well
    fails_always: str = ""  # error.kind of every further attempt
    only: list[int] | None = None  # the innermost iterations whose attempts fail; None: all
    pad_bytes: int = 0  # ballast in its result
    seconds: float = 0.0  # how long it takes
    has_tag: bool = False  # a mapping in its result
    tells: list[str] = []  # where it tells the secret that it is given
    plan: str | None = None  # of a planner: the steps it gives, as JSON, their templates disguised


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """Which execution of a task it is, and what it was given."""

    label: str
    indexes: tuple[int, ...] = ()  # of the iterations it stands in, outermost first
    visit: int = 1
    attempt: int = 1
    value: Any = None  # its further input
    previous: Any = None  # `_prev`, if it is handed on
    secret: str = MASK  # what is recorded of one is the mask, in whatever form it was told
    timeout_seconds: float | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of it. `error_kind` empty: the data; a time-out is nothing that the tool says itself."""

    data: dict[str, Any] | None = None
    error_kind: str = ""
    message: str = "the script says so"  # of an error
    logs: tuple[str, ...] = ()
    seconds: float = 0.0


def outcome(script: Script, of: Circumstances) -> Outcome:
    """What one execution of a task comes to."""
    if of.timeout_seconds is not None and script.seconds >= of.timeout_seconds:
        return Outcome(error_kind="timeout", seconds=script.seconds)
    kind = _error_kind(script, of)
    logs = (f"logged in with {of.secret}",) if IN_LOG in script.tells else ()
    if not kind:
        return Outcome(data=_data(script, of), logs=logs, seconds=script.seconds)
    if IN_ERROR in script.tells:
        return Outcome(error_kind=kind, message=f"refused: {of.secret}", logs=logs, seconds=script.seconds)
    return Outcome(error_kind=kind, logs=logs, seconds=script.seconds)


def _error_kind(script: Script, of: Circumstances) -> str:
    if script.only is not None and of.indexes[-1:] and of.indexes[-1] not in script.only:
        return ""
    if of.attempt <= len(script.fails):
        return script.fails[of.attempt - 1] or ""
    return script.fails_always


def _data(script: Script, of: Circumstances) -> dict[str, Any]:
    mark = mark_of(of)
    number = crc32(f"{mark}:{of.value}:{script.salt}".encode()) % 10
    data: dict[str, Any] = {"n": number, "by": mark, "saw": seen(of.previous)}
    if script.has_tag:
        data["tag"] = {f"k{number % 3}": number}
    if told := {way: WAYS[way](of.secret) for way in script.tells if way in WAYS}:
        data["told"] = told
    if script.plan is not None:
        data["steps"] = _steps(script.plan)
    if script.pad_bytes:
        data["pad"] = "x" * script.pad_bytes
    return data


def disguised(steps: list[dict[str, Any]]) -> str:
    """Steps as the script of a planner has them."""
    return _respelt(msgspec.json.encode(steps).decode(), TEMPLATE, DISGUISE)


def _steps(plan: str) -> Any:
    return msgspec.json.decode(_respelt(plan, DISGUISE, TEMPLATE))


def _respelt(text: str, before: tuple[str, str], after: tuple[str, str]) -> str:
    return text.replace(before[0], after[0]).replace(before[1], after[1])


def mark_of(of: Circumstances) -> str:
    """Whose result it is: no other task run of the step run has the same."""
    return f"{of.label}:{'.'.join(map(str, of.indexes))}:{of.visit}:{of.attempt}"


def seen(previous: Any) -> str | None:
    """Whose result `_prev` is, where that can be told."""
    return previous.get("by") if isinstance(previous, dict) else None
