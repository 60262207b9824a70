"""Rounds that others disturbed: repeated, and left out where there are better ones."""

from bench.measure import Taken, counting, is_enough, repeated

QUIET, BUSY, BUSIER = 0.1, 0.6, 1.2


def taken(*foreign_cores: float) -> list[Taken[int]]:
    return [Taken(number, cores) for number, cores in enumerate(foreign_cores)]


def test_rounds_go_on_until_enough_were_undisturbed() -> None:
    rounds = taken(QUIET, BUSY, QUIET)

    enough = [is_enough(rounds[:count], 2) for count in range(4)]

    assert enough == [False, False, False, True]


def test_three_times_as_many_rounds_are_enough_however_disturbed() -> None:
    rounds = taken(*[BUSY] * 6)

    enough = [is_enough(rounds[:count], 2) for count in (5, 6)]

    assert enough == [False, True]


def test_a_single_round_is_a_trial_and_is_not_repeated() -> None:
    rounds = taken(BUSY)

    enough = is_enough(rounds, 1)

    assert enough


def test_the_least_disturbed_rounds_count_in_the_order_they_were_taken() -> None:
    rounds = taken(BUSIER, QUIET, BUSY, BUSIER, QUIET)

    found = counting(rounds, 3)

    assert (found.found, found.taken, found.clean) == ([1, 2, 4], 5, 2)


def test_what_is_run_is_what_is_found() -> None:
    numbers = iter(range(10))

    found = repeated(lambda: next(numbers), 1)

    assert (found.found, found.taken) == ([0], 1)
