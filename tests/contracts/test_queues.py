"""Every queue passes the suite of queues, and does what a plain model of a queue does."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from noetl.config import LEASE_SECONDS
from noetl.engine.commands import JobAdded, JobGone, JobParked, JobReady, Key, Report
from noetl.queues.contract import ACCEPTED, DELIVERIES_MAX, DUPLICATE, STALE, Queue
from noetl.queues.memory import MemoryQueue
from noetl.testing.queue_suite import QueueSuite


class TestMemory(QueueSuite):
    def make(self, nonce: int) -> Queue:
        return MemoryQueue(nonce)


class Job:
    """One job of the model: where it is, and since when."""

    def __init__(self, priority: int, age: int) -> None:
        self.priority = priority
        self.age = age
        self.place = "ready"
        self.until = 0.0
        self.lease = 0
        self.worker = ""
        self.losses = 0
        self.heard = 0


KEYS = st.tuples(st.just(1), st.integers(1, 6), st.just(-1))
WORKERS = st.sampled_from(("a", "b"))


class QueueMachine(RuleBasedStateMachine):
    """The queue and a dictionary of jobs, told the same things."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: Queue = MemoryQueue(3)
        self.jobs: dict[Key, Job] = {}
        self.leases: set[int] = set()
        self.now = 1000.0
        self.ages = 0

    def next_age(self) -> int:
        self.ages += 1
        return self.ages

    @rule(key=KEYS, priority=st.integers(-1, 1))
    def add(self, key: Key, priority: int) -> None:
        self.queue.change([JobAdded(key=key, priority=priority)], self.now)
        if key not in self.jobs:
            self.jobs[key] = Job(priority, self.next_age())

    @rule(key=KEYS)
    def go(self, key: Key) -> None:
        self.queue.change([JobGone(key=key)], self.now)
        self.jobs.pop(key, None)

    @rule(key=KEYS, seconds=st.integers(1, 50), is_for_child=st.booleans())
    def park(self, key: Key, seconds: int, is_for_child: bool) -> None:
        self.queue.change([JobParked(key=key, until=self.now + seconds, is_for_child=is_for_child)], self.now)
        job = self.jobs.get(key)
        if job:
            job.place, job.lease, job.losses, job.worker = "parked", 0, 0, ""
            job.until = float("inf") if is_for_child else self.now + seconds

    @rule(key=KEYS)
    def end_child(self, key: Key) -> None:
        self.queue.change([JobReady(key=key)], self.now)
        if key in self.jobs:
            self.make_ready(self.jobs[key])

    def make_ready(self, job: Job) -> None:
        if job.place != "ready":
            job.place, job.age, job.worker = "ready", self.next_age(), ""

    @rule(seconds=st.integers(1, 40))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(worker=WORKERS, free=st.integers(0, 4))
    def claim(self, worker: str, free: int) -> None:
        due = [(job.until, key) for key, job in self.jobs.items() if job.place == "parked" and job.until <= self.now]
        for _, key in sorted(due):
            self.make_ready(self.jobs[key])
        ready = sorted((job.priority, job.age, key) for key, job in self.jobs.items() if job.place == "ready")

        claims = self.queue.claim(worker, free, self.now)

        assert [claim.key for claim in claims] == [key for _, _, key in ready[:free]]
        for claim in claims:
            job = self.jobs[claim.key]
            assert claim.lease not in self.leases
            self.leases.add(claim.lease)
            job.losses += 1
            assert claim.deliveries == job.losses
            job.place, job.lease, job.worker, job.heard = "leased", claim.lease, worker, 0
            job.until = self.now + LEASE_SECONDS

    @rule(key=KEYS, n=st.integers(1, 3), is_current=st.booleans())
    def report(self, key: Key, n: int, is_current: bool) -> None:
        job = self.jobs.get(key)
        lease = job.lease if job and is_current else 77
        found = Report(execution_id=key[0], run=key[1], iter=key[2], lease=lease, n=n, events=[])

        word = self.queue.judge(found)

        if job is None or not job.lease or lease != job.lease or n > job.heard + 1:
            assert word == STALE
            return
        assert word == (DUPLICATE if n <= job.heard else ACCEPTED)
        if word == ACCEPTED:
            self.queue.accept(found, self.now)
            job.heard, job.losses = n, 0
            if job.place == "leased":
                job.until = self.now + LEASE_SECONDS

    @rule(worker=WORKERS)
    def beat(self, worker: str) -> None:
        held = [(key, job.lease) for key, job in self.jobs.items() if job.worker == worker]

        gone = self.queue.extend(worker, [*held, ((1, 99, -1), 5)], self.now)

        assert gone == [(1, 99, -1)]
        for key, _ in held:
            self.jobs[key].until = self.now + LEASE_SECONDS

    @rule()
    def expire(self) -> None:
        overdue = [key for key, job in self.jobs.items() if job.place == "leased" and job.until < self.now]

        lost = self.queue.expire(self.now)

        assert [claim.key for claim in lost] == [key for key in overdue if self.jobs[key].losses >= DELIVERIES_MAX]
        for key in overdue:
            self.make_ready(self.jobs[key])

    @invariant()
    def idle_means_that_only_a_child_can_bring_work(self) -> None:
        waiting = [job for job in self.jobs.values() if job.place == "parked" and job.until == float("inf")]
        assert self.queue.is_idle == (len(waiting) == len(self.jobs))

    @invariant()
    def the_next_time_is_that_of_the_first_parked_job(self) -> None:
        times = [job.until for job in self.jobs.values() if job.place == "parked" and job.until != float("inf")]
        assert self.queue.next_at() == min(times, default=None)


QueueMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestQueueAgainstAModel = QueueMachine.TestCase
