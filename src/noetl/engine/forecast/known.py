"""What the workload alone decides, before anything has run.

Values are rendered by the same engine and in the same scopes as in a run, if all that they read is known. Conditions
are decided with what is known, which may settle them though they read more (`noetl.expressions.decide`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from noetl.dsl.model import Condition, Parts, Playbook, Value
from noetl.engine.decide import merged
from noetl.engine.values import Fault, holds, rendered
from noetl.expressions import Read, Template, decide, parse

PATHS_NAMED_MAX = 3
Paths = Mapping[tuple[str, ...], Any]
NO_NAMES: Mapping[str, Any] = {}
NO_PATHS: Paths = {}


class Unknown(Exception):
    """A value that only the run will tell; `reads`: what it waits for, as the author wrote it."""

    def __init__(self, reads: Iterable[str]) -> None:
        self.reads = tuple(dict.fromkeys(reads))
        super().__init__(self.words)

    @property
    def words(self) -> str:
        shown = self.reads[:PATHS_NAMED_MAX]
        return ", ".join(shown) + (", …" if len(self.reads) > len(shown) else "")


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The workload of an execution that has not begun."""

    names: dict[str, Any]  # what a template may read already, by name
    unsure: frozenset[str] = frozenset()  # keys of the workload that the caller gives, and nobody knows yet

    def value(self, value: Value, more: Mapping[str, Any] = NO_NAMES) -> Any:
        """What it comes to; `more`: names that are known where it stands. Raises Unknown, Fault."""
        names = {**self.names, **more}
        missing = [path for read in reads_in(value.parts) for path in self._missing(read, names)]
        if missing:
            raise Unknown(missing)
        return rendered(value, names)

    def text(self, written: str) -> Any:
        """What one template comes to. Raises Unknown, EvaluationFault, TemplateSyntaxFault."""
        template = parse(written)
        missing = [path for read in template.reads for path in self._missing(read, self.names)]
        if missing:
            raise Unknown(missing)
        return template.evaluate(self.names)

    def _missing(self, read: Read, names: Mapping[str, Any]) -> Iterator[str]:
        key = read.parts[0].key if read.parts else None
        is_unsure = read.name in self.unsure or (read.name == "workload" and (key is None or key in self.unsure))
        if read.name not in names or (self.unsure and is_unsure):
            yield ".".join(map(str, read.path))

    def holds(self, condition: Condition | None, more: Paths = NO_PATHS) -> bool | None:
        """Whether a `when` holds; None: only the run will tell. No condition is an else."""
        if condition is None:
            return True
        template = condition.template
        if template is None:
            return condition.always
        if any(True for read in template.reads for _ in self._missing(read, self.names)):
            return decide(template, {**self._paths(), **more})
        try:
            return holds(condition, self.names)
        except Fault:  # it fails when it is asked: what then happens is not for a forecast to say
            return None

    def _paths(self) -> dict[tuple[str, ...], Any]:
        if not self.unsure:
            return {(name,): value for name, value in self.names.items()}
        found: dict[tuple[str, ...], Any] = {
            (name,): value for name, value in self.names.items() if name != "workload" and name not in self.unsure
        }
        workload = self.names["workload"]
        return found | {("workload", key): workload[key] for key in workload if key not in self.unsure}


def known_of(playbook: Playbook, payload: dict[str, Any], unsure: frozenset[str] = frozenset()) -> Known:
    """What is known of a playbook with a payload. TP-06: a step's name comes before a key of the workload."""
    workload = merged(playbook.workload, payload)
    bare = {name: value for name, value in workload.items() if name not in playbook.steps}
    return Known(names={**bare, "workload": workload}, unsure=unsure)


def without(known: Known, names: Iterable[str]) -> Known:
    """The same where other names hide some of the workload's: labels, iterators."""
    hidden = frozenset(names) - {"workload"}
    left = {name: value for name, value in known.names.items() if name not in hidden}
    return msgspec.structs.replace(known, names=left)


def reads_in(parts: Parts) -> Iterator[Read]:
    """All that the templates of a value read."""
    if isinstance(parts, Template):
        yield from parts.reads
    elif isinstance(parts, dict):
        for part in parts.values():
            yield from reads_in(part)
    elif isinstance(parts, list):
        for part in parts:
            yield from reads_in(part)


def paths_of(condition: Condition | None) -> list[str]:
    """What a `when` reads, as the author wrote it."""
    reads = condition.template.reads if condition and condition.template else ()
    return list(dict.fromkeys(".".join(map(str, read.path)) for read in reads))
