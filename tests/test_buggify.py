"""Places where a simulator may strike: each is listed, each is in the code once, and outside a simulator none does
anything.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from noetl import buggify as points
from noetl.buggify import POINTS, buggify
from noetl.control.intake import OPERATIONS_MAX, operations_max

PACKAGE = Path(points.__file__).parent
USED = re.compile(r'\bbuggify\("([^"]*)"\)')


def used() -> Counter[str]:
    """How often the code of the product has each point."""
    files = [file for file in PACKAGE.rglob("*.py") if "testing" not in file.relative_to(PACKAGE).parts]
    return Counter(name for file in files for name in USED.findall(file.read_text(encoding="utf-8")))


def test_each_listed_point_is_in_the_code_once_and_no_other_is():
    assert used() == Counter(point.name for point in POINTS)


def test_each_point_says_what_it_means():
    assert all(point.meaning for point in POINTS)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_a_moment_is_a_statement_of_its_own_and_nothing_else_is(point):
    lines = [
        line.strip()
        for file in PACKAGE.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if f'buggify("{point.name}")' in line
    ]

    assert [line.startswith("buggify(") for line in lines] == [point.is_moment]


def test_outside_a_simulator_nothing_is_unusual():
    assert points.hook is None
    assert not any(buggify(point.name) for point in POINTS)


@pytest.mark.parametrize(
    ("unusual", "count"), [("pump.batch_of_one", 1), ("pump.batch_of_three", 3), ("", OPERATIONS_MAX)]
)
def test_a_hook_decides_what_happens_at_a_point(monkeypatch, unusual, count):
    monkeypatch.setattr(points, "hook", lambda point: point == unusual)

    assert operations_max() == count
