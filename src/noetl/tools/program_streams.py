"""One program of the system from its start to its end: its standard streams, with a bound on each.

In: what to start. Out: its ending: exit code, what it wrote. Never more than the bounds is kept in memory, and the
program, with its whole process group, is gone when this returns or is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import msgspec

from noetl.tools.guard import Guard, kill_group

DRAIN_SECONDS_MAX = 1.0  # for what is left in the pipes of a program that is gone


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One program to run."""

    label: str  # what messages call it
    words: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None = None
    stdin: bytes | None = None  # None: nothing to read


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a program."""

    exit_code: int  # negative: the signal that killed it
    stdout: bytes = b""
    stderr: bytes = b""  # its last part
    is_stdout_over: bool = False  # it wrote more than allowed, and was killed for it


class Stream(asyncio.Protocol):
    """One of the standard streams, from when it is attached until it has ended."""

    def __init__(self) -> None:
        self.transport: asyncio.BaseTransport | None = None
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.ended.set()


class Head(Stream):
    """Keeps what comes until it is too much, and says so once."""

    def __init__(self, bytes_max: int, on_over: Callable[[], None]) -> None:
        super().__init__()
        self.bytes_max = bytes_max
        self.on_over = on_over
        self.kept = bytearray()
        self.is_over = False

    def data_received(self, data: bytes) -> None:
        if self.is_over:
            return
        self.kept += data
        if len(self.kept) > self.bytes_max:
            self.is_over = True
            self.on_over()


class Tail(Stream):
    """Keeps the last part of what comes: errors are told at the end."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__()
        self.bytes_max = bytes_max
        self.kept = bytearray()

    def data_received(self, data: bytes) -> None:
        self.kept += data
        if len(self.kept) > 2 * self.bytes_max:  # twice, so that not every piece moves the whole
            del self.kept[: -self.bytes_max]

    def last(self) -> bytes:
        return bytes(self.kept[-self.bytes_max :])


class Pipes:
    """The ends of a program's standard streams: ours to read and write, theirs to hand over."""

    def __init__(self, undo: contextlib.ExitStack, *, has_stdin: bool) -> None:
        self.undo = undo  # closes the files, in whatever way this ends
        self.stdout, self.their_stdout = self._pipe()
        self.stderr, self.their_stderr = self._pipe()
        self.stdin: IO[bytes] | None = None
        if has_stdin:
            self.their_stdin, self.stdin = self._pipe()
        else:
            self.their_stdin = self._open(os.open(os.devnull, os.O_RDONLY))

    def close_theirs(self) -> None:
        for end in (self.their_stdin, self.their_stdout, self.their_stderr):
            end.close()

    async def attach(self, stdout: Head, stderr: Tail, stdin: Stream, given: bytes) -> None:
        """Begin to read, and to write what the program is given."""
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: stdout, self.stdout)
        await loop.connect_read_pipe(lambda: stderr, self.stderr)
        if self.stdin is not None:
            writing, _ = await loop.connect_write_pipe(lambda: stdin, self.stdin)
            writing.write(given)
            writing.write_eof()

    def _pipe(self) -> tuple[IO[bytes], IO[bytes]]:
        reading, writing = os.pipe()
        return self._open(reading), self._open(writing, "wb")

    def _open(self, descriptor: int, mode: str = "rb") -> IO[bytes]:
        return self.undo.enter_context(os.fdopen(descriptor, mode, buffering=0))


async def run_program(program: Program, guard: Guard, *, stdout_bytes_max: int, stderr_bytes_max: int) -> Ending:
    """Run one program to its end. Raises OSError or ValueError if it cannot be started."""
    with contextlib.ExitStack() as undo:
        pipes = Pipes(undo, has_stdin=program.stdin is not None)
        process = await guard.start(
            program.words,
            env=program.env,
            cwd=program.cwd,
            stdin=pipes.their_stdin.fileno(),
            stdout=pipes.their_stdout.fileno(),
            stderr=pipes.their_stderr.fileno(),
        )
        stdout, stderr = Head(stdout_bytes_max, lambda: kill_group(process.pid)), Tail(stderr_bytes_max)
        stdin = Stream()
        try:
            pipes.close_theirs()
            await pipes.attach(stdout, stderr, stdin, program.stdin or b"")
            exit_code = await process.wait()
        finally:
            await guard.end(process)  # and what it left in the background, which may hold the pipes open
            await drained(stdout, stderr, stdin)
        return Ending(
            exit_code=exit_code,
            stdout=bytes(stdout.kept[:stdout_bytes_max]),
            stderr=stderr.last(),
            is_stdout_over=stdout.is_over,
        )


async def drained(*streams: Stream) -> None:
    """Wait for the ends of the streams, but not for ever: a process that left its group may keep them open."""
    attached = [stream for stream in streams if stream.transport is not None]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS_MAX):
            for stream in attached:
                await stream.ended.wait()
    for stream in attached:
        if isinstance(stream.transport, asyncio.WriteTransport):
            stream.transport.abort()
        elif stream.transport is not None:
            stream.transport.close()
