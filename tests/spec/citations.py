"""A pytest plugin: `@pytest.mark.spec("RT-02")` says which requirement a test proves, and the id must exist.

A citation of an unknown id is a collection error, so the run fails before its first test, also under xdist.
"""

from collections.abc import Iterator
from difflib import get_close_matches

import pytest

from tests.spec.requirements import cited_ids, requirements


def citation_faults(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("spec"):
        if not mark.args or mark.kwargs:
            yield f'{item.nodeid}: @pytest.mark.spec takes ids, as in spec("RT-02"); found {mark.args} {mark.kwargs}'
    for requirement_id in map(str, cited_ids(item)):
        if requirement_id not in requirements():
            near = get_close_matches(requirement_id, requirements(), n=1)
            advice = f"; did you mean {near[0]}?" if near else ""
            yield f'{item.nodeid} cites "{requirement_id}", which is not in tests/spec/requirements.yaml{advice}'


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    if report.passed:
        items = [node for node in report.result if isinstance(node, pytest.Item)]
        found = sorted({fault for item in items for fault in citation_faults(item)})
        if found:
            report.outcome = "failed"
            report.longrepr = "\n".join(found)
    return report
