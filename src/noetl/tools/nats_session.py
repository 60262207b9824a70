"""What one operation on NATS has in hand: the connection, the call's fields, its bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import Header

from noetl.engine.output import Output
from noetl.tools.contract import Call
from noetl.tools.refused import Refused

TEXT_BYTES_MAX = 1_000  # a longer subject breaks the connection, which other tasks share


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One operation under way."""

    client: Client
    stream: JetStreamContext
    call: Call
    given: Mapping[str, Any]
    bytes_max: int
    answer_seconds: float  # for one answer of the server

    def text(self, name: str) -> str:
        """A field that the operation needs. Raises Refused."""
        value = self.given.get(name)
        if not isinstance(value, str) or not value:
            raise Refused("type", f"operation: {self.given['operation']} needs {name}, a text")
        if len(value.encode("utf-8", "replace")) > TEXT_BYTES_MAX:
            raise Refused("type", f"{name} may have {TEXT_BYTES_MAX} bytes, but has more")
        return value

    def text_if_given(self, name: str) -> str | None:
        """A field that the operation can do without. Raises Refused."""
        return self.text(name) if self.given.get(name) else None

    def number(self, name: str, default: Any) -> Any:
        """A field that the checker has seen, unless a template made it. Raises Refused."""
        value = self.given.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise Refused("type", f"{name} must be a number from 0, but is {type(value).__name__}")
        return value

    @property
    def message_id(self) -> dict[str, str]:
        """The header by which a stream knows a message that comes a second time."""
        return {Header.MSG_ID.value: self.call.key_abroad}


Operation = Callable[[Session], Awaitable[Output]]


def done(
    data: Any = None,
    *,
    ref: dict[str, Any] | None = None,
    revision: int | None = None,
    sequence: int | None = None,
    is_duplicate: bool = False,
) -> Output:
    """The output of an operation that succeeded."""
    helper = {"revision": revision, "sequence": sequence, "duplicate": is_duplicate}
    return Output(data=data, ref=ref, helpers={"nats": helper})
