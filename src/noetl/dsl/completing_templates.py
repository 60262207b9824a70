"""Completion inside {{ }}: the names that may be read in a place (`scopes.py`), what they hold, filters and tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from noetl.dsl import names
from noetl.dsl.draft import Site
from noetl.dsl.kinds import Kind, Kinds
from noetl.dsl.places import Place, place_of, site_of
from noetl.dsl.proposals import FILTER, NAME, STEP, TASK, Item, Proposal
from noetl.dsl.scopes import SITES
from noetl.dsl.spots import Cell, Spot, cell_at
from noetl.expressions.filters import FILTERS, TESTS
from noetl.keychain.kinds import kind_named

ENVELOPE = {
    "status": "ok or error",
    "data": "what the tool gave",
    "ref": "where the data is kept, if that is outside the log",
    "error": "why it failed: {kind, message, retryable, details}; null if it did not",
    "meta": "attempt, ts, trace",
}
ERROR = {"kind": "timeout, rate_limit, …", "message": "for people", "retryable": "", "details": ""}
LOOP = {"total": "iterations in all", "done": "", "failed": "", "skipped": ""}
ITERATION = {"index": "from 0", "_index": "from 0", "_total": "", "_first": "true for the first", "_last": ""}
EVENT = {
    "name": "step.done, step.failed or loop.done",
    "status": "success or error",
    "step": "whose end it is",
    "payload": "{output, error}",
    "timestamp": "",
    "execution_id": "",
    "event_id": "",
    "source": "server or worker",
    "step_run_id": "",
    "entity_type": "",
    "entity_id": "",
}
RESERVED = {
    "workload": "the merged inputs",
    "ctx": "values shared by the steps of the execution",
    "execution_id": "this execution",
    "input": "what the step, and once its input is rendered the task, received",
    "output": "the envelope of what finished last; at a step's entry that of the sender",
    "event": "the boundary event",
    "iter": "the iteration",
    "step": "values of this step run",
    "_prev": "data of the task before",
    "_task": "the label of this task",
    "_attempt": "the attempt, from 1",
    "_key": "the idempotency key of this task run",
    "keychain": "secrets, by declared name",
}
AFTER_PIPE = re.compile(r"\|\s*(\w*)$")
AFTER_IS = re.compile(r"\bis\s+(?:not\s+)?(\w*)$")
MEMBER = re.compile(r"([A-Za-z_]\w*(?:\.\w+|\[\d{1,9}\])*)\.(\w*)$")
WORD = re.compile(r"(\w*)$")
STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
EXPRESSION_CHARACTERS_MAX = 8 * 1024
PATH_CHARACTERS_MAX = 400


def expression_before(text: str) -> str | None:
    """What is typed of the {{ }} or {% %} that a text ends in; None: it does not end in one."""
    opened = max(text.rfind("{{"), text.rfind("{%"))
    closed = max(text.rfind("}}"), text.rfind("%}"))
    return text[opened + 2 :][-EXPRESSION_CHARACTERS_MAX:] if opened > closed else None


def template_items(spot: Spot, expression: str, kinds: Kinds, column: int) -> Proposal:
    """What may be read, or applied, where an expression ends."""
    bare = STRING.sub("''", expression)
    if bare.count("'") % 2 or bare.count('"') % 2:
        return Proposal(start_column=column, items=[])  # inside a text
    if found := AFTER_PIPE.search(bare):
        return Proposal.of(_words(FILTERS, "a filter"), found[1], column - len(found[1]))
    if found := AFTER_IS.search(bare):
        return Proposal.of(_words(filter(str.isidentifier, TESTS), "a test"), found[1], column - len(found[1]))
    viewer = Viewer(spot, place_of(spot, kinds), kinds)
    if found := MEMBER.search(bare[-PATH_CHARACTERS_MAX:]):
        return Proposal.of(viewer.members(re.split(r"[.\[]", found[1])), found[2], column - len(found[2]))
    typed = (WORD.search(bare) or [""])[0]
    return Proposal.of(viewer.names(), typed, column - len(typed))


def _words(words: Iterable[str], detail: str) -> list[Item]:
    return [Item(label=one, insert=one, kind=FILTER, detail=detail) for one in sorted(words)]


class Viewer:
    """Who reads: a template in one place of a text."""

    def __init__(self, spot: Spot, place: Place | None, kinds: Kinds) -> None:
        self.root = spot.root
        self.kinds = kinds
        self.step = place.step if place is not None else None
        self.task = place.task if place is not None else None
        self.site = site_of(spot.path)

    # --- names -------------------------------------------------------------------------------------------------------

    def names(self) -> list[Item]:
        """Every name that may be read here: the reserved ones first, then labels, iterators and steps."""
        where = SITES.get(self.site or "")
        if where is None:
            return []
        reserved = [name for name in RESERVED if name in where.names or (name == "iter" and self.has_iteration)]
        found = [Item(label=name, insert=name, kind=NAME, doc=RESERVED[name]) for name in reserved]
        found += [Item(label=one, insert=one, kind=TASK, detail="a task's output") for one in self.labels()]
        if self.has_iteration:
            iterators = names.iterators_of(self.step)
            found += [Item(label=one, insert=one, kind=NAME, detail="the element") for one in iterators]
        if self.site != Site.CREDENTIAL:
            found += [Item(label=one, insert=one, kind=STEP, detail="a step's output") for one in self.steps()]
        return found

    @property
    def has_iteration(self) -> bool:
        is_inside = self.site in SITES and SITES[self.site].is_in_pipeline
        return is_inside and (self.step is None or bool(names.iterators_of(self.step)))

    def labels(self) -> list[str]:
        is_inside = self.site in SITES and (SITES[self.site].is_in_pipeline or self.site == Site.STEP_SET)
        return list(names.tasks_of(self.step)) if is_inside else []

    def steps(self) -> list[str]:
        return list(names.steps_of(self.root))

    # --- what they hold ----------------------------------------------------------------------------------------------

    def members(self, path: list[str]) -> list[Item]:
        """What is known to be under a path."""
        words = [word.rstrip("]") for word in path]
        head, rest = words[0], words[1:]
        members = MEMBERS.get(head)
        if members is not None:
            return members(self, rest)
        outputs = {**names.steps_of(self.root), **names.tasks_of(self.step)}
        return self._envelope(outputs.get(head), rest) if head in outputs else []

    def _workload(self, rest: list[str]) -> list[Item]:
        return _known(names.keys_under(cell_at(self.root, ("workload", *rest))), "of the workload")

    def _written(self, scope: str, below: Cell | None, rest: list[str]) -> list[Item]:
        start = ".".join((scope, *rest, ""))
        targets = names.writes_in(below) if below is not None else []
        keys = [target.removeprefix(start).partition(".")[0] for target in targets if target.startswith(start)]
        return _known(dict.fromkeys(keys), "set by this playbook")

    def _ctx(self, rest: list[str]) -> list[Item]:
        return self._written("ctx", self.root, rest)

    def _step(self, rest: list[str]) -> list[Item]:
        return self._written("step", self.step, rest)

    def _iter(self, rest: list[str]) -> list[Item]:
        outward = [*reversed(names.iterators_of(self.step))]
        depth = next((place for place, word in enumerate(rest) if word != "parent"), len(rest))
        if depth < len(rest) or depth >= max(len(outward), 1):
            return []
        found = _known(outward[depth : depth + 1], "the element")
        found += [Item(label=one, insert=one, kind=NAME, doc=doc) for one, doc in ITERATION.items()]
        found += _known(["parent"] if depth + 1 < len(outward) else [], "the iteration outside")
        return found + (self._written("iter", self.step, []) if not rest else [])

    def _input(self, rest: list[str]) -> list[Item]:
        cells = [cell.get("input", *rest) for cell in (self.step, self.task) if cell is not None]
        return _known(dict.fromkeys(key for cell in cells for key in names.keys_under(cell)), "of input")

    def _output(self, rest: list[str]) -> list[Item]:
        return self._envelope(self.task if self.task is not None else self.step, rest)

    def _envelope(self, cell: Cell | None, rest: list[str]) -> list[Item]:
        """Of a task, or of the last task of a step."""
        is_loop = cell is not None and cell.get("loop") is not None
        kind = self._kind_of(cell)
        if not rest:
            more = {"loop": "{total, done, failed, skipped}"} if is_loop else {}
            more |= {kind.helper: f"of kind {kind.name}"} if kind is not None and kind.helper and not is_loop else {}
            return _documented({**ENVELOPE, **more})
        if kind is not None and rest == [kind.helper]:
            return _known(kind.helper_fields, f"of kind {kind.name}")
        return _documented({"error": ERROR, "loop": LOOP if is_loop else {}}.get(rest[0], {}) if len(rest) == 1 else {})

    def _kind_of(self, cell: Cell | None) -> Kind | None:
        if cell is not None and cell.get("step") is not None:
            cell = next(reversed(names.tasks_of(cell).values()), None)
        return self.kinds.get(names.value_of(cell, "kind"))

    def _event(self, rest: list[str]) -> list[Item]:
        if rest == ["payload"]:
            return _documented({"output": "the envelope of the step", "error": "why it failed"})
        return _documented(EVENT) if not rest else []

    def _keychain(self, rest: list[str]) -> list[Item]:
        known = names.credentials_of(self.root)
        if not rest:
            return _known(known, "a keychain entry")
        kind = kind_named(known.get(rest[0], ""))
        return _known(kind.fields, f"of {kind.name}") if kind is not None and len(rest) == 1 else []


def _known(words: Iterable[str], detail: str) -> list[Item]:
    return [Item(label=one, insert=one, kind=NAME, detail=detail) for one in words]


def _documented(words: dict[str, str]) -> list[Item]:
    return [Item(label=one, insert=one, kind=NAME, doc=doc) for one, doc in words.items()]


MEMBERS: dict[str, Callable[[Viewer, list[str]], list[Item]]] = {
    "workload": Viewer._workload,
    "ctx": Viewer._ctx,
    "step": Viewer._step,
    "iter": Viewer._iter,
    "input": Viewer._input,
    "output": Viewer._output,
    "event": Viewer._event,
    "keychain": Viewer._keychain,
}
