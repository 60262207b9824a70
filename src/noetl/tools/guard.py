"""Processes that tasks start, each leading a group of its own, none of which outlives the worker.

A worker that is told to stop ends its groups itself. One that is killed cannot, so a small shell process watches: it
holds one end of a pipe, is told the groups by number, and when the pipe closes, however the worker went, it kills the
groups that are left. A parent-death signal would reach the leader only, and on Linux only.

A process that leaves its group (setsid) escapes: level `process` guards against accidents, not against intent.

A new process is in our own group for the moment before it leads one. A Ctrl-C that comes just then ends it before it
has become the program that was asked for, and the task would seem to have failed: it is started again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

STOP_SECONDS_MAX = 5.0
STARTS_MAX = 3  # of one process, where Ctrl-C is pressed again and again

# `for` goes over the list as it was when it began, so the list can be rebuilt meanwhile.
WATCH = """
set --
while read -r verb group; do
  case $verb in
    watch) set -- "$@" "$group" ;;
    release) for each do shift; [ "$each" = "$group" ] || set -- "$@" "$each"; done ;;
  esac
done
for group do kill -s KILL -- "-$group" 2>/dev/null; done
"""


class Guard:
    """Starts processes and ends them, with all that they started in turn."""

    def __init__(self) -> None:
        self.groups: set[int] = set()
        self.watcher: subprocess.Popen[bytes] | None = None

    async def start(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.DEVNULL,
        pass_fds: Sequence[int] = (),
    ) -> asyncio.subprocess.Process:
        """Start a process. It is watched when this returns; if this is cancelled it is gone.

        The streams are descriptors, never PIPE: some versions of asyncio report the end of a process only after the
        end of its pipes, and a grandchild may hold those open for ever.
        """
        self._ensure_watcher()  # before the fork: afterwards there should be as little to do as possible
        begin = partial(
            self._started, words, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=pass_fds
        )
        process, starts = await begin(), 1
        while starts < STARTS_MAX and await was_interrupted(process):
            process, starts = await begin(), starts + 1
        self.groups.add(process.pid)
        self._tell(f"watch {process.pid}")
        return process

    async def _started(self, words: Sequence[str], **options: Any) -> asyncio.subprocess.Process:
        starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*words, start_new_session=True, **options))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, ValueError):  # it could not be started anyway
                await self.end(await starting)
            raise

    async def end(self, process: asyncio.subprocess.Process) -> int:
        """Kill the whole group, whether or not its leader still runs, and give the leader's exit code."""
        kill_group(process.pid)
        try:
            return await process.wait()
        finally:
            if process.pid in self.groups:
                self.groups.discard(process.pid)
                self._tell(f"release {process.pid}")

    async def close(self) -> None:
        """Let the watcher kill what is left, and end."""
        if self.watcher is None:
            return
        watcher, self.watcher = self.watcher, None
        if watcher.stdin is not None:
            watcher.stdin.close()
        await asyncio.to_thread(watcher.wait, STOP_SECONDS_MAX)

    def _ensure_watcher(self) -> None:
        if self.watcher is None or self.watcher.poll() is not None:
            if self.watcher is not None and self.watcher.stdin is not None:
                self.watcher.stdin.close()
            self.watcher = subprocess.Popen(
                ["/bin/sh", "-c", WATCH], stdin=subprocess.PIPE, env={}, start_new_session=True, bufsize=0
            )
            for group in self.groups:
                self._tell(f"watch {group}")

    def _tell(self, line: str) -> None:
        """A line is far smaller than the pipe's buffer and the watcher does nothing but read, so this never waits."""
        if self.watcher is not None and self.watcher.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it was killed; the next start puts another in its place
                self.watcher.stdin.write(f"{line}\n".encode())


async def was_interrupted(process: asyncio.subprocess.Process) -> bool:
    """Whether a new process is gone already, by a Ctrl-C that was meant for us."""
    return has_ended(process) and await process.wait() == -signal.SIGINT


def has_ended(process: asyncio.subprocess.Process) -> bool:
    """Look without taking the exit code, which is the event loop's to take."""
    if process.returncode is not None or not hasattr(os, "waitid"):  # macOS has none before Python 3.13
        return process.returncode is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True  # it has been taken


def kill_group(group: int) -> None:
    # PermissionError: macOS says so of a group in which only zombies are left
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def how_it_ended(exit_code: int) -> str:
    """An exit code in words; negative is a signal."""
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    hint = " (by the system for want of memory, or by an operator)" if -exit_code == signal.SIGKILL else ""
    return f"was killed by {name}{hint}"
