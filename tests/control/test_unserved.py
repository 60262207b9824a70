"""Jobs that wait where no worker is: told with the pool and the reason, and of nobody else."""

import pytest

from noetl.control.unserved import reason_of, unserved_of


@pytest.mark.parametrize(
    ("ready", "workers", "says"),
    [
        (1, 0, '1 job waits and no worker polls the pool "gpu"'),
        (7, 0, '7 jobs wait and no worker polls the pool "gpu"'),
    ],
)
def test_a_pool_without_a_worker_is_a_reason_with_what_to_do(ready, workers, says):
    reason = reason_of("gpu", ready, workers)

    assert reason.startswith(says)
    assert "noetl worker start --pool gpu" in reason
    assert "spec.pool" in reason


def test_a_pool_that_no_worker_can_have_is_not_one_to_start_a_worker_for():
    reason = reason_of("gpu > large", 1, 0)

    assert 'no worker can join the pool "gpu > large"' in reason
    assert "worker start" not in reason


@pytest.mark.parametrize(("ready", "workers"), [(0, 0), (0, 3), (5, 1)])
def test_where_nothing_waits_or_somebody_polls_there_is_no_reason(ready, workers):
    assert reason_of("gpu", ready, workers) is None


def test_only_pools_without_a_worker_are_named_in_order():
    found = unserved_of({"gpu": 2, "default": 4, "big": 1}, {"default": 3, "small": 1})

    assert [(one.pool, one.jobs) for one in found] == [("big", 1), ("gpu", 2)]
