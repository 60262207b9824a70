"""A pool of warm child processes that answer questions: what kinds that run foreign code in a process of its own share.

In: a question as bytes. Out: the answer as bytes, or one of the exceptions below. The pool starts children when they
are needed, at most `slots` at once (further questions wait in order), and uses them again. A child that was
interrupted, died, says that it is spent or has answered often is ended with its whole process group, and the next
question gets a new one. What a question means only the child's module and its tool know; what a child is started behind
is a fence (isolation.py).

A child is this interpreter with a module's `serve(descriptor)`. Frames on the socket behind the descriptor, numbers of
4 bytes with the most significant first:

    to the child      length, round, question
    from the child    length, flags (1 byte), microseconds that it took, answer

REUSABLE among the flags: the child can be used again. DROPPED: it goes on to the next round, and leaves unbegun what
it was asked in this one and has not answered (lanes.py asks several questions at once; here it is always one).
Bytes of JSON, never pickle: a hostile child must not own the worker. Its standard streams are /dev/null.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
from pathlib import Path

from noetl.tools.guard import Guard, how_it_ended
from noetl.tools.isolation import OPEN_FENCE, Fence, scrubbed_environment

EXIT_SECONDS_MAX = 1.0  # from the end of the stream to the end of the process
QUESTION_HEADER = struct.Struct("!II")
ANSWER_HEADER = struct.Struct("!IBI")
REUSABLE, DROPPED = 1, 2
# -I leaves out PYTHONPATH, so the place of the package is given; last, so that nothing in it hides another module.
BOOT = "import sys; sys.path.append(sys.argv[1]); {preparation}\nfrom {module} import serve; serve(int(sys.argv[2]))"
PACKAGES = Path(__file__).parents[2]
INTERPRETER_NEEDS = ("LD_LIBRARY_PATH",)  # some builds of Python find their own library by it


class ChildDied(Exception):
    """The child ended before it had answered; the message says how."""


class AnswerTooLarge(Exception):
    """The child began an answer of more bytes than allowed; none of it was read."""


class Child:
    """One running child."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        guard: Guard,
        questions_max: int,
    ) -> None:
        self.process = process
        self.reader = reader
        self.writer = writer
        self.guard = guard
        self.questions_left = questions_max
        self.round = 0
        self.watch = asyncio.create_task(self._watch())

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    async def ask(self, question: bytes, answer_bytes_max: int) -> tuple[bytes, bool]:
        """The answer, and whether the child can be asked again."""
        self.questions_left -= 1
        try:
            self.writer.write(QUESTION_HEADER.pack(len(question), self.round) + question)
            await self.writer.drain()
            length, flags, _ = ANSWER_HEADER.unpack(await self.reader.readexactly(ANSWER_HEADER.size))
            if length > answer_bytes_max:
                raise AnswerTooLarge
            answer = await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise ChildDied(await self._how_it_died()) from error
        if flags & DROPPED:
            self.round += 1
        return answer, bool(flags & REUSABLE) and self.questions_left > 0

    async def end(self) -> None:
        """Kill the child and all that it started."""
        self.writer.transport.abort()
        await self.guard.end(self.process)
        await self.watch

    async def _watch(self) -> None:
        """A process that the child forked holds the socket too, so the end of the child may not end the stream."""
        await self.process.wait()
        self.writer.transport.abort()

    async def _how_it_died(self) -> str:
        await asyncio.wait({self.watch}, timeout=EXIT_SECONDS_MAX)
        if self.process.returncode is None:
            return "closed its connection"
        return how_it_ended(self.process.returncode)


class Children:
    """The pool."""

    def __init__(self, module: str, *, slots: int | asyncio.Semaphore, fence: Fence = OPEN_FENCE) -> None:
        self.module = module
        self.slots = asyncio.Semaphore(slots) if isinstance(slots, int) else slots  # or shared with another pool
        self.fence = fence
        self.guard = Guard()
        self.idle: list[Child] = []  # the one used last is taken first: its memory is warm
        self.busy: set[Child] = set()

    async def ask(
        self,
        question: bytes,
        *,
        answer_bytes_max: int,
        seconds: float | None,
        pace: str = "",  # a child has one question at a time here, however long it takes
    ) -> bytes:
        """One answer. `seconds` count from when a child is free; TimeoutError: it took longer, and was killed."""
        async with self.slots:
            child = await self._take()
            is_reusable = False
            try:
                async with asyncio.timeout(seconds):
                    answer, is_reusable = await child.ask(question, answer_bytes_max)
            finally:
                self.busy.discard(child)
                if is_reusable:
                    self.idle.append(child)
                else:
                    await child.end()
            return answer

    async def close(self) -> None:
        """End all children, busy ones too."""
        children = [*self.idle, *self.busy]
        self.idle.clear()
        await asyncio.gather(*(child.end() for child in children))
        await self.guard.close()

    async def _take(self) -> Child:
        while self.idle and not self.idle[-1].is_alive:
            await self.idle.pop().end()  # it died while nobody looked
        if self.idle:
            child = self.idle.pop()
        else:
            child = await start_child(self.module, self.guard, self.fence)
        self.busy.add(child)
        return child


async def start_child(module: str, guard: Guard, fence: Fence = OPEN_FENCE) -> Child:
    process, ours = await launched(module, guard, fence)
    try:
        reader, writer = await asyncio.open_connection(sock=ours)
    except BaseException:
        ours.close()
        await guard.end(process)
        raise
    return Child(process, reader, writer, guard, fence.questions_max)


async def launched(
    module: str, guard: Guard, fence: Fence = OPEN_FENCE
) -> tuple[asyncio.subprocess.Process, socket.socket]:
    """A new child and our end of its socket. Started with -I: neither PYTHON… variables nor the working directory say
    what it imports."""
    environment = scrubbed_environment(*INTERPRETER_NEEDS)
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as undo:
        undo.callback(ours.close)
        with theirs:
            descriptor = theirs.fileno()
            boot = BOOT.format(module=module, preparation=fence.preparation)
            words = (sys.executable, "-I", "-X", "utf8", "-c", boot, str(PACKAGES), str(descriptor))
            with fence.around(words, environment) as launch:
                descriptors = (descriptor, *launch.descriptors)
                process = await guard.start(launch.words, env=launch.env, pass_fds=descriptors)
        undo.pop_all()
    return process, ours
