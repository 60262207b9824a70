"""A copy of a state: folding one on does not show in the other."""

import pytest

from noetl.engine.apply import apply, replay
from noetl.engine.copies import copy_of
from noetl.engine.state import State, canonical
from tests.golden.keeping import Golden, goldens


@pytest.mark.parametrize("golden", goldens(), ids=lambda golden: golden.name)
@pytest.mark.spec("EV-05")
def test_a_copy_at_any_event_goes_its_own_way(golden: Golden):
    log = golden.log
    whole = canonical(replay(1, log))
    state = State(execution_id=1)

    for place, event in enumerate(log, 1):
        apply(state, event)
        before, copy = canonical(state), copy_of(state)
        assert canonical(copy) == before
        for later in log[place:]:
            apply(copy, later)
        assert canonical(copy) == whole
        assert canonical(state) == before


def test_a_copy_shares_the_data_that_is_never_changed():
    state = State(execution_id=1, ctx={"rows": [1, 2, 3]}, workload={"a": {}})

    copy = copy_of(state)

    assert copy.ctx is state.ctx
    assert copy.workload is state.workload
    assert copy.outputs is not state.outputs
