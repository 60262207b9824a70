"""Who listens to what on the simulated message server: subjects with wildcards, and queues of which one gets each
message. `*` stands for one word of a subject, `>` at its end for one or more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar


class Listener(Protocol):
    subject: str
    queue: str  # "": it gets everything


Some = TypeVar("Some", bound=Listener)


class Audience(NamedTuple, Generic[Some]):
    """Of one subject."""

    everybody: list[Some]
    queues: list[list[Some]]


class Listeners(Generic[Some]):
    """In the order in which they came; `random` chooses within a queue."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._listeners: list[Some] = []
        self._audiences: dict[str, Audience[Some]] = {}  # until somebody comes or goes

    def add(self, listener: Some) -> None:
        self._listeners.append(listener)
        self._audiences.clear()

    def remove(self, listener: Some) -> None:
        """It may be gone already."""
        if listener in self._listeners:
            self._listeners.remove(listener)
            self._audiences.clear()

    def clear(self) -> None:
        self._listeners.clear()
        self._audiences.clear()

    def takers(self, subject: str) -> list[Some]:
        """Who gets one message on that subject."""
        audience = self._audiences.get(subject)
        if audience is None:
            audience = self._audiences[subject] = self._audience(subject)
        if not audience.queues:
            return audience.everybody
        drawn = [queue[int(self._random() * len(queue))] if len(queue) > 1 else queue[0] for queue in audience.queues]
        return audience.everybody + drawn

    def _audience(self, subject: str) -> Audience[Some]:
        found = [one for one in self._listeners if matches(one.subject, subject)]
        queues: dict[str, list[Some]] = {}
        for listener in found:
            if listener.queue:
                queues.setdefault(listener.queue, []).append(listener)
        return Audience([one for one in found if not one.queue], list(queues.values()))


def matches(pattern: str, subject: str) -> bool:
    if pattern == subject:
        return True
    wanted, found = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted.pop()
        if len(found) <= len(wanted):
            return False
        found = found[: len(wanted)]
    return len(wanted) == len(found) and all(one in ("*", other) for one, other in zip(wanted, found, strict=True))
