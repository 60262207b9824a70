"""I14 where tools tell the secrets they are given: nothing that is kept shows one, and the check would say so."""

import pytest

from noetl.keychain.redaction import Redactor
from noetl.queues.nats import NatsTransport
from noetl.testing.simulator.case import CLUSTER, SHAPES, Case
from noetl.testing.simulator.playbooks.drawing import generated
from noetl.testing.simulator.playbooks.plans import tasks_of
from noetl.testing.simulator.playbooks.scripts import IN_ERROR, IN_LOG, WAYS
from noetl.testing.simulator.runs import made, run
from noetl.testing.simulator.tape import Stream

FIRST, SEEDS = 60_000, 50


def telling(shape):
    """The seeds of worlds that have secrets."""
    return [
        seed for seed in range(FIRST, FIRST + SEEDS) if "secrets" in made(Case(seed=seed, shape=shape)).family.features
    ]


def test_secrets_are_told_in_every_way_that_the_product_promises_to_find():
    families = [generated(Stream(seed, "playbook"), 1 + seed % 12) for seed in range(60)]
    tasks = [task for family in families for plan in family.plans.values() for task in tasks_of(plan.steps.values())]
    scripts = [(task.called or task).script for task in tasks if task.secret is not None]

    told = {way for script in scripts for way in script.tells}

    assert told == {*WAYS, IN_ERROR, IN_LOG}
    assert any(task.called for task in tasks if task.secret is not None)


@pytest.mark.spec("KC-05")
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_redactor_that_finds_nothing_is_caught_within_fifty_seeds(shape, monkeypatch):
    monkeypatch.setattr(Redactor, "clean", lambda _self, data: data)

    verdicts = (run(Case(seed=seed, shape=shape)) for seed in telling(shape))
    found = next((verdict.violation for verdict in verdicts if verdict.violation), None)

    assert found is not None
    assert found.invariant == "I14"


@pytest.mark.spec("KC-05")
@pytest.mark.slow
def test_workers_of_a_cluster_have_their_secrets_from_a_server(monkeypatch):
    asked = []
    original = NatsTransport.credential

    async def credential(self, key, lease, name):
        asked.append(name)
        return await original(self, key, lease, name)

    monkeypatch.setattr(NatsTransport, "credential", credential)

    verdicts = [run(Case(seed=seed, shape=CLUSTER)) for seed in telling(CLUSTER)[:5]]

    assert [verdict.violation for verdict in verdicts] == [None] * 5
    assert {name.rpartition("_")[0] for name in asked} == {"canary"}
