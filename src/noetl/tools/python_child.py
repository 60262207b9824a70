"""The program of a warm child of kind python: questions in, answers out, over the socket it is given (children.py).

A question is a JSON mapping of code, name, input, context, libs, execution_id, memory_bytes, answer_bytes_max and
is_last (nothing is asked after it, so its limits cannot be raised again). An answer:

    data      the value of the code (python_code.py, json_data.py)
    error     null, or {kind, message, exception_type, line, traceback} (python_answer.py)
    stdout    what was printed, its first part
    logs      the same in lines, with the number of those left out

The code runs in the main thread under a soft limit of memory. What it changed of the environment, the working directory
and sys.path is put back. A child in which threads or processes are left, or whose memory ran out or stayed large, says
that it is spent. Nothing here tries to stop code that means harm: the process is the fence.

Starting a child must stay cheap: what only some code needs (ast, asyncio, inspect) is imported when it does.
"""

from __future__ import annotations

import _thread
import io
import json
import os
import resource
import struct
import sys
import time

from noetl.tools.json_data import as_json
from noetl.tools.python_answer import Printed, encoded, error_of
from noetl.tools.python_code import MODULE_NAME, value_of

TYPE_CHECKING = False  # typing is an import of 3 ms, in every child
if TYPE_CHECKING:
    from typing import Any

QUESTION_HEADER = struct.Struct("!II")
ANSWER_HEADER = struct.Struct("!IBI")
REUSABLE, DROPPED = 1, 2
QUICK_SECONDS_MAX = 0.002  # after a longer one, what waits behind it is left to other children
MICROSECONDS = 1_000_000
MICROSECONDS_MAX = 2**32 - 1
READ_BYTES_MAX = 1024 * 1024
DESCRIPTORS_MAX = 1024
ANSWER_MEMORY_BYTES = 16 * 1024 * 1024
RESIDENT_BYTES_MAX = 512 * 1024 * 1024  # a child that stays above this after a call is spent


def serve(descriptor: int) -> None:
    """Answer until the worker closes its end."""
    os.set_inheritable(descriptor, False)  # not for the programs that the code starts
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold secrets
    limit_descriptors()
    child, questions, now_round = Child(), Questions(descriptor), 0
    while (found := questions.next()) is not None:
        asked_round, question = found
        if asked_round != now_round:
            continue  # the worker asks it of another child
        started_at = time.monotonic()
        answer, is_reusable = child.answer(json.loads(question))
        seconds = time.monotonic() - started_at
        is_slow = seconds > QUICK_SECONDS_MAX
        now_round += is_slow
        send(descriptor, frame(answer, is_reusable=is_reusable, is_dropping=is_slow, seconds=seconds))
        if not is_reusable:
            return


def frame(answer: bytes, *, is_reusable: bool, is_dropping: bool = False, seconds: float = 0.0) -> bytes:
    """An answer as it is sent."""
    flags = REUSABLE * is_reusable | DROPPED * is_dropping
    microseconds = min(int(seconds * MICROSECONDS), MICROSECONDS_MAX)
    return ANSWER_HEADER.pack(len(answer), flags, microseconds) + answer


def limit_descriptors() -> None:
    """So that code which forgets to close its files fails, and not the machine."""
    most = least(resource.getrlimit(resource.RLIMIT_NOFILE)[1], DESCRIPTORS_MAX)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Questions:
    """What comes in, as much of it as is there in one system call."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.received = bytearray()

    def next(self) -> tuple[int, bytes] | None:
        """The round of a question and the question; None at the end of the stream."""
        if not self.has(QUESTION_HEADER.size):
            return None
        length, asked_round = QUESTION_HEADER.unpack_from(self.received)
        end = QUESTION_HEADER.size + length
        if not self.has(end):
            return None
        question = bytes(self.received[QUESTION_HEADER.size : end])
        del self.received[:end]
        return asked_round, question

    def has(self, length: int) -> bool:
        """Wait for so many bytes; False: the stream has ended."""
        while len(self.received) < length:
            part = os.read(self.descriptor, READ_BYTES_MAX)
            if not part:
                return False
            self.received += part
        return True


def send(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


class Child:
    """What stays the same from one question to the next, so that one task's code does not see another's."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self.folder = os.getcwd()  # noqa: PTH109 - pathlib is an import of 4 ms
        self.paths = list(sys.path)
        self.data_bytes = memory_bytes("VmData")
        self.open_streams()

    def open_streams(self) -> None:
        """One stream for the life of the child: handlers of logging keep the one they once saw."""
        self.printed = Printed()
        self.stream = io.TextIOWrapper(self.printed, encoding="utf-8", errors="replace", write_through=True)

    def answer(self, question: dict[str, Any]) -> tuple[bytes, bool]:
        """The answer, and whether this child can be asked again."""
        data, error = b"null", None
        sys.stdout = sys.stderr = self.stream
        lifted = self.limit_memory(question["memory_bytes"], is_final=question["is_last"])
        try:
            data = as_json(value_of(question), question["answer_bytes_max"])
        except BaseException as raised:  # whatever code may raise is its result
            lift_memory(lifted)  # the words for it need some
            error = error_of(raised, question["name"], question["code"])
        finally:
            lift_memory(lifted)
            sys.modules.pop(MODULE_NAME, None)
        is_out_of_memory = error is not None and error["exception_type"] == "MemoryError"
        is_spent = question["is_last"] or is_out_of_memory or is_occupied() or is_large()
        answer = encoded(data, error, self.printed)
        if self.stream.closed:
            self.open_streams()
        return answer, not is_spent and self.tidy()

    def limit_memory(self, memory_bytes_max: int, *, is_final: bool) -> tuple[int, int] | None:
        """Lower the soft limit, and if it is final the hard one too, but for what the answer needs.

        Gives the limits to go back to, or None if the system does not count memory this way. RLIMIT_DATA counts what is
        private and writable; RLIMIT_AS would count mapped libraries, gigabytes of them.
        """
        if not self.data_bytes:
            return None
        before = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = self.data_bytes + memory_bytes_max
        hard = least(before[1], wanted + ANSWER_MEMORY_BYTES) if is_final else before[1]
        resource.setrlimit(resource.RLIMIT_DATA, (least(hard, wanted), hard))
        return (hard, hard) if is_final else before

    def tidy(self) -> bool:
        """Put back what the code may have changed; False if that cannot be done."""
        try:
            if os.environ != self.environment:
                os.environ.clear()
                os.environ.update(self.environment)
            os.chdir(self.folder)
        except OSError:
            return False
        sys.path[:] = self.paths
        return True


def lift_memory(limits: tuple[int, int] | None) -> None:
    if limits is not None:
        resource.setrlimit(resource.RLIMIT_DATA, limits)


def least(limit: int, wanted: int) -> int:
    return wanted if limit == resource.RLIM_INFINITY else min(limit, wanted)


def is_occupied() -> bool:
    """Whether the code left threads or processes behind."""
    if _thread._count():
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def is_large() -> bool:
    """The peak is read first: it costs a tenth of the present size."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return peak > RESIDENT_BYTES_MAX and (memory_bytes("VmRSS") or peak) > RESIDENT_BYTES_MAX


def memory_bytes(what: str) -> int:
    """A figure of this process, from Linux; 0 elsewhere."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - as above
            words = next((line.split() for line in status if line.startswith(what)), ["", "0"])
    except OSError:
        return 0
    return int(words[1]) * 1024
