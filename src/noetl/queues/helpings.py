"""How many jobs go into one answer to a poll. What a job weighs is known when it is handed out, and then it is claimed;
so the next helping is as large as the last ones were heavy. A worker that could take more polls again at once.
"""

from __future__ import annotations

ANSWER_BYTES_WANTED = 4 * 1024 * 1024
JOBS_MAX = 200
JOB_BYTES_FIRST = 64 * 1024  # before anything is known of a pool
FADING = 0.8  # heavier jobs count at once, lighter ones little by little
POOLS_MAX = 10_000


class Helpings:
    """By pool."""

    def __init__(self) -> None:
        self._job_bytes: dict[str, float] = {}

    def size(self, pool: str, free: int) -> int:
        fitting = int(ANSWER_BYTES_WANTED / self._job_bytes.get(pool, JOB_BYTES_FIRST))
        return max(0, min(free, JOBS_MAX, max(1, fitting)))

    def served(self, pool: str, jobs: int, answer_bytes: int) -> None:
        if not jobs:
            return
        job_bytes = answer_bytes / jobs
        known = self._job_bytes.get(pool, JOB_BYTES_FIRST)
        if len(self._job_bytes) >= POOLS_MAX:
            self._job_bytes.clear()
        self._job_bytes[pool] = max(job_bytes, FADING * known + (1 - FADING) * job_bytes)
