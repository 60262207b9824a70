"""The message server of a simulated world, and the ways through its network.

    link   a server's or a worker's connection to it: `links.py`
    line   a user's way to one server, as by HTTP: `line.py`

A message goes in from a link; who gets it is settled at once (`listeners.py`), and when, or whether, by the faults it
meets (`carriage.py`). It is addressed to a process, so one that dies meanwhile never gets it, nor does its successor.
Nothing is kept for anybody, but by streams (`streams.py`). What happens to the whole is for the world to say: `stop`,
`start`, `break_link`, `killed`, and the clogs of `carriage`.
"""

from __future__ import annotations

from itertools import count

from noetl.testing.simulator.network.carriage import Carriage, Faults, Place
from noetl.testing.simulator.network.line import Line
from noetl.testing.simulator.network.links import SimLetter, SimLink, SimSubscription
from noetl.testing.simulator.network.listeners import Listeners
from noetl.testing.simulator.network.streams import Streams

MESSAGE_BYTES_MAX = 1024 * 1024


class Network:
    """See above. `place`: the node that the message server runs as."""

    def __init__(self, faults: Faults, place: Place, *, message_bytes_max: int = MESSAGE_BYTES_MAX) -> None:
        self.faults = faults
        self.place = place
        self.message_bytes_max = message_bytes_max
        self.is_down = False
        self.carriage = Carriage(faults)
        self.listeners: Listeners[SimSubscription] = Listeners(faults.random)
        self.streams = Streams()
        self._links: list[SimLink] = []
        self._inboxes: dict[str, SimLink] = {}
        self._numbers = count(1)

    # --- ways through it ---------------------------------------------------------------------------------------------

    def link(self, node: Place, *, inbox: str) -> SimLink:
        """A new link of that process; `start` it. Answers come under `inbox`."""
        link = SimLink(self, node, f"{inbox}.{next(self._numbers)}")
        self._links.append(link)
        return link

    def line(self, node: Place) -> Line:
        """The way of that user to any server."""
        return Line(node, self.carriage)

    # --- what happens to it ------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """The message server stops: every connection breaks, and what was under way fails."""
        self.is_down = True
        for link in self._links:
            link.break_off("connection refused")
        self.listeners.clear()
        self._inboxes.clear()

    def start(self) -> None:
        """It is there again; links come back one by one, each after its pause."""
        self.is_down = False

    def break_link(self, node: Place) -> None:
        """The connection of one process breaks, which is noticed at both ends and mended after a pause."""
        for link in self._links:
            if link.node is node:
                link.break_off("the connection broke")

    def killed(self, node: Place) -> None:
        """That process is dead; until it is noticed here, messages go to it and are lost."""
        for link in [one for one in self._links if one.node is node]:
            self._links.remove(link)
            link.vanish()
            self.place.later(self.faults.notice_seconds(node.name), self.leave, link)

    def is_cut_off(self, node: Place) -> bool:
        """Whether a partition stands between that node and the message server."""
        return self.faults.is_cut(node.name, self.place.name)

    # --- what links ask ----------------------------------------------------------------------------------------------

    def join(self, link: SimLink) -> None:
        self._inboxes[link.inbox] = link
        for subscription in link.subscriptions:
            self.listeners.add(subscription)

    def leave(self, link: SimLink) -> None:
        self._inboxes.pop(link.inbox, None)
        for subscription in link.subscriptions:
            self.listeners.remove(subscription)

    def send(
        self, link: SimLink, subject: str, data: bytes, reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Give a message to whoever is to get it. To a request that nobody hears the message server says so."""
        if self.is_cut_off(link.node):
            link.suspect()
            return
        inbox, _, number = subject.rpartition(".")
        asker = self._inboxes.get(inbox)
        if asker is not None:
            self._deliver(link, asker, number, data)
            return
        takers = self.listeners.takers(subject)
        for taker in takers:
            self._hand(link, taker, SimLetter(subject, data, reply))
        if reply and not takers:
            self._answer_itself(link, subject, data, reply, headers or {})

    def _deliver(self, link: SimLink, asker: SimLink, number: str, data: bytes) -> None:
        if self.is_cut_off(asker.node):
            asker.suspect()
            return
        self.carriage.carry(link.node, asker.node, asker.hear_answer, number, data)

    def _hand(self, link: SimLink, taker: SimSubscription, letter: SimLetter) -> None:
        if self.is_cut_off(taker.link.node):
            taker.link.suspect()
            return
        self.carriage.carry(link.node, taker.link.node, taker.hear, letter)

    def _answer_itself(self, link: SimLink, subject: str, data: bytes, reply: str, headers: dict[str, str]) -> None:
        number = reply.rpartition(".")[2]
        if self.streams.listens_to(subject):
            self.carriage.carry(link.node, self.place, self._keep, link, subject, data, number, headers)
        else:
            self.carriage.carry(self.place, link.node, link.hear_nobody, number)

    def _keep(self, link: SimLink, subject: str, data: bytes, number: str, headers: dict[str, str]) -> None:
        if self.is_down:
            return
        answer = self.streams.answer(subject, data, headers)
        self.carriage.carry(self.place, link.node, link.hear_answer, number, answer)
