"""The gate of speed: what it says of figures that are dearer, cheaper, gone or new."""

import pytest

from bench.gate import baseline
from bench.gate.__main__ import middle
from bench.gate.verdicts import Verdict, judged, line


def only(before: dict[str, float], now: dict[str, float]) -> Verdict:
    (verdict,) = judged(before, now)
    return verdict


@pytest.mark.parametrize(
    ("now", "word"), [(100.0, "same"), (125.0, "same"), (125.1, "over"), (81.0, "same"), (79.0, "cheaper")]
)
def test_a_figure_fails_only_when_it_is_over_a_quarter_dearer(now: float, word: str) -> None:
    before = {"W1 calls per step": 100.0}

    verdict = only(before, {"W1 calls per step": now})

    assert (verdict.word, verdict.is_failure) == (word, word == "over")


def test_a_figure_that_is_measured_no_more_fails() -> None:
    before = {"W1 calls per step": 100.0}

    verdict = only(before, {})

    assert verdict.is_failure
    assert "--update" in line(verdict)


def test_a_new_figure_does_not_fail_and_stands_last() -> None:
    before = {"W2 bytes per iteration": 100.0}

    verdicts = judged(before, {"W1 calls per step": 5.0, "W2 bytes per iteration": 100.0})

    assert [(verdict.figure, verdict.word) for verdict in verdicts] == [
        ("W2 bytes per iteration", "same"),
        ("W1 calls per step", "new"),
    ]
    assert not any(verdict.is_failure for verdict in verdicts)


def test_something_where_nothing_was_is_over() -> None:
    before = {"W1 commits per step": 0.0}

    verdicts = [only(before, {"W1 commits per step": now}) for now in (0.0, 0.1)]

    assert [verdict.word for verdict in verdicts] == ["same", "over"]


def test_commits_of_what_runs_at_once_may_vary_with_the_disk_but_not_grow_with_the_tasks() -> None:
    before = {"W3 commits per workflow": 0.07}

    verdicts = [only(before, {"W3 commits per workflow": now}) for now in (0.14, 1.0)]

    assert [verdict.word for verdict in verdicts] == ["same", "over"]


@pytest.mark.parametrize(
    ("figure", "tool"),
    [
        ("W1 calls per step", "cProfile"),
        ("W2 processor time", "py-spy"),
        ("W1 commits per step", "strace"),
        ("W4 modules", "importtime"),
    ],
)
def test_a_failing_line_says_how_to_look_and_how_to_accept(figure: str, tool: str) -> None:
    verdict = only({figure: 1.0}, {figure: 2.0})

    text = line(verdict)

    assert tool in text
    assert "--update" in text
    assert "2.00x" in text


def test_the_baseline_is_kept_by_version_of_python(tmp_path) -> None:
    path = tmp_path / "baseline.json"
    baseline.write({"W4 modules": 300}, path, "3.11")

    baseline.write({"W4 modules": 310, "W1 processor time": 1.23456789}, path, "3.12")

    assert baseline.read(path, "3.11") == {"W4 modules": 300}
    assert baseline.read(path, "3.12") == {"W4 modules": 310, "W1 processor time": 1.2346}
    assert baseline.read(path, "3.13") is None


def test_a_baseline_is_the_middle_of_its_runs() -> None:
    runs = [{"W1 processor time": value} for value in (3.0, 1.0, 2.0)]

    figures = middle(runs)

    assert figures == {"W1 processor time": 2.0}
