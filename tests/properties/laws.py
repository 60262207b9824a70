"""Laws: property tests that say how many examples they try, and fail if they tried fewer.

    @law(1500, rules=RULES, answers=ANSWERS)
    def test_the_first_matching_rule_decides(rules, answers): ...

The shares of all laws add up to what CI promises (`EXAMPLES_MIN`, see test_laws.py). Each law counts the examples that
Hypothesis really ran, so that a strategy that filters most of its draws away, or runs out of them, does not pass
for more than it is. `NOETL_LAWS=10` tries ten times as many.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

EXAMPLES_MIN = 20_000
TIMES = float(os.environ.get("NOETL_LAWS", "1"))
shares: dict[str, int] = {}  # by the law's name: the examples it tries in CI
tried: Counter[str] = Counter()

Test = Callable[..., None]


def one_of_each(*pools: Sequence[Any]) -> SearchStrategy[tuple[Any, ...]]:
    """One thing out of each pool, drawn as one number, since every draw has its price; shrinks to the first ones."""
    sizes = [len(pool) for pool in pools]

    def picked(number: int) -> tuple[Any, ...]:
        found = []
        for pool, size in zip(pools, sizes, strict=True):
            number, place = divmod(number, size)
            found.append(pool[place])
        return tuple(found)

    return st.integers(0, math.prod(sizes) - 1).map(picked)


def law(examples: int, **strategies: SearchStrategy[Any]) -> Callable[[Test], Test]:
    """A test that holds for whatever the strategies give."""

    def made(test: Test) -> Test:
        name = test.__name__
        shares[name] = examples
        wanted = max(1, round(examples * TIMES))

        @settings(max_examples=wanted, suppress_health_check=[HealthCheck.too_slow])
        @given(**strategies)
        def tried_with(**drawn: Any) -> None:
            tried[name] += 1
            test(**drawn)

        @pytest.mark.slow
        def whole() -> None:
            tried[name] = 0
            tried_with()
            assert tried[name] >= wanted, f"{name} tried {tried[name]} examples, but promises {wanted}"

        whole.__name__, whole.__qualname__, whole.__doc__ = name, name, test.__doc__
        whole.__module__ = test.__module__
        return whole

    return made
