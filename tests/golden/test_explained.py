"""Golden logs, explained: what every rule and arc says when it is asked again is what was recorded."""

from typing import Any

import pytest

from noetl.control.catalog import Loaded, Text
from noetl.control.planning import extended
from noetl.engine.explanations import ADMISSION, ARC, LOOP, POLICY, SET
from noetl.engine.state import State
from noetl.tools.registry import declarations
from tests.engine.telling import Told, disagreements, told
from tests.golden.keeping import Golden, goldens

GOLDENS = goldens()
each = pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name)


def story(golden: Golden) -> list[Told]:
    made = golden.driven()
    text = Text(data=golden.text.encode(), name="golden.yaml", is_legacy=golden.kept.script.is_legacy)
    loaded = Loaded(made.playbook, made.net, text)

    def books(state: State) -> tuple[Any, Any]:
        found = extended(loaded, state.planned, declarations)
        return found.playbook, found.net

    return list(told(golden.log, books, made.fetched))


@each
@pytest.mark.spec("EV-05", "RT-02", "RT-07")
def test_what_is_asked_again_gives_what_was_recorded(golden: Golden):
    assert [line for one in story(golden) for line in disagreements(one)] == []


def test_the_golden_logs_have_something_to_explain_in_every_place():
    places = {said.place for golden in GOLDENS for one in story(golden) for said in one.said}

    assert places == {ADMISSION, ARC, LOOP, POLICY, SET}
