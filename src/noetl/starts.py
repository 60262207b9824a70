"""What starts playbooks by itself, on a server: schedules, webhooks, NATS subjects. Wires, and decides nothing."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec

from noetl.api.parts import Parts
from noetl.chance import SYSTEM, Chance
from noetl.clock import Clock
from noetl.config import Settings
from noetl.control.desk import Desk
from noetl.control.metrics import NOTHING, Meters
from noetl.dsl.trigger_documents import NatsSource
from noetl.errors import MissingLibrary, OperatorError, RequestError
from noetl.keychain.contract import Keychain
from noetl.queues.subjects import Listener
from noetl.secret import Declared, revealed
from noetl.starting.firing import Scheduler
from noetl.starting.hooks import Hooks
from noetl.starting.schedules import Schedules
from noetl.starting.subscriptions import Subscriptions
from noetl.starting.trigger_starts import TriggerStarts
from noetl.starting.triggers import Triggers
from noetl.stores.contract import Store

NATS = "nats"
OWN = ("$", "_INBOX")  # subjects of NATS itself


class Starts:
    """The parts, for the API to ask and for a server to run."""

    def __init__(
        self,
        settings: Settings,
        desk: Desk,
        store: Store,
        clock: Clock,
        meters: Meters = NOTHING,
        chance: Chance = SYSTEM,
    ) -> None:
        self.settings = settings
        self.keychain: Keychain = desk.keychain
        self.schedules = Schedules(store, clock, chance.random)
        self.scheduler = Scheduler(desk, store, clock, chance.random, meters)
        self.triggers = Triggers(store, clock)
        self.trigger_starts = TriggerStarts(self.triggers, desk, clock, meters)
        self.hooks = Hooks(self.trigger_starts, desk.keychain, clock)
        self.subscriptions = Subscriptions(self.trigger_starts, self._listener, clock)

    def parts(self) -> list[Coroutine[Any, Any, None]]:
        """What runs as long as the server does."""
        return [self.scheduler.run(), self.trigger_starts.run(), self.subscriptions.run()]

    async def _listener(self, source: NatsSource) -> Listener:
        try:
            from noetl.messaging.server import server_of
            from noetl.messaging.signing import UnusableCredential
            from noetl.queues.nats_subjects import NatsListener
        except ImportError:
            raise MissingLibrary('a trigger of a NATS subject needs: pip install "noetl[nats]"') from None
        name, fields = await self._server_fields(source)
        try:
            server = server_of(name, fields)
        except UnusableCredential as error:
            raise OperatorError(str(error)) from None
        return NatsListener(server, subject=source.subject, queue=source.queue, stream=source.stream)

    async def _server_fields(self, source: NatsSource) -> tuple[str, dict[str, Any]]:
        if source.credential is not None:
            try:
                entry = await self.keychain.resolve(Declared(name=source.credential, kind=NATS))
            except LookupError as error:
                raise RequestError(f'the credential "{source.credential}" cannot be had: {error}') from error
            return source.credential, revealed(dict(entry))
        if not self.settings.queue_url:
            raise RequestError("this server has no NATS: name one with nats.credential, or set queue.url")
        refuse_own_subjects(source.subject, self.settings.queue_prefix)
        file = self.settings.queue_ca_file
        return "queue.url", {"url": self.settings.queue_url, "ca": file.read_text("ascii") if file else None}


def refuse_own_subjects(subject: str, prefix: str) -> None:
    """Over the cluster's own connection nobody may listen in on what its servers and workers say to each other."""
    first = subject.partition(".")[0]
    if first in ("*", ">", prefix.partition(".")[0]) or first.startswith(OWN):
        raise RequestError(
            f'the subject "{subject}" would hear what the cluster says to itself; name another, or another NATS server '
            "with nats.credential"
        )


def with_starts(parts: Parts, starts: Starts) -> Parts:
    """The parts of the API, these among them."""
    return msgspec.structs.replace(parts, schedules=starts.schedules, triggers=starts.triggers, hooks=starts.hooks)
