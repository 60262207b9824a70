"""A fault of ours while a batch is concluded ends the run with that fault; whoever waits for an answer gets it."""

import asyncio
import os

import pytest

from noetl.config import load
from noetl.control.requests import Nobody, RunRequest
from noetl.embedded import embedded

SECONDS_MAX = 10.0
PLAYBOOK = b"""apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: one, path: tests/one}
workflow:
  - step: only
    tool: {kind: noop}
"""


class Blind(Nobody):
    """An observer with a fault."""

    def committed(self, execution_id, first_seq, events):
        raise ZeroDivisionError


async def test_a_start_whose_commit_cannot_be_concluded_is_answered_with_the_fault(tmp_path):
    settings = load(home=str(tmp_path), environ=os.environ, folder=tmp_path)

    async with embedded(settings, Blind()) as parts:
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(parts.start(RunRequest(data=PLAYBOOK, name="one.yaml")), SECONDS_MAX)

        assert (await parts.store.executions())[0].head > 0
