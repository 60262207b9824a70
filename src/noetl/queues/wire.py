"""What workers and servers say to each other over messages: shapes, subjects, limits.

Every request has a version and a session; every answer a version, a status and the server that gave it. JSON, so that
`nats sub` shows what happens. A field may be added without a new version, since unknown ones are ignored; a changed
meaning is a new version, and a server says so to a worker that it does not understand. What is read here is checked for
its shape and nothing else: who may say it is settled by the session, whether it counts by the lease.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from noetl.engine.commands import Key, Report, Work
from noetl.engine.events import (
    LoopIterationDone,
    LoopIterationFailed,
    StepDone,
    StepFailed,
    StepStarted,
    TaskDone,
    TaskStarted,
    TaskWaiting,
)
from noetl.messaging.sealed import Sealed
from noetl.queues.contract import PlaybookText, Profile, Told

VERSION = 3
HELD_MAX = 5_000  # leases in one heartbeat
REPORTS_MAX = 1_000  # in one message
ANSWER_BYTES_MAX = 900 * 1024  # a larger one goes in parts
PART_BYTES = 512 * 1024  # before it is base64

# --- subjects --------------------------------------------------------------------------------------------------------

ANY = "any"  # in place of a server's id: whichever server gets it
SERVERS = "servers"  # the queue group of all servers
GREET, ENROL, LEAVE = "greet", "enrol", "leave"
POLL, REPORT, HEARTBEAT, RELEASE = "poll", "report", "heartbeat", "release"
PLAYBOOK, CREDENTIAL, PART = "playbook", "credential", "part"
VERBS = (GREET, ENROL, LEAVE, POLL, REPORT, HEARTBEAT, RELEASE, PLAYBOOK, CREDENTIAL, PART)

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class Subjects(msgspec.Struct, frozen=True):
    """All subjects of one cluster begin with its prefix."""

    prefix: str

    def verb(self, server: str, verb: str) -> str:
        return f"{self.prefix}.srv.{server}.{verb}"

    def ready(self, pool: str) -> str:
        return f"{self.prefix}.ready.{pool}"

    def revoked(self, worker: str) -> str:
        return f"{self.prefix}.revoked.{one_token(worker)}"

    @property
    def inboxes(self) -> str:
        """What every subject begins with where somebody waits for an answer."""
        return f"{self.prefix}.reply."

    def inbox(self, pool: str) -> str:
        """Where a worker's answers come: per pool, so that permissions can keep pools apart."""
        return f"{self.inboxes}{pool}"

    @property
    def server_inbox(self) -> str:
        return f"{self.inboxes}@servers"  # no name of a pool

    @property
    def events(self) -> str:
        return f"{self.prefix}.events"


def one_token(name: str) -> str:
    """A worker's name as one word of a subject. Two names may become one: what is said there names leases."""
    return _UNSAFE.sub("_", name)


# --- requests --------------------------------------------------------------------------------------------------------

WorkerEvent = (
    StepStarted | TaskStarted | TaskDone | TaskWaiting | StepDone | StepFailed | LoopIterationDone | LoopIterationFailed
)
Held = list[tuple[Key, int]]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    v: int = VERSION
    session: str = ""


class Enrolling(Asked, frozen=True, kw_only=True):
    sealed: Sealed  # an Application, to the key that the server gave


class Application(msgspec.Struct, frozen=True, kw_only=True):
    token: str
    profile: Profile


class Polling(Asked, frozen=True, kw_only=True):
    free: int
    wait_seconds: float


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says of one job."""

    execution_id: int
    run: int
    iter: int
    lease: int
    n: int
    events: list[WorkerEvent]  # of no other kind: a worker says what it did, never what follows

    @property
    def is_of_one_job(self) -> bool:
        ours = (self.run, self.iter, self.lease)
        return all((event.run, event.iter, event.lease) == ours for event in self.events)

    def report(self) -> Report:
        return Report(
            execution_id=self.execution_id,
            run=self.run,
            iter=self.iter,
            lease=self.lease,
            n=self.n,
            events=list(self.events),
        )


class Reporting(Asked, frozen=True, kw_only=True):
    """Of any number of jobs: each is judged by itself, and the words come in the same order; `free`, `is_idle`: see
    `contract.Room`."""

    reports: list[Reported]
    free: int = 0
    is_idle: bool = False


class Telling(Asked, frozen=True, kw_only=True):
    """The same, as it is sent: each was encoded when it was weighed."""

    reports: list[msgspec.Raw]
    free: int = 0
    is_idle: bool = False


class Holding(Asked, frozen=True, kw_only=True):
    """A heartbeat, or jobs that are given back."""

    held: Held


class PlaybookWanted(Asked, frozen=True, kw_only=True):
    sha: str


class CredentialWanted(Asked, frozen=True, kw_only=True):
    key: Key
    lease: int
    name: str
    nonce: bytes  # of this one question: an answer to another one does not open


class PartWanted(Asked, frozen=True, kw_only=True):
    id: str
    index: int


# --- answers ---------------------------------------------------------------------------------------------------------

OK = "ok"
RETRY, BUSY = "retry", "busy"  # it could not be done now; it was not begun, there is too much to do
OTHER_VERSION = "version"
UNAUTHENTICATED, FORBIDDEN, MISSING, REFUSED = "unauthenticated", "forbidden", "missing", "refused"


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is too large for one message: its server keeps it for a short while, to be fetched."""

    id: str
    count: int
    size_bytes: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    v: int = VERSION
    status: str = OK
    server: str = ""
    message: str = ""  # for people, if it is not OK
    now: float = 0.0  # the servers' time, when it was written
    body: msgspec.Raw = msgspec.Raw(b"null")
    parts: Parts | None = None


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    public_key: bytes  # of this start of the server


class Enrolled(msgspec.Struct, frozen=True, kw_only=True):
    """A life, not an end: clocks of two machines differ."""

    session: str
    life_seconds: float


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """One part."""

    data: bytes


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)  # what a decoder raises
encode = msgspec.json.Encoder().encode
decode_answer = msgspec.json.Decoder(Answer).decode
decode_works = msgspec.json.Decoder(list[Work]).decode
decode_keys = msgspec.json.Decoder(list[Key]).decode
decode_held = msgspec.json.Decoder(Held).decode
decode_told = msgspec.json.Decoder(Told).decode
decode_text = msgspec.json.Decoder(PlaybookText).decode
decode_sealed = msgspec.json.Decoder(Sealed).decode
decode_fields = msgspec.json.Decoder(dict[str, Any]).decode
decode_greeting = msgspec.json.Decoder(Greeting).decode
decode_enrolled = msgspec.json.Decoder(Enrolled).decode
decode_part = msgspec.json.Decoder(Given).decode
decode_application = msgspec.json.Decoder(Application).decode
DECODERS = {
    verb: msgspec.json.Decoder(shape).decode
    for verb, shape in (
        (GREET, Asked),
        (ENROL, Enrolling),
        (LEAVE, Asked),
        (POLL, Polling),
        (REPORT, Reporting),
        (HEARTBEAT, Holding),
        (RELEASE, Holding),
        (PLAYBOOK, PlaybookWanted),
        (CREDENTIAL, CredentialWanted),
        (PART, PartWanted),
    )
}


def body_of(value: object) -> msgspec.Raw:
    return msgspec.Raw(encode(value))


def about_enrolling(server: str) -> bytes:
    """What the seal of an application is about: it opens for that server alone."""
    return encode(["enrol", server])


def about_credential(worker: str, asked: CredentialWanted) -> bytes:
    """What the seal of a credential is about."""
    return encode(["credential", worker, list(asked.key), asked.lease, asked.name, asked.nonce])
