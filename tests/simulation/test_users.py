"""What the people of a world read when all is over: no answer has a secret, and the product's audit finds nothing."""

import pytest

from noetl.testing.simulator import users
from noetl.testing.simulator.case import SHAPES, Case
from noetl.testing.simulator.runs import run

SEED = 3


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_with_a_secret_is_found(shape, monkeypatch):
    async def telling(_store, _execution_id):
        return {"steps": [f"canary-{SEED}-0"]}

    monkeypatch.setattr(users.reading, "show", telling)

    found = run(Case(seed=SEED, shape=shape)).violation

    assert found is not None
    assert (found.invariant, "what is shown of execution" in found.message) == ("I14", True)


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_an_audit_finds_is_a_violation(shape, monkeypatch):
    async def finding(_store, _execution_id):
        return {"checks": [{"name": "I6 iterations begin in order", "ok": False, "detail": "event 7: one did not"}]}

    monkeypatch.setattr(users, "verify", finding)

    found = run(Case(seed=SEED, shape=shape)).violation

    assert found is not None
    assert (found.invariant, "event 7: one did not" in found.message) == ("I6", True)
