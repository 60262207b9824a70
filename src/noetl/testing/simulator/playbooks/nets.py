"""The net of one generated playbook: steps in blocks, the arcs between them, and what each may read."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.testing.simulator.playbooks.places import IS_ERROR, Known
from noetl.testing.simulator.playbooks.plans import Arc, Step, Write
from noetl.testing.simulator.playbooks.scripts import disguised
from noetl.testing.simulator.playbooks.steps import StepAuthor, brought_to
from noetl.testing.simulator.playbooks.terms import Constant, Operation, Read, Term, compare, read
from noetl.testing.simulator.playbooks.text import step_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BRANCHES_MAX = 3
ROUNDS = 2  # of a step that repeats itself
FAILED = compare(read("event.name"), "==", "step.failed")


class Draft:
    """A step whose arcs are not all there yet."""

    def __init__(self, step: Step, *, can_read_output: bool) -> None:
        self.step = step
        self.can_read_output = can_read_output  # its arcs may read output.data
        self.arcs: list[Arc] = []
        self.is_inclusive = False
        self.planned: list[Draft] = []  # of a planner

    @property
    def name(self) -> str:
        return self.step.name

    def finished(self) -> Step:
        step = msgspec.structs.replace(self.step, arcs=tuple(self.arcs), is_inclusive=self.is_inclusive)
        return _with_plan(step, tuple(draft.finished() for draft in self.planned)) if step.is_planner else step


def _with_plan(step: Step, planned: tuple[Step, ...]) -> Step:
    """A planner, with the steps that its only task gives; a bad plan names a step that is there already."""
    (task,) = step.tasks
    assert task.script is not None  # noqa: S101 - a planner's task is scripted
    documents = [step_document(one) for one in planned]
    is_bad = step.is_plan_bad and bool(planned)
    if is_bad:
        documents[0]["step"] = step.name
    script = msgspec.structs.replace(task.script, plan=disguised(documents))
    tasks = (msgspec.structs.replace(task, script=script),)
    return msgspec.structs.replace(step, tasks=tasks, planned=planned, is_plan_bad=is_bad)


class Block(msgspec.Struct, frozen=True):
    """Part of a net: its first step, the steps that lead out of it, what is known after it, how many steps it has."""

    entry: Draft
    exits: list[Draft]
    known: Known
    size: int


class NetAuthor:
    """Draws one net."""

    def __init__(self, steps: StepAuthor) -> None:
        self.steps = steps
        self.stream = steps.stream
        self.has = steps.has
        self.drafts: dict[str, Draft] = {}
        self.numbers = count(1)  # of steps, those of plans included
        self.has_fan = False

    def net(self, size: int) -> dict[str, Step]:
        """About so many steps, by name; the first one is where it begins."""
        self._row(size, (), is_beside=False)
        return {name: draft.finished() for name, draft in self.drafts.items()}

    def _row(self, size: int, known: Known, *, is_beside: bool) -> Block:
        """Blocks one after another."""
        row = self._block(size, known, is_beside)
        while row.size < size and row.exits:
            following = self._block(size - row.size, row.known, is_beside)
            self._connect(row, following.entry)
            row = Block(row.entry, following.exits, following.known, row.size + following.size)
        return row

    def _connect(self, block: Block, entry: Draft) -> None:
        for draft in block.exits:
            writes = self._arc_writes(draft, f"{draft.name}_left")
            draft.arcs.append(Arc(target=entry.name, writes=writes, args=self._arc_args(draft, entry)))

    def _arc_writes(self, draft: Draft, key: str) -> tuple[Write, ...]:
        if not self.stream.chance(0.15):
            return ()
        return (Write(path=f"ctx.{key}", term=_left_by(draft)),)

    def _arc_args(self, draft: Draft, entry: Draft) -> dict[str, Term]:
        """What the token brings to a step. A join gets all its tokens' args: from every side the same."""
        if not self.has("args", 0.3):
            return {}
        return {brought_to(entry.name): read("workload.n", 0) if entry.step.is_join else _left_by(draft)}

    def _block(self, size: int, known: Known, is_beside: bool) -> Block:
        makers: list[Callable[[int, Known, bool], Block]] = [self._plain]
        if self.has("signals", 0.5) and not is_beside:
            makers.append(self._signalled)
        if size >= 2 and self.has("handlers", 1.0):
            makers += [self._handled]
        if self.steps.may_plan and self.has("planners", 1.0):
            makers += [self._planned] * 3
        if self.has("cycles", 1.0):
            makers.append(self._cycle)
        if size >= 3 and self.has("choices", 1.0):
            makers += [self._choice]
        if size >= 4 and self.has("fans", 1.0):
            makers += [self._fan, self._fan]
        return self.stream.pick(makers)(size, known, is_beside)

    def _step(self, known: Known, is_beside: bool, **fields: Any) -> tuple[Draft, Known]:
        name = f"s{next(self.numbers)}"
        made = self.steps.step(name, known, is_beside=is_beside, **fields)
        draft = self.drafts[name] = Draft(made.step, can_read_output=made.can_read_output)
        return draft, (*known, *made.written)

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _plain(self, _size: int, known: Known, is_beside: bool) -> Block:
        draft, after = self._step(known, is_beside, opens_when=self._settled(known))
        return Block(draft, [draft], after, 1)

    def _signalled(self, _size: int, known: Known, is_beside: bool) -> Block:
        """A step that waits for somebody outside. Beside others it would be drawn who is retired before it opens."""
        draft, after = self._step(known, is_beside, waits_for_signal=True)
        return Block(draft, [draft], after, 1)

    def _planned(self, _size: int, known: Known, is_beside: bool) -> Block:
        """A planner and the step it plans, which leads back; after an empty plan the planner itself leads on."""
        planner, after = self._step(known, is_beside, is_planner=True)
        if self.stream.chance(0.2):
            return Block(planner, [planner], after, 1)
        draft, planned = self._step(after, is_beside)
        planner.planned.append(self.drafts.pop(draft.name))
        return Block(planner, [planner, draft], planned, 2)

    def _settled(self, known: Known) -> Term | None:
        """A gate on what is settled before the step, so that its answer never changes."""
        if not known or not self.has("gates", 0.35):
            return None
        return compare(Operation("%", Read(("ctx", self.stream.pick(known)), 0), Constant(5)), "<", 3)

    def _handled(self, _size: int, known: Known, is_beside: bool) -> Block:
        """A step whose failure has a handler; both lead on."""
        draft, after = self._step(known, is_beside, is_risky=True)
        handler, handled = self._step(known, is_beside, is_plain=True)
        draft.arcs.append(Arc(target=handler.name, when=self.stream.pick((FAILED, IS_ERROR)), handles_failure=True))
        return Block(draft, [draft, handler], _all_of((after, handled)), 2)

    def _cycle(self, _size: int, known: Known, is_beside: bool) -> Block:
        """A step that leads back to itself a few times."""
        counter = f"rounds_{len(self.drafts)}"
        another = Write(path=f"ctx.{counter}", term=Operation("+", Read(("ctx", counter), 0), Constant(1)))
        draft, after = self._step(known, is_beside, more_writes=(another,))
        again = compare(Read(("ctx", counter), 0), "<", ROUNDS)
        draft.arcs.append(Arc(target=draft.name, when=again, args=self._arc_args(draft, draft)))
        return Block(draft, [draft], (*after, counter), 1)

    def _choice(self, size: int, known: Known, is_beside: bool) -> Block:
        """Exclusive arcs to two rows; the last one is open, or none is and the branch may end here."""
        draft, after = self._step(known, is_beside)
        rows = [self._row(max(1, (size - 1) // 2), after, is_beside=is_beside) for _ in range(2)]
        is_open = self.stream.chance(0.8)
        for row in rows:
            when = None if is_open and row is rows[-1] else self._condition(draft, after)
            writes = self._arc_writes(draft, f"{draft.name}_left")
            args = self._arc_args(draft, row.entry)
            draft.arcs.append(Arc(target=row.entry.name, when=when, writes=writes, args=args))
        exits = [one for row in rows for one in row.exits]
        return Block(draft, exits, _all_of(row.known for row in rows), 1 + sum(row.size for row in rows))

    def _condition(self, draft: Draft, known: Known) -> Term:
        names = [Read(("ctx", key), 0) for key in known] + [read("workload.n", 0)]
        names += [read("output.data.n", 0)] * (3 if draft.can_read_output else 0)
        term = Operation("%", self.stream.pick(names), Constant(3))
        return compare(term, self.stream.pick(("<", "==", ">=")), 1)

    def _fan(self, size: int, known: Known, is_beside: bool) -> Block:
        """Inclusive arcs to rows that run beside each other, and a join; without one nothing can follow."""
        self.has_fan = True
        draft, after = self._step(known, is_beside)
        draft.is_inclusive = True
        branches = self.stream.integer(2, min(BRANCHES_MAX, size - 2))
        rows = [self._row(max(1, (size - 2) // branches), after, is_beside=True) for _ in range(branches)]
        for row in rows:
            when = self._condition(draft, after) if self.stream.chance(0.25) else None
            writes = self._arc_writes(draft, f"{row.entry.name}_came")  # they fire together: a key for each
            args = self._arc_args(draft, row.entry)
            draft.arcs.append(Arc(target=row.entry.name, when=when, writes=writes, args=args))
        self._gate_by_sibling(rows)
        return self._after_fan(draft, rows, after, is_beside)

    def _after_fan(self, draft: Draft, rows: list[Block], known: Known, is_beside: bool) -> Block:
        size = 1 + sum(row.size for row in rows)
        if not is_beside and not self.has("joins", 0.8):
            return Block(draft, [], known, size)
        join, joined = self._step(_all_of(row.known for row in rows), is_beside, is_join=True)
        for row in rows:
            self._connect(row, join)
        return Block(draft, [join], joined, size + 1)

    def _gate_by_sibling(self, rows: list[Block]) -> None:
        """The second row waits until the first step of the first one has written: once, and for good."""
        opener, gated = rows[0].entry, rows[1].entry
        if not self.has("gates", 0.8) or gated.step.opens_when is not None:
            return
        key = f"{opener.name}_open"
        writes = (*opener.step.writes, Write(path=f"ctx.{key}", term=Constant(1)))
        opener.step = msgspec.structs.replace(opener.step, writes=writes)
        gated.step = msgspec.structs.replace(gated.step, opens_when=compare(Read(("ctx", key), 0), "==", 1))


def _left_by(draft: Draft) -> Term:
    """What is surely in hand when a step has ended."""
    return read("output.data.n", 0) if draft.can_read_output else read("workload.n", 0)


def _all_of(known: Iterable[Known]) -> Known:
    """Every key once, in order."""
    return tuple(dict.fromkeys(key for keys in known for key in keys))
