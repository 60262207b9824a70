"""A server of a cluster, over a store that several share: the parts, put together.

Wires, and decides nothing. Any number of these run side by side and any of them may take any execution; workers reach
them over NATS, or are in this process where there is no queue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from noetl.access import Access
from noetl.chance import SYSTEM, Chance
from noetl.clock import AgreedClock, Clock
from noetl.config import Settings
from noetl.control.catalog import Catalog
from noetl.control.desk import Desk
from noetl.control.handing_out import HandingOut
from noetl.control.intake import Intake
from noetl.control.intake import Observer as Committed
from noetl.control.live import Executions, Live
from noetl.control.metrics import NOTHING, Meters
from noetl.control.numbering import IDS_PER_BLOCK_MAX, Numbering, PromptNumbering
from noetl.control.pumps import PUMPS, Pumps
from noetl.control.rescue import Rescue
from noetl.control.shared_following import Insistent, SharedFollowing
from noetl.control.shared_sitting import SharedSitting
from noetl.control.stored_lists import StoredLists
from noetl.control.turn import Follower
from noetl.control.worker_service import ServerForWorkers
from noetl.dsl.kinds import Kinds
from noetl.engine.commands import Operation
from noetl.errors import PASSING
from noetl.identity.sessions import Sessions
from noetl.identity.tokens import Tokens
from noetl.keychain.contract import Keychain
from noetl.results.stores import Stores
from noetl.stores.contract import Record, Store
from noetl.stores.shared import Revoked, SharedStore, Transaction

EXECUTIONS_KEPT_MAX = 20_000
SESSIONS_SWEPT_SECONDS = 60.0
TIME_HEARD_SECONDS = 10.0
log = logging.getLogger("noetl.cluster")


class StoredDocuments:
    """The records of a store, as the strongbox of credentials needs them."""

    def __init__(self, store: Store) -> None:
        self.name = store.name
        self._store = store

    async def read(self, room: str, name: str) -> Record | None:
        return await self._store.record(room, name)

    async def write(self, room: str, name: str, version: int, body: bytes) -> bool:
        return await self._store.put_record(Record(room=room, name=name, version=version, body=body))


class ClusterServer:
    """See above. Made by `opened`, which has the connections that its pumps need."""

    def __init__(
        self,
        settings: Settings,
        store: SharedStore,
        transactions: list[Transaction],
        *,
        clock: AgreedClock,
        kinds: Kinds,
        keychain: Keychain,
        results: Stores,
        observer: Committed,
        meters: Meters = NOTHING,
        chance: Chance = SYSTEM,
    ) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.chance = chance
        self.results = results
        self.keychain = keychain
        self.transactions = transactions
        self.catalog = Catalog(store, kinds, clock)
        self.executions = Executions(store, self.catalog, results, EXECUTIONS_KEPT_MAX)
        self.access = Access(results, keychain, self.executions)
        self.lists = StoredLists(store, self.access.read_by, self.access.write_by)
        self.numbering = PromptNumbering(store)
        self.numbering_of_children = Numbering(store, IDS_PER_BLOCK_MAX)  # they are many, and made within a transaction
        self.revoke: Callable[[list[Revoked]], None] = lambda _revoked: None
        self.handing = self._handing_out(meters)
        self.pumps = Pumps(store, self.executions, [self._pump(one, observer, meters) for one in transactions])
        self.insistent = Insistent(self.pumps, clock)
        self.following = self._following()
        self.pumps.follow_with(Follower(self.following.within, self.following.after))
        self.rescue = self._rescue(meters)
        self.tokens = Tokens(store, clock, chance.new_secret)
        self.sessions = Sessions(store, self.tokens, clock, chance.new_secret)
        self.service = self._service()
        self.desk = self._desk()

    def _handing_out(self, meters: Meters) -> HandingOut:
        return HandingOut(
            store=self.store,
            lists=self.lists,
            clock=self.clock,
            nonce=self.chance.new_nonce(),
            post=self._post,
            settled=self._settled,
            lease_seconds=self.settings.lease_seconds,
            meters=meters,
        )

    def _following(self) -> SharedFollowing:
        return SharedFollowing(
            pump=self.insistent,
            catalog=self.catalog,
            store=self.store,
            lists=self.lists,
            new_id=self.numbering_of_children.new_id,
            settled=self.pumps.settled,
        )

    def _rescue(self, meters: Meters) -> Rescue:
        return Rescue(
            store=self.store,
            following=self.following,
            handing=self.handing,
            settled=self.pumps.settled,
            clock=self.clock,
            chance=self.chance.random,
            meters=meters,
        )

    def _service(self) -> ServerForWorkers:
        return ServerForWorkers(
            store=self.store,
            pumps=self.pumps,
            handing=self.handing,
            sessions=self.sessions,
            keychain=self.keychain,
            lease_seconds=self.settings.lease_seconds,
            allowed=self.settings.keychain_pools_allow,
        )

    def _desk(self) -> Desk:
        return Desk(
            store=self.store,
            catalog=self.catalog,
            pump=self.pumps,
            keychain=self.keychain,
            clock=self.clock,
            new_id=self.numbering.new_id,
            new_trace=self.chance.new_trace,
        )

    def _pump(self, transaction: Transaction, observer: Committed, meters: Meters) -> Intake:
        sitting = SharedSitting(
            transaction=transaction,
            executions=self.executions,
            handing=self.handing,
            clock=self.clock,
            new_tag=self.chance.new_tag,
            revoke=lambda revoked: self.revoke(revoked),
        )
        return Intake(
            store=self.store,
            sitting=sitting,
            results=self.results,
            executions=self.executions,
            clock=self.clock,
            observer=observer,
            meters=meters,
            is_lasting=True,
            on_taken=self.numbering_of_children.forget,
        )

    def _post(self, operation: Operation) -> None:
        self.pumps.post(operation)

    async def _settled(self, execution_ids: Any, use: Callable[[Live], None]) -> None:
        await self.pumps.settled(execution_ids, use)

    def parts(self) -> list[Coroutine[Any, Any, None]]:
        """What runs as long as the server does."""
        return [
            *(pump.run() for pump in self.pumps.pumps),
            self.handing.run(self.chance.random),
            self.rescue.run(),
            self._sweep_sessions(),
            self._keep_time(),
        ]

    async def _keep_time(self) -> None:
        """The store's clock is the one that counts; this machine's may run slower or faster."""
        while True:
            await self.clock.sleep(TIME_HEARD_SECONDS * (0.5 + self.chance.random()))
            try:
                self.clock.agree(await self.store.clock_ahead_seconds())
            except PASSING as error:
                log.info("the store's clock cannot be read: %s", error, extra={"action": "clock_unread"})

    async def _sweep_sessions(self) -> None:
        while True:
            await self.clock.sleep(SESSIONS_SWEPT_SECONDS * (0.5 + self.chance.random()))
            try:
                await self.sessions.sweep()
            except PASSING as error:
                log.warning("sessions are not swept: %s", error, extra={"action": "sweep_refused"})

    @property
    def is_idle(self) -> bool:
        """Whether all that was asked is decided, and what follows from it too."""
        return self.pumps.is_idle and not self.insistent.under_way

    async def close(self) -> None:
        await self.insistent.close()
        for transaction in self.transactions:
            await transaction.close()


async def opened(
    settings: Settings,
    store: SharedStore,
    *,
    clock: Clock,
    kinds: Kinds,
    keychain: Keychain,
    results: Stores,
    observer: Committed,
    meters: Meters = NOTHING,
    chance: Chance = SYSTEM,
) -> ClusterServer:
    """The parts of a server over a store, ready to run."""
    agreed = AgreedClock(clock)
    agreed.agree(await store.clock_ahead_seconds())
    transactions = [await store.transaction() for _ in range(PUMPS)]
    return ClusterServer(
        settings,
        store,
        transactions,
        clock=agreed,
        kinds=kinds,
        keychain=keychain,
        results=results,
        observer=observer,
        meters=meters,
        chance=chance,
    )
