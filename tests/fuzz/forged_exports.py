"""Exported executions from strangers: a file is refused with its line, or every way to look at it answers.

Files are kept logs with something changed in them: lines left out, doubled, swapped, a value that is another one. What
is taken in is then looked at through every reading operation of executions, in process.
"""

from __future__ import annotations

import random
import re
from typing import Any

import msgspec

from noetl.api.table import OPERATIONS
from noetl.control.exported import FORMAT, VERSION, ExportedPlaybook
from noetl.identity.roles import VIEWER
from tests.fuzz.bodies import REQUESTS_PER_TOKEN, Bodies, Request
from tests.fuzz.growing import changed, encoded
from tests.golden.keeping import Golden, goldens

GOLDENS = [golden for golden in goldens() if len(golden.lines) < 120]
SHA = re.compile(rb'"sha":"[^"]*"')  # kept logs name texts of their time
ONE = "/api/v1/executions/{execution_id}"
READS = tuple(
    one
    for one in OPERATIONS
    if one.path.startswith(ONE) and one.role == VIEWER and one.method == "GET" and not one.is_stream
)
QUERIES = {
    "list_iterations": "run={run}",
    "read_result": "seq={seq}",
    "show_moment": "at={seq}",
    "explain_step": "step=start",
    "show_state": "at={seq}",
    "list_events": "after={seq}&limit=3",
}


class ForgedExports(Bodies):
    """See the module."""

    def make(self, chance: random.Random) -> bytes:
        golden = chance.choice(GOLDENS)
        playbook = playbook_of(golden)
        lines = [SHA.sub(b'"sha":"%s"' % playbook.sha.encode(), line) for line in golden.lines]
        for _ in range(chance.randrange(3)):
            lines = bent(chance, lines)
        header = headed(playbook, len(lines))
        if chance.random() < 0.1:
            header = changed(chance, header)
        return b"\n".join([encoded(header), *lines])

    def attempt(self, data: bytes) -> None:
        self._loop.run_until_complete(self._look_at(data))

    async def _look_at(self, data: bytes) -> None:
        await self._renew_token(each=REQUESTS_PER_TOKEN // len(READS))
        brought = Request(method="POST", path="/api/v1/viewings", content_type="application/x-ndjson", body=data)
        status, _, body = await self._ask(brought)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        assert status in (201, 422), f"{status}: {body[:300]!r}"
        found = msgspec.json.decode(body)
        if status == 201:
            for operation in READS:
                await self._read(operation.id, operation.path, found)

    async def _read(self, name: str, path: str, viewing: dict[str, Any]) -> None:
        numbers = {"run": 1, "seq": 1 + viewing["events"] // 2}
        query = QUERIES.get(name, "").format(**numbers)
        path = path.replace("{execution_id}", viewing["execution_id"])
        asked = Request(method="GET", path=path + (f"?{query}" if query else ""), content_type="", body=b"")
        status, _, body = await self._ask(asked)
        assert status < 500, f"{name} gave {status}: {body[:300]!r}"


def bent(chance: random.Random, lines: list[bytes]) -> list[bytes]:
    place = chance.randrange(len(lines))
    kind = chance.randrange(8)
    if kind == 0:
        return [*lines[:place], *lines[place + 1 :]] or lines
    if kind == 1:
        return [*lines[:place], lines[place], *lines[place:]]
    if kind == 2:
        return lines[: place + 1]
    if kind == 3:
        other = chance.randrange(len(lines))
        swapped = list(lines)
        swapped[place], swapped[other] = lines[other], lines[place]
        return swapped
    value = changed(chance, msgspec.json.decode(lines[place]))
    return [*lines[:place], encoded(value).replace(b"\n", b" ") or b"0", *lines[place + 1 :]]


def playbook_of(golden: Golden) -> ExportedPlaybook:
    found = ExportedPlaybook(path="trial", version=1, sha="", text=golden.text, name="trial.yaml")
    return msgspec.structs.replace(found, sha=found.as_text.sha)


def headed(playbook: ExportedPlaybook, events: int) -> dict[str, Any]:
    playbooks = [msgspec.to_builtins(playbook)]
    return {"format": FORMAT, "version": VERSION, "events": events, "playbooks": playbooks}
