"""A pytest plugin: which tests go to a process together, and which go first, when several processes run them.

`--dist loadgroup --no-loadscope-reorder` makes xdist follow. Handed out are, in this order:

1. the groups that tests have of their own (`xdist_group`: they share a server, or would starve each other): they are
   long, and much of them is waiting, which goes well beside work;
2. slow tests, each alone;
3. all others by module, so that the end is made of short shares. Alone they would cost more than most of them take:
   xdist counts all that it has handed out whenever a test ends, 36 million times in a run of 12,000 (8 CPU seconds).

xdist knows a test by its id and reads the group off its end, but cannot write it there: since pytest 9.2 ids are kept
elsewhere than it writes (pytest-dev/pytest-xdist#1386), and all groups were torn apart without a word. So they are
written here, for the moment in which ids are told. A number keeps tests apart that share an id, of which xdist would
run one (those of Schemathesis). Reports have the ids as they were, so that `--last-failed` finds them.

Nothing is left out, and the tests of one share keep their order. In a single process nothing changes.
"""

from collections.abc import Iterator

import pytest
from _pytest.nodeid import NodeId

MARKS = ("xdist_group", "slow")  # in the order of their turns; those without any come last


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if is_one_of_several(config):
        items.sort(key=turn)


@pytest.hookimpl(wrapper=True)
def pytest_collection_finish(session: pytest.Session) -> Iterator[None]:
    if not is_one_of_several(session.config):
        return (yield)
    ids = [item._id for item in session.items]
    for number, item in enumerate(session.items):
        item._id = NodeId(path=f"{item.nodeid} {number}@{share(item) or number}")
    try:
        return (yield)
    finally:
        for item, known in zip(session.items, ids, strict=True):
            item._id = known


def is_one_of_several(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def turn(item: pytest.Item) -> int:
    return next((place for place, mark in enumerate(MARKS) if item.get_closest_marker(mark)), len(MARKS))


def share(item: pytest.Item) -> str:
    """The name of what it goes with; empty for a test that goes alone."""
    if group := item.get_closest_marker("xdist_group"):
        return str(group.args[0])
    return "" if item.get_closest_marker("slow") else item.nodeid.partition("::")[0]
