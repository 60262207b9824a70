"""A pool of warm children that answer quick questions by the handful: the same as `children.Children`, with lanes.

In: a question as bytes, and its `pace`, a word that questions of about the same length share (the code of a task). Out:
the answer as bytes, or TimeoutError, ChildDied, AnswerTooLarge. A child with something to do holds a slot. While a slot
is free a question gets a child of its own; when none is, it goes behind questions that are known to be quick, whether
it is quick itself or not, as long as those are less than QUEUE_SECONDS_MAX of expected work; else it waits, in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

from noetl.tools.children import ChildDied, launched
from noetl.tools.guard import Guard
from noetl.tools.isolation import OPEN_FENCE, Fence
from noetl.tools.lanes import Answered, Asked, Lane, open_lane

UNDER_WAY_MAX = 16
QUEUE_SECONDS_MAX = 0.002
PACES_MAX = 256
NOT_STARTED = "was not started: the worker stops"
ENDED = "was ended: the worker stops"
FADING = 0.9  # by which a long time is forgotten with each shorter one


class Lanes:
    """The pool."""

    def __init__(self, module: str, *, slots: asyncio.Semaphore, slots_max: int, fence: Fence = OPEN_FENCE) -> None:
        """`slots` may be shared with another pool, `slots_max` is how many there are."""
        self.module = module
        self.fence = fence
        self.guard = Guard()
        self.idle: list[Lane] = []  # the one used last is taken first: its memory is warm
        self.busy: set[Lane] = set()
        self._slots = slots
        self._slots_max = slots_max
        self._serving: set[asyncio.Task[None]] = set()
        self._waiting: deque[Asked] = deque()
        self._paces: dict[str, float] = {}  # what a question of that pace is expected to take, in seconds
        self._is_closed = False

    async def ask(self, question: bytes, *, pace: str, answer_bytes_max: int, seconds: float | None) -> bytes:
        """One answer. `seconds` count from when a child begins; TimeoutError: it took longer, and was killed."""
        if self._is_closed:
            raise ChildDied(NOT_STARTED)
        asked = Asked(question, pace, answer_bytes_max, seconds)
        self._waiting.append(asked)
        self._hand_out()
        try:
            return await asked.future
        except asyncio.CancelledError:
            lane = asked.lane
            if lane is not None:
                lane.stop(asked)
                if lane.is_over:
                    await lane.gone.wait()
            raise

    async def close(self) -> None:
        """End all children, busy ones too."""
        self._is_closed = True
        _refuse(self._waiting)
        self._waiting.clear()
        for lane in self.busy:
            lane.finish(ChildDied(ENDED))
        await asyncio.gather(*self._serving, return_exceptions=True)  # some leave an idle child; faults go to who asked
        await asyncio.gather(*(lane.end() for lane in self.idle))
        self.idle.clear()
        await self.guard.close()

    # --- handing out -------------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        if len(self._serving) < self._slots_max:
            self._serve_another()
            return
        for lane in self.busy:
            self._feed(lane)

    def _serve_another(self) -> None:
        task = asyncio.get_running_loop().create_task(self._serve())
        self._serving.add(task)
        task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._serving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail_next(error)
        if self._waiting and not self._is_closed:
            self._hand_out()

    def _fail_next(self, error: BaseException) -> None:
        """A child could not be started: whoever is next hears of it."""
        while self._waiting:
            asked = self._waiting.popleft()
            if asked.is_wanted:
                asked.future.set_exception(error)
                return

    async def _serve(self) -> None:
        """Hold a slot and a child for as long as there is something to ask."""
        async with self._slots:
            while self._waiting and not self._waiting[0].is_wanted:
                self._waiting.popleft()
            if not self._waiting:
                return
            lane = await self._take()
            self.busy.add(lane)
            try:
                self._feed(lane)
                await lane.rested()
            finally:
                self.busy.discard(lane)
                if lane.is_over:
                    await lane.end()
                    self._ask_again(lane.given_back())
                else:
                    self.idle.append(lane)

    async def _take(self) -> Lane:
        while self.idle and not self.idle[-1].is_alive:
            await self.idle.pop().end()  # it died while nobody looked
        if self.idle:
            return self.idle.pop()
        process, ours = await launched(self.module, self.guard, self.fence)
        return await open_lane(process, ours, self.guard, self.fence.questions_max, self._on_answer)

    def _feed(self, lane: Lane) -> None:
        waiting = self._waiting
        while waiting and not lane.is_over and lane.questions_left > 0:
            asked = waiting[0]
            if asked.is_wanted:
                asked.seconds_expected = self._paces.get(asked.pace, QUEUE_SECONDS_MAX)
                if lane.under_way and not self._has_room(lane):
                    return
                lane.send(asked)
            waiting.popleft()

    def _has_room(self, lane: Lane) -> bool:
        return len(lane.under_way) < UNDER_WAY_MAX and lane.seconds_expected < QUEUE_SECONDS_MAX

    # --- taking in ---------------------------------------------------------------------------------------------------

    def _on_answer(self, lane: Lane, answered: Answered) -> None:
        self._note_pace(answered.pace, answered.seconds)
        self._ask_again(answered.unbegun)
        self._feed(lane)
        if not lane.under_way:
            lane.rest()

    def _ask_again(self, unbegun: list[Asked]) -> None:
        """What a child did not begin comes before all others, and goes wherever a slot is."""
        if self._is_closed:
            _refuse(unbegun)
            return
        self._waiting.extendleft(reversed(unbegun))
        for _ in unbegun[1:]:
            self._hand_out()

    def _note_pace(self, pace: str, seconds: float) -> None:
        """The longest of late: one that is slow now and then is slow."""
        if pace not in self._paces and len(self._paces) >= PACES_MAX:
            self._paces.clear()
        self._paces[pace] = max(seconds, self._paces.get(pace, 0.0) * FADING)


def _refuse(waiting: Iterable[Asked]) -> None:
    for asked in waiting:
        if asked.is_wanted:
            asked.future.set_exception(ChildDied(NOT_STARTED))
