"""A worker knows the secrets of an execution before its first task, as far as they can be had."""

import pytest

from noetl.engine.commands import Work
from noetl.engine.state import Progress
from noetl.runner.acquaintance import Acquaintance
from noetl.testing.engine import playbook_of
from tests.keychain.parts import keychain

PLANTED = "planted-s3cret"
PLAYBOOK = playbook_of("""
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: p}
keychain: [{name: here, kind: bearer}, {name: later, kind: bearer}]
workflow: [{step: start, tool: {kind: noop}}]
""")


def job_of(execution_id: int) -> Work:
    return Work(execution_id=execution_id, run=1, iter=-1, lease=7, step="start", sha="5ha", progress=Progress(ctx={}))


@pytest.mark.spec("KC-05")
async def test_what_can_be_had_is_known_and_the_rest_is_looked_up_again(tmp_path):
    variables = {"NOETL_SECRET_HERE": PLANTED}
    known = []

    async with keychain(tmp_path, variables) as chain:
        acquaintance = Acquaintance(chain)
        for later in ("", "planted-later", "planted-too-late"):
            variables["NOETL_SECRET_LATER"] = later
            await acquaintance.make(PLAYBOOK, job_of(1))
            known.append(chain.known_secrets())

    assert known == [{PLANTED}, {PLANTED, "planted-later"}, {PLANTED, "planted-later"}]


@pytest.mark.spec("KC-05")
async def test_each_execution_is_looked_up_for_itself(tmp_path):
    variables = {"NOETL_SECRET_HERE": PLANTED, "NOETL_SECRET_LATER": "planted-first"}

    async with keychain(tmp_path, variables) as chain:
        acquaintance = Acquaintance(chain)
        await acquaintance.make(PLAYBOOK, job_of(1))
        variables["NOETL_SECRET_LATER"] = "planted-second"
        await acquaintance.make(PLAYBOOK, job_of(2))
        known = chain.known_secrets()

    assert known == {PLANTED, "planted-first", "planted-second"}
