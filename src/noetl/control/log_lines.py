"""Lines of an execution's log: found by its ledger, read from the store, in pages and as they come.

A page reads only the events that hold what it shows, as many at once as stand close together. Where a text is looked
for, every candidate must be read, so a page looks at READ_MAX events at most and says where to go on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

from noetl.control.listening import Item, encode
from noetl.control.projected import Projected
from noetl.control.reading import EVENTS_PER_READ, row_of
from noetl.control.watching import Watching
from noetl.engine.events import TaskDone, timestamp
from noetl.projections.ledger import Ledger
from noetl.projections.lines import LEVELS, Place, Sought, level_of
from noetl.stores.contract import LIVE, Execution, Store

READ_MAX = 20_000  # events, for one page
TOGETHER = 64  # events that lie between two of interest are read with them
STREAM_PAGE = 500
LINE_CHARACTERS_MAX = 16_384
LINE = "line"
Row = dict[str, Any]


class Sent:
    """How far a stream is."""

    def __init__(self, seq: int) -> None:
        self.seq = seq


class LogLines:
    """The lines of executions."""

    def __init__(self, store: Store, projected: Projected, watching: Watching) -> None:
        self._store = store
        self._projected = projected
        self._watching = watching

    async def page(self, row: Execution, sought: Sought, after: int, limit: int) -> dict[str, Any]:
        """Lines of the events after one, whole events, until there are `limit`."""
        ledger = await self._projected.ledger(row)
        places, rows, looked = ledger.lines.after(after, sought), list[Row](), 0
        while len(rows) < limit and looked < READ_MAX and (share := list(islice(places, limit - len(rows)))):
            printed, read = await self._printed(row.id, share)
            looked += read + len(share)
            for place in share:
                rows += _rows(ledger, place, printed.get(place.seq), sought)
                after = place.seq
                if len(rows) >= limit:
                    break
        is_more = next(ledger.lines.after(after, sought), None) is not None
        return {"lines": rows, "is_cut": ledger.lines.is_cut, "next": after if is_more else None}

    async def stream(self, row: Execution, sought: Sought, after: int) -> AsyncIterator[Item | str]:
        """Those lines that there are, then each as it comes, until the execution has ended.

        A text is the last thing that comes: why no more does, though it has not ended.
        """
        sent = Sent(min(after, row.head))
        async for item in self._there(row, sought, sent):
            yield item
        newest = await row_of(self._store, row.id)
        if newest.status not in LIVE and sent.seq >= newest.head:
            return
        names = await self._projected.envelopes(newest, sent.seq)
        async for told in self._watching.events(row.id, sent.seq, names):
            if isinstance(told, str):
                yield told
                return
            if told.seq > sent.seq:  # else it was read along with an earlier one
                async for item in self._there(await row_of(self._store, row.id), sought, sent):
                    yield item

    async def _there(self, row: Execution, sought: Sought, sent: Sent) -> AsyncIterator[Item]:
        """The lines that there are after what was sent.

        The last of an event's lines has its number: whoever comes back gets none twice, or, if the connection broke
        among an event's lines, all of them again.
        """
        top, after = (await self._projected.ledger(row)).seq, sent.seq
        while True:
            page = await self.page(row, sought, after, STREAM_PAGE)
            lines = page["lines"]
            for place, line in enumerate(lines, 1):
                is_whole = place == len(lines) or lines[place]["seq"] != line["seq"]
                yield Item(line["seq"] if is_whole else 0, LINE, encode(line))
                sent.seq = line["seq"]
            if page["next"] is None:
                break
            after = page["next"]
        sent.seq = max(sent.seq, top)

    async def _printed(self, execution_id: int, share: list[Place]) -> tuple[dict[int, TaskDone], int]:
        """The events that hold what was printed, and how many were read for them."""
        found: dict[int, TaskDone] = {}
        read = 0
        for first, last in _stretches([place.seq for place in share if place.printed]):
            rows = await self._store.events(execution_id, first - 1, last - first + 1)
            read += len(rows)
            found |= {seq: event for seq, event in rows if isinstance(event, TaskDone) and event.logs}
        return found, read


def _stretches(seqs: list[int]) -> Iterator[tuple[int, int]]:
    """Numbers that stand close together, from the first to the last of each lot."""
    first = last = 0
    for seq in seqs:
        if last and (seq - last > TOGETHER or seq - first >= EVENTS_PER_READ):
            yield first, last
            first = 0
        first, last = first or seq, seq
    if last:
        yield first, last


def _rows(ledger: Ledger, place: Place, event: TaskDone | None, sought: Sought) -> list[Row]:
    """The lines of one event that are sought."""
    texts = [(line, level_of(text), text) for line, text in enumerate(event.logs)] if event else []
    if place.fact:
        texts.append((place.printed, place.fact_level, ledger.messages[place.fact]))
    within = sought.text.casefold() if sought.text else ""
    return [
        _row(ledger, place, line, level, text)
        for line, level, text in texts
        if level >= sought.least and within in text.casefold()
    ]


def _row(ledger: Ledger, place: Place, line: int, level: int, text: str) -> Row:
    return {
        "seq": place.seq,
        "line": line,
        "at": timestamp(place.at),
        "level": LEVELS[level],
        "source": "task" if line < place.printed else "engine",
        "step": ledger.names.shown(place.step),
        "run": place.run or None,
        "iteration": place.iteration if place.iteration >= 0 else None,
        "task": ledger.names.shown(place.task),
        "attempt": place.attempt or None,
        "text": text if len(text) <= LINE_CHARACTERS_MAX else f"{text[:LINE_CHARACTERS_MAX]}…",
    }
