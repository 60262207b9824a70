"""`kind: PlaybookTest` documents: nodes in, plain data out, with the nodes of what is expected.

    apiVersion: noetl.io/v2
    kind: PlaybookTest
    metadata: { name: tries again while the service is busy }
    playbook: ../orders.yaml
    tools:
      fetch.get_page:
        - { error: { kind: server_error } }
        - { data: { items: [1, 2] } }
    expect:
      output: { rows: 2 }

What must hold is for the rules to say; here nothing is refused, and no file is opened.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any

import msgspec

from noetl.dsl.nodes import AnyNode, Mapping, Sequence, plain
from noetl.dsl.playbook_test_shapes import PLAYBOOK_TEST
from noetl.dsl.read import Reading
from noetl.dsl.schedule_documents import documents_of_kind, moment_of
from noetl.dsl.source import Place

Answers = dict[str, list[dict[str, Any]]]


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution is sent."""

    patches: dict[str, Any]  # by path: ctx.approved
    at: float | None = None  # in simulated seconds; None: when it waits
    child: str | None = None  # the path of a called playbook, whose executions get it


class PlaybookTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test whose document checks."""

    name: str
    root: Mapping
    playbook: str | None = None  # a file, as written; None: the playbook of the same file
    surface: str = ""  # legacy, upstream; "": today's
    payload: dict[str, Any] = {}
    now: float | None = None  # in seconds since 1970
    real: tuple[str, ...] | None = None  # None: the usual ones
    tools: Answers = {}
    children: dict[str, Answers] = {}
    recording: str | None = None
    signals: tuple[Signal, ...] = ()
    expect: dict[str, Any] = {}

    @property
    def place(self) -> Place:
        metadata = self.root.mapping("metadata")
        name = metadata.get("name") if metadata else None
        return (name or self.root).place

    def place_of(self, *keys: str) -> Place:
        """Where an expectation stands; as much of the way as there is."""
        return (self.node_of(*keys) or self.root).place

    def node_of(self, *keys: str) -> AnyNode | None:
        node: AnyNode = self.root
        for key in keys:
            found = part_of(node, key)
            if found is None:
                return node if node is not self.root else None
            node = found
        return node


def part_of(node: AnyNode, key: str) -> AnyNode | None:
    if isinstance(node, Sequence) and key.isdecimal():
        return node.items[int(key)] if int(key) < len(node.items) else None
    return node.get(key) if isinstance(node, Mapping) else None


def tests_of(reading: Reading) -> list[PlaybookTest]:
    """The tests of a text that is known to check."""
    return [test_of(root) for root in documents_of_kind(reading, PLAYBOOK_TEST)]


def test_of(root: Mapping) -> PlaybookTest:
    written: Any = plain(root)
    real = written.get("real")
    return PlaybookTest(
        name=written["metadata"]["name"],
        root=root,
        playbook=written.get("playbook"),
        surface=written.get("surface", ""),
        payload=written.get("payload", {}),
        now=seconds_of(written["now"]) if "now" in written else None,
        real=None if real is None else tuple(real),
        tools=answers_of(written.get("tools", {})),
        children={path: answers_of(tools) for path, tools in written.get("children", {}).items()},
        recording=written.get("recording"),
        signals=tuple(map(signal_of, written.get("signals", ()))),
        expect=written.get("expect", {}),
    )


def signal_of(written: dict[str, Any]) -> Signal:
    return Signal(patches=written["set"], at=written.get("at"), child=written.get("child"))


def answers_of(written: dict[str, Any]) -> Answers:
    return {name: given if isinstance(given, list) else [given] for name, given in written.items()}


def seconds_of(text: str) -> float | None:
    found = moment_of(text)
    return None if found is None else found.replace(tzinfo=found.tzinfo or UTC).timestamp()
