"""What every name in every template means where it stands; several rules of the 6xx block ask for it.

Made once per playbook, in one pass over the templates that compile. A name is what the first of these finds (TP-06): a
reserved name, a task label of this pipeline, an iterator, a step that may have run by then, a workload key, any other
step. What is reserved but not readable here, or is a label or iterator of somewhere else, is `REFUSED`; what is none of
these is `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import msgspec

from noetl.dsl.draft import Draft, Site, Step, Task, Text
from noetl.dsl.net import is_planner
from noetl.dsl.paths import reach, reversed_edges
from noetl.dsl.scopes import RESERVED, Names, names_at, workload_keys
from noetl.dsl.source import Place
from noetl.expressions import Part, Read

SCOPE, LABEL, ITERATOR, STEP, WORKLOAD_KEY = "scope", "label", "iterator", "step", "workload key"
REFUSED, UNKNOWN = "refused", "unknown"
AT_END = frozenset((Site.STEP_SET, Site.ARC_WHEN, Site.ARC_SET, Site.ARC_ARGS, Site.ARC_SPEC))
NAMES_FOLLOWED_MAX = 50  # of steps called like a key of the workload; each is followed through the whole net


class Meaning(msgspec.Struct, frozen=True, kw_only=True):
    """One read of a name, and what the name is there."""

    text: Text
    read: Read
    sort: str  # SCOPE … UNKNOWN
    names: Names
    task: Task | None = None  # of a label
    step: Step | None = None  # of a step name


class Elsewhere(msgspec.Struct):
    """Names that mean something in another place of this playbook."""

    labels: dict[str, Task]
    iterators: dict[str, Step]


def meanings(draft: Draft) -> list[Meaning]:
    """Every read of the playbook."""
    found = draft.prepared.get("meanings")
    if not isinstance(found, list):
        found = draft.prepared["meanings"] = list(reader(draft).read_all())
    return found


def is_readable(draft: Draft, text: Text) -> bool:
    """Whether a template that is not in the playbook (yet) could stand in that place."""
    return all(one.sort not in (REFUSED, UNKNOWN) for one in reader(draft).read(text))


def once_per_name(found: Iterable[Meaning]) -> Iterator[Meaning]:
    """The first read of each name in each template: one finding says it."""
    seen: set[tuple[int, str]] = set()
    for meaning in found:
        key = (id(meaning.text), meaning.read.name)
        if key not in seen:
            seen.add(key)
            yield meaning


def place_of_key(text: Text, part: Part) -> Place:
    """Where a key of a path stands, without its dot."""
    is_dotted = text.node.text[part.offset : part.offset + 1] == "."
    return text.place_of(part.end - len(str(part.key)) if is_dotted else part.offset, part.end)


def elsewhere(draft: Draft) -> Elsewhere:
    """The labels and iterators of the whole playbook, each with the first that owns it."""
    found = draft.prepared.get("elsewhere")
    if not isinstance(found, Elsewhere):
        found = draft.prepared["elsewhere"] = Elsewhere({}, {})
        for task in draft.tasks:
            found.labels.setdefault(task.label, task)
        for step in draft.steps:
            for iterator in step.iterators:
                found.iterators.setdefault(iterator, step)
    return found


def reader(draft: Draft) -> Reader:
    found = draft.prepared.get("reader")
    if not isinstance(found, Reader):
        found = draft.prepared["reader"] = Reader(draft)
    return found


class Reader:
    """Looks names up, for one playbook."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.steps = {step.name: step for step in draft.steps}
        self.workload = workload_keys(draft)
        self.elsewhere = elsewhere(draft)
        self.known: dict[tuple[object, ...], Names] = {}
        self.order = Order(draft)

    def read_all(self) -> Iterator[Meaning]:
        for text in self.draft.texts:
            yield from self.read(text)

    def read(self, text: Text) -> Iterator[Meaning]:
        if text.template and text.template.reads:
            names = self.names(text)
            for read in text.template.reads:
                yield self.meaning(text, read, names)

    def names(self, text: Text) -> Names:
        """As `names_at`, kept for all templates that stand alike."""
        task = text.task
        is_alone = task is not None and task.step is None
        key = (
            text.site,
            id(text.step),
            id(text.loop),
            bool(task and task.is_compensation),
            id(task) if is_alone else 0,
        )
        if key not in self.known:
            self.known[key] = names_at(text)
        return self.known[key]

    def meaning(self, text: Text, read: Read, names: Names) -> Meaning:
        name = read.name
        task, step = names.labels.get(name), self.steps.get(name) if names.has_steps else None
        if name in RESERVED:
            sort = SCOPE if name in names.scopes else REFUSED
        elif task:
            sort = LABEL
        elif name in names.iterators:
            sort = ITERATOR
        elif step and not (name in self.workload and self.order.is_before(text, step)):
            sort = STEP
        elif name in self.workload:
            sort = WORKLOAD_KEY
        else:
            is_elsewhere = name in self.elsewhere.labels or name in self.elsewhere.iterators or name in self.steps
            sort = REFUSED if is_elsewhere else UNKNOWN
        return Meaning(text=text, read=read, sort=sort, names=names, task=task, step=step)


class Order:
    """Which steps cannot have run yet where a template is evaluated."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.numbers = {step.name: number for number, step in enumerate(draft.steps)}
        self.later: dict[str, set[int]] = {}  # step → those that can run after it, or beside it

    def is_before(self, text: Text, step: Step) -> bool:
        """Whether a template is certainly evaluated before any run of a step has ended."""
        is_over = text.step is step and text.site in AT_END
        if text.step is None or is_over or (text.task and text.task.is_compensation):
            return False
        if step.name not in self.later:
            is_followed = len(self.later) < NAMES_FOLLOWED_MAX and not any(map(is_planner, self.draft.steps))
            self.later[step.name] = self.after(step) if is_followed else set(range(len(self.draft.steps)))
        return self.numbers[text.step.name] not in self.later[step.name]

    def after(self, step: Step) -> set[int]:
        """What an arc leads to from a step, and from every fan-out that leads to it: branches run beside each other."""
        number = self.numbers[step.name]
        leading = reach(self.predecessors, (number,))
        fans = [other for other in leading if self.draft.steps[other].is_inclusive]
        return reach(self.successors, [end for start in (number, *fans) for end in self.successors[start]])

    @cached_property
    def successors(self) -> list[list[int]]:
        targets = ([self.numbers.get(arc.target_name, -1) for arc in step.arcs] for step in self.draft.steps)
        return [[target for target in found if target >= 0] for found in targets]

    @cached_property
    def predecessors(self) -> list[list[int]]:
        return reversed_edges(self.successors)
