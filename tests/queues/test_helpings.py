"""How many jobs one answer has: many small ones, few large ones, and always one."""

import pytest

from noetl.queues.helpings import ANSWER_BYTES_WANTED, JOBS_MAX, Helpings


@pytest.mark.parametrize(
    ("job_bytes", "jobs"), [(100, JOBS_MAX), (ANSWER_BYTES_WANTED // 8, 8), (ANSWER_BYTES_WANTED * 2, 1)]
)
def test_the_heavier_jobs_were_the_fewer_come_next(job_bytes, jobs):
    helpings = Helpings()
    for _ in range(50):
        helpings.served("default", 10, 10 * job_bytes)

    assert helpings.size("default", 1000) == jobs
    assert helpings.size("default", 1) == 1
    assert helpings.size("default", 0) == 0


def test_one_heavy_answer_counts_at_once_and_for_its_pool_only():
    helpings = Helpings()
    before = helpings.size("other", 1000)
    helpings.served("default", 1, ANSWER_BYTES_WANTED)

    assert helpings.size("default", 1000) == 1
    assert helpings.size("other", 1000) == before > 1


def test_an_empty_answer_teaches_nothing():
    helpings = Helpings()
    helpings.served("default", 0, 2)

    assert helpings.size("default", 1000) == Helpings().size("default", 1000)
