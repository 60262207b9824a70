"""What keeps a program that a task starts apart from the worker that starts it (security 11).

    inline    nothing: the code runs inside the worker. Only where an operator allowed it.
    process   a process group of its own, limits, and an environment without the worker's secrets. Stops accidents, not
              an attacker: the program runs as the worker's user. The default.
    sandbox   besides, namespaces, another user and a filter of system calls (sandbox.py). A worker that cannot give it
              refuses the task rather than run it in the open.

A `Fence` is what a child process is started behind; OPEN_FENCE is that of level `process`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import msgspec

from noetl.tools.refused import Refused

INLINE, PROCESS, SANDBOX = "inline", "process", "sandbox"
LEVELS = (INLINE, PROCESS, SANDBOX)
PASSED_ON = frozenset(("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR"))
PASSED_ON_PREFIX = "LC_"
QUESTIONS_PER_CHILD_MAX = 10_000  # each starts an interpreter, which quick code would wait for


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What to start a program with."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    descriptors: tuple[int, ...] = ()  # to be handed over besides the program's own


class Fence(Protocol):
    """What a child is started behind."""

    questions_max: int  # after which a child is replaced

    @property
    def preparation(self) -> str:
        """Python that a child runs before it serves."""
        ...

    def around(self, words: Sequence[str], env: Mapping[str, str]) -> AbstractContextManager[Launch]:
        """How to start a program behind it; what that needs is there until the end of the block."""
        ...


class OpenFence:
    """Level process: nothing besides what every child has."""

    questions_max = QUESTIONS_PER_CHILD_MAX
    preparation = ""

    @contextmanager
    def around(self, words: Sequence[str], env: Mapping[str, str]) -> Iterator[Launch]:
        yield Launch(words=tuple(words), env=env)


OPEN_FENCE = OpenFence()


def scrubbed_environment(*also: str) -> dict[str, str]:
    """The worker's environment as a task's program may see it: places and language, no settings and no tokens."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_PREFIX) or name in also
    }


def level_of(spec: Mapping[str, Any]) -> str:
    """The level that a task asks for; raises Refused for a word that is none."""
    level = str(spec.get("isolation") or PROCESS)
    if level not in LEVELS:
        raise Refused("exception", f'spec.isolation must be one of {", ".join(LEVELS)}, but is "{level[:40]}"')
    return level


def require_process_level(spec: Mapping[str, Any]) -> None:
    """Raise Refused for a task of a kind that knows no other level, if it asks for one."""
    level = level_of(spec)
    if level == PROCESS:
        return
    why = "and a task that asks for a sandbox is never run without" if level == SANDBOX else "only kind python does"
    raise Refused("exception", f'spec.isolation is "{level}", which this kind does not have, {why}. Use "{PROCESS}"')
