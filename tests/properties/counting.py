"""How many examples the laws tried: a line at the end of a test run, also when several processes ran them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.properties.laws import tried

EXAMPLES = "examples"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Hand the number on with the test's report, which travels between processes."""
    name = getattr(item, "originalname", "")
    if name in tried:
        item.user_properties.append((EXAMPLES, tried.pop(name)))
    return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found = [
        count
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "teardown"
        for name, count in report.user_properties
        if name == EXAMPLES
    ]
    if found:
        terminalreporter.write_line(f"{sum(found):,} examples of {len(found)} laws")
