"""How anything gets from one simulated process to another: lost, doubled, late, held up, or as it should.

A call goes in with the nodes it goes between, and happens in the context of the receiver after a while, once, twice or
never. What befalls each is asked of `Faults`, which a world answers from its tape; order is whatever the delays make
of it. A node that is dead when its message arrives gets nothing, a paused one gets it when it goes on: that is the
loop's part. Nothing is drawn but through `Faults`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

WAITING_MAX = 10_000  # messages held up by clogs at a time; more are lost
IN_ORDER_SECONDS = 1e-6  # between two that waited in one clog, so that their order stands


class Place(Protocol):
    """A node, as far as messages need it."""

    @property
    def name(self) -> str: ...

    @property
    def is_alive(self) -> bool: ...

    def later(self, seconds: float, call: Callable[..., object], *given: Any) -> object:
        """Do it after so long as this node; never, if it is dead then."""
        ...


class Faults(Protocol):
    """What befalls messages, by the names of the nodes they go between."""

    def drop(self, sender: str, receiver: str) -> bool: ...

    def duplicate(self, sender: str, receiver: str) -> bool: ...

    def delay_seconds(self, sender: str, receiver: str) -> float:
        """How long this one is under way; asked once for each copy."""
        ...

    def is_cut(self, one: str, other: str) -> bool:
        """Whether nothing passes between the two now, in either direction."""
        ...

    def is_swizzled(self, name: str) -> bool:
        """Whether what a clog of that node held up arrives in any order."""
        ...

    def notice_seconds(self, name: str) -> float:
        """How long the message server takes to notice that this process is dead."""
        ...

    def random(self) -> float:
        """From 0 to 1, for choices that are no faults: which listener of a queue gets it, how long a pause is."""
        ...


class Held(NamedTuple):
    """A message that waits in a clog."""

    sender: Place
    receiver: Place
    call: Callable[..., None]
    given: tuple[Any, ...]


class Carriage:
    """See above."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self._clogged: dict[str, None] = {}
        self._held: list[Held] = []

    def carry(self, sender: Place, receiver: Place, call: Callable[..., None], *given: Any) -> None:
        """Let this happen at the receiver, as far as faults let it."""
        faults, one, other = self.faults, sender.name, receiver.name
        if faults.is_cut(one, other) or faults.drop(one, other):
            return
        self._send(Held(sender, receiver, call, given))
        if faults.duplicate(one, other):
            self._send(Held(sender, receiver, call, given))

    def _send(self, message: Held) -> None:
        if self._clogged and self._is_held_up(message):
            if len(self._held) < WAITING_MAX:
                self._held.append(message)
            return
        delay_seconds = self.faults.delay_seconds(message.sender.name, message.receiver.name)
        message.receiver.later(delay_seconds, message.call, *message.given)

    # --- clogs -------------------------------------------------------------------------------------------------------

    def clog(self, name: str) -> None:
        """From now on everything to and from that node waits."""
        self._clogged[name] = None

    def unclog(self, name: str) -> None:
        """What waited for that node only goes on: in the order in which it was sent, or swizzled."""
        if name not in self._clogged:
            return
        del self._clogged[name]
        held, self._held = self._held, []
        freed: list[Held] = []
        for message in held:
            (self._held if self._is_held_up(message) else freed).append(message)
        if self.faults.is_swizzled(name):
            for message in freed:
                self._send(message)
        else:
            self._send_in_order(name, freed)

    def _send_in_order(self, name: str, messages: list[Held]) -> None:
        if not messages:
            return
        begin_seconds = self.faults.delay_seconds(name, messages[0].receiver.name)
        for number, message in enumerate(messages):
            message.receiver.later(begin_seconds + number * IN_ORDER_SECONDS, message.call, *message.given)

    def _is_held_up(self, message: Held) -> bool:
        return message.sender.name in self._clogged or message.receiver.name in self._clogged
