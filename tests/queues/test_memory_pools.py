"""What waits and runs in each pool, as people are shown it."""

from noetl.engine.commands import JobAdded, JobParked
from noetl.queues.memory import MemoryQueue, PoolState


def a_queue():
    queue = MemoryQueue(nonce=1, lease_seconds=30.0)
    jobs = [("default", 1), ("default", 2), ("gpu", 3)]
    for at, (pool, run) in enumerate(jobs):
        queue.change([JobAdded(key=(7, run, -1), pool=pool)], float(at))
    return queue


def test_each_pool_says_what_waits_and_for_how_long():
    assert a_queue().pools(10.0) == [
        PoolState("default", ready=2, leased=0, parked=0, oldest_wait_seconds=10.0),
        PoolState("gpu", ready=1, leased=0, parked=0, oldest_wait_seconds=8.0),
    ]


def test_what_is_leased_or_parked_does_not_wait():
    queue = a_queue()

    queue.claim("w", 1, 10.0, "default")
    queue.change([JobParked(key=(7, 3, -1), until=60.0)], 10.0)

    assert queue.pools(11.0) == [
        PoolState("default", ready=1, leased=1, parked=0, oldest_wait_seconds=10.0),
        PoolState("gpu", ready=0, leased=0, parked=1, oldest_wait_seconds=0.0),
    ]


def test_a_job_whose_lease_ran_out_waits_from_then_on():
    queue = a_queue()
    queue.claim("w", 3, 10.0)

    queue.expire(50.0)

    assert [state.oldest_wait_seconds for state in queue.pools(52.0)] == [2.0, 2.0]


def test_a_job_of_no_pool_in_particular_is_of_the_default_one():
    queue = MemoryQueue(nonce=1, lease_seconds=30.0)
    queue.change([JobAdded(key=(7, 1, -1), pool=""), JobAdded(key=(8, 1, -1), pool="gpu")], 0.0)

    assert [state.pool for state in queue.pools(1.0)] == ["default", "gpu"]
    assert queue.ready_in(7) == {"default": 1}
    assert queue.claim("w", 1, 1.0, "default")[0].key == (7, 1, -1)
