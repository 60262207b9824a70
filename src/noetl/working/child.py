"""A worker process under a supervisor: `python -m noetl.working.child`, with a pipe on each side.

On standard input comes one line, the `Orders`: settings do not go as arguments, which anybody may read, for a URL may
hold a password. Then nothing more comes, and the end of it means that the supervisor is gone, however it went: the
process gives its jobs back and ends. A thread waits for that, so that a loop which hangs does not outlive its
supervisor. On standard output goes one `Word`: that it takes jobs, or why it cannot. Whatever else the process
prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import msgspec

from noetl import lasting
from noetl.errors import NoetlError
from noetl.working.alone import stopped_by_signals
from noetl.working.orders import ORDERS_BYTES_MAX, Orders, Word, decode_orders
from noetl.working.process import Stop, work

ORPHAN_SECONDS_MAX = 8.0  # to give the jobs back
EXIT_ORPHAN = 1


def main() -> int:
    orders = decode_orders(sys.stdin.buffer.readline(ORDERS_BYTES_MAX))
    words = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what is printed by mistake is no word
    try:
        lasting.run(_work(orders, words))
    except NoetlError as error:
        words.write(msgspec.json.encode(Word(refused=str(error), exit_code=error.exit_code)) + b"\n")
        return error.exit_code
    return 0


async def _work(orders: Orders, words: Any) -> None:
    stop = stopped_by_signals(orders.drain_seconds)
    threading.Thread(target=_end_with_supervisor, args=(asyncio.get_running_loop(), stop), daemon=True).start()
    ready = msgspec.json.encode(Word(is_ready=True)) + b"\n"
    await work(orders.settings, stop, lambda: words.write(ready))


def _end_with_supervisor(loop: asyncio.AbstractEventLoop, stop: Stop) -> None:
    while os.read(0, 1):
        pass
    with suppress(RuntimeError):  # it has ended by itself just now
        loop.call_soon_threadsafe(stop, 0.0)
    time.sleep(ORPHAN_SECONDS_MAX)
    os._exit(EXIT_ORPHAN)


if __name__ == "__main__":
    sys.exit(main())
