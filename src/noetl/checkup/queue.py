"""The queue: whether NATS answers and how fast, what it takes, whether it keeps results, whether servers listen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from noetl.checkup.findings import FAIL, Finding, Findings, judged, ok, warn
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.daemons.places import shown_url

if TYPE_CHECKING:  # it needs the library of an extra
    from noetl.messaging.link import Link

QUEUE = "queue"
CONNECT_SECONDS_MAX = 5.0
ANSWER_SECONDS_MAX = 2.0
LATENCY_SECONDS_MAX = 0.02
PAYLOAD_BYTES_MIN = 1024 * 1024
JETSTREAM_INFO = "$JS.API.INFO"


async def queue(settings: Settings) -> Findings:
    if not settings.queue_url:
        yield ok(QUEUE, "nats", "none is set: work is done in the server's process")
        return
    from noetl.queues.nats_link import server_link, worker_link

    link = (server_link if settings.is_shared else worker_link)(settings, SystemClock())
    link.start()
    try:
        await link.until_up(CONNECT_SECONDS_MAX)
        yield ok(QUEUE, "nats", f"connected to {shown_url(settings.queue_url)}")
        yield judged(
            QUEUE,
            "max_payload",
            f"{link.message_bytes_max:,} bytes",
            is_ok=link.message_bytes_max >= PAYLOAD_BYTES_MIN,
            fix="set max_payload: 1MB in the configuration of NATS; reports and answers are that large",
            otherwise=FAIL,
        )
        yield await jetstream(link)
        yield await servers_listening(link, settings.queue_prefix)
    finally:
        await link.close()


async def jetstream(link: Link) -> Finding:
    from noetl.messaging.unanswered import NobodyThere, Silent

    fix = "turn JetStream on (jetstream {…}), or keep results elsewhere with results.stores"
    began = time.perf_counter()
    try:
        answer = msgspec.json.decode(await link.request(JETSTREAM_INFO, b"", ANSWER_SECONDS_MAX))
    except NobodyThere:
        return warn(QUEUE, "jetstream", "it is not turned on, so large results cannot be kept there", fix)
    except Silent:
        return warn(QUEUE, "jetstream", "no answer: this user may not ask for it", "see docs/nats.md for permissions")
    seconds = time.perf_counter() - began
    if error := answer.get("error"):
        return warn(QUEUE, "jetstream", str(error.get("description", "refused")), fix)
    says = f"on, {answer.get('streams', 0)} streams; NATS answers in {seconds * 1000:.1f} ms"
    return judged(QUEUE, "jetstream", says, is_ok=seconds <= LATENCY_SECONDS_MAX, fix="put NATS nearer to the servers")


async def servers_listening(link: Link, prefix: str) -> Finding:
    """Whether a server takes requests of workers. Where nobody does, NATS says so at once."""
    from noetl.messaging.unanswered import NobodyThere, Silent
    from noetl.queues.wire import ANY, GREET, Subjects

    try:
        await link.request(Subjects(prefix).verb(ANY, GREET), b"{}", ANSWER_SECONDS_MAX)
    except NobodyThere:
        fix = "start one with this queue: noetl server start --queue …; and see that queue.prefix is the same"
        return warn(QUEUE, "servers", f"no server listens under {prefix}", fix)
    except Silent:
        return ok(QUEUE, "servers", f"one listens under {prefix}, as far as this user can tell")
    return ok(QUEUE, "servers", f"one listens under {prefix}")
