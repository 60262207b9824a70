"""Playbooks on a worker: fetched by their sha, parsed once, and only if they are what was asked for."""

import asyncio

import pytest

from noetl.control.catalog import Text
from noetl.errors import InternalError
from noetl.queues.contract import PlaybookText
from noetl.tools.registry import Declarations
from noetl.working.playbooks import PLAYBOOKS_MAX, ROW_BYTES_MAX, FetchedPlaybooks

BOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: NAME}
executor: {spec: {policy: {limits: {max_payload_bytes: 1000000}}}}
workflow: [{step: start, tool: {kind: noop}}]
"""


class Server:
    """Gives what it has, and counts."""

    def __init__(self) -> None:
        self.texts: dict[str, PlaybookText] = {}
        self.asked: list[str] = []

    def register(self, name: str) -> str:
        text = Text(data=BOOK.replace("NAME", name).encode(), name=f"{name}.yaml")
        self.texts[text.sha] = PlaybookText(data=text.data, name=text.name)
        return text.sha

    async def playbook(self, sha: str) -> PlaybookText:
        self.asked.append(sha)
        await asyncio.sleep(0)
        return self.texts[sha]


async def test_many_jobs_of_one_playbook_fetch_and_parse_it_once():
    server = Server()
    sha = server.register("t")
    playbooks = FetchedPlaybooks(server.playbook, Declarations())

    found = await asyncio.gather(*(playbooks(sha, []) for _ in range(50)))

    assert server.asked == [sha]
    assert all(one is found[0] for one in found)
    assert found[0].steps.keys() == {"start"}


async def test_planned_steps_are_added_for_the_execution_that_has_them():
    server = Server()
    sha = server.register("t")
    playbooks = FetchedPlaybooks(server.playbook, Declarations())

    planned = await playbooks(sha, [[{"step": "more", "tool": {"kind": "noop"}}]])
    plain = await playbooks(sha, [])

    assert planned.steps.keys() == {"start", "more"}
    assert plain.steps.keys() == {"start"}
    assert server.asked == [sha]


async def test_another_text_than_the_one_that_was_asked_for_is_refused():
    server = Server()
    sha, other = server.register("t"), server.register("other")
    server.texts[sha] = server.texts[other]
    playbooks = FetchedPlaybooks(server.playbook, Declarations())

    with pytest.raises(InternalError, match=sha[:12]):
        await playbooks(sha, [])


async def test_only_so_many_are_kept_and_those_in_use_stay():
    server = Server()
    shas = [server.register(f"t{number}") for number in range(PLAYBOOKS_MAX + 1)]
    playbooks = FetchedPlaybooks(server.playbook, Declarations())

    for sha in shas[:-1]:
        await playbooks(sha, [])
    await playbooks(shas[0], [])
    await playbooks(shas[-1], [])
    await playbooks(shas[0], [])
    await playbooks(shas[1], [])

    assert server.asked == [*shas, shas[1]]


async def test_an_event_fits_into_a_message_whatever_a_playbook_allows():
    server = Server()
    playbooks = FetchedPlaybooks(server.playbook, Declarations())

    playbook = await playbooks(server.register("t"), [])

    assert playbook.settings.max_payload_bytes == ROW_BYTES_MAX
