"""How long a retry waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.backoff import DELAY_SECONDS_MAX, delay_seconds

chances = st.floats(0, 1, exclude_max=True)
delays = st.floats(0, 1e6)
retries = st.integers(1, 200)
backoffs = st.sampled_from(["none", "linear", "exponential"])


def seconds(backoff: str, delay: float, retry: int, **others: float) -> float:
    given_values: dict[str, float | None] = {"max_delay": None, "jitter": 0.0, "chance": 0.5, "at_least": 0.0}
    return delay_seconds(backoff, delay, retry, **{**given_values, **others})  # type: ignore[arg-type]


@pytest.mark.spec("TK-08")
@pytest.mark.parametrize(
    ("backoff", "expected"), [("none", [2, 2, 2, 2]), ("linear", [2, 4, 6, 8]), ("exponential", [2, 4, 8, 16])]
)
def test_the_nth_retry_waits_as_the_backoff_says(backoff: str, expected: list[float]) -> None:
    assert [seconds(backoff, 2.0, retry) for retry in (1, 2, 3, 4)] == expected


@pytest.mark.spec("TK-08")
@given(backoffs, delays, retries, st.floats(0, 1e4), st.floats(0, 1), chances)
def test_a_maximum_is_never_passed_whatever_chance_says(
    backoff: str, delay: float, retry: int, max_delay: float, jitter: float, chance: float
) -> None:
    assert seconds(backoff, delay, retry, max_delay=max_delay, jitter=jitter, chance=chance) <= max_delay


@pytest.mark.spec("TK-08")
@given(backoffs, delays, retries, st.floats(0, 1e5), st.floats(0, 10), st.floats(0, 1), chances)
def test_what_the_other_side_asked_for_is_a_minimum_above_the_maximum_of_the_rule(
    backoff: str, delay: float, retry: int, at_least: float, max_delay: float, jitter: float, chance: float
) -> None:
    waited = seconds(backoff, delay, retry, at_least=at_least, max_delay=max_delay, jitter=jitter, chance=chance)

    assert waited >= min(at_least, DELAY_SECONDS_MAX)


@pytest.mark.spec("TK-08")
@given(st.floats(0.001, 1000), st.floats(0, 1), chances)
def test_jitter_spreads_a_delay_by_its_share_of_it(delay: float, jitter: float, chance: float) -> None:
    waited = seconds("none", delay, 1, jitter=jitter, chance=chance)

    assert delay * (1 - jitter) * 0.999999 <= waited <= delay * (1 + jitter) * 1.000001
    assert seconds("none", delay, 1, jitter=jitter, chance=0.0) == pytest.approx(delay * (1 - jitter))


@given(backoffs, st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 10**9))
def test_no_delay_is_negative_or_without_end(backoff: str, delay: float, retry: int) -> None:
    assert 0 <= seconds(backoff, delay, retry) <= DELAY_SECONDS_MAX
