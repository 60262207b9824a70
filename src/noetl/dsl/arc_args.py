"""Arc `args` as `set` and `input`, where that says the same (PB-11).

A token carries its args from arc to arc, each arc laying its own over them (RT-04), and a step reads them as input.x.
As long as there is one token, that is a variable: an arc that gave `args: {x: V}` may write `ctx.x`, and a step that
read input.x may take it in with `input: {x: "{{ ctx.x }}"}`. It says the same only if

- no second token can be there when the variable is written: no fan-out leads to that arc;
- every way to a step that reads it has written it, because an argument that was not given is undefined and not null;
- everything that reads it is known: code sees its whole input, so there every argument counts as read.

A name is moved everywhere or nowhere: an input laid over an argument would hide it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from noetl.dsl.analyze import tokens_of
from noetl.dsl.dialects.templates import renamed
from noetl.dsl.dialects.texttree import TextTree
from noetl.dsl.draft import Arc, Draft, Site, Step, Task, Text
from noetl.dsl.net import Net, net_of
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, scalars
from noetl.dsl.paths import reach

OUTSIDE = frozenset(
    (Site.ADMIT, Site.LOOP_IN, Site.STEP_INPUT, Site.ARC_WHEN, Site.ARC_SET, Site.ARC_ARGS, Site.ARC_SPEC)
)
READS_CODE = re.compile(r"\binput\b|\bdef\s+main\b")
OPAQUE_KINDS = frozenset(("playbook", "workbook"))  # hand their whole input on
FIELDS_ONLY = frozenset("duckdb http nats noop postgres resolve script secrets shell transfer".split())


class Kept(msgspec.Struct, frozen=True):
    """An argument that stays, and why."""

    arc: Arc
    name: str
    why: str


class Moved(msgspec.Struct, frozen=True):
    """An argument that became a write."""

    arc: Arc
    key: Scalar
    name: str
    target: str


class Outcome(msgspec.Struct):
    moved: list[Moved] = []
    kept: list[Kept] = []


def move_args(tree: TextTree, draft: Draft) -> Outcome:
    """Move what can be moved, in the tree; says what was and what was not."""
    arcs = [arc for arc in draft.arcs if arc.args and arc.args.entries]
    if not arcs:
        return Outcome()
    uses = _Uses(draft, arcs)
    names = list(dict.fromkeys(name for arc in arcs for name in arguments(arc)))
    reasons = {name: uses.reason(name) for name in names}
    targets = choose_targets(draft, uses, [name for name in names if not reasons[name]])
    made = Outcome(kept=[Kept(arc, name, reasons[name]) for arc in arcs for name in arguments(arc) if reasons[name]])
    if targets:
        _Move(tree, draft, uses, targets).run(arcs, made)
    return made


def arguments(arc: Arc) -> dict[str, Entry]:
    return arc.args.entries if arc.args else {}


class _Uses:
    """Who gives which argument, and who reads it."""

    def __init__(self, draft: Draft, arcs: list[Arc]) -> None:
        self.draft = draft
        self.arcs = arcs
        self.net = net_of(draft)
        self.names = frozenset(name for arc in arcs for name in arguments(arc))
        self.reads: dict[str, dict[str, list[Text]]] = {}  # step → argument → the texts that read it
        self.whole: dict[str, list[Text | Task]] = {}  # step → what reads its whole input
        self.own = {id(one) for task in draft.tasks for entry in task.input.values() for one in scalars(entry.value)}
        self.surely, self.maybe = given(draft, self.net) if self.net else ({}, {})
        self.after_fans = after_fans(self.net) if self.net else set()
        self.reads_all_ctx = any(
            read.name == "ctx" and not read.parts
            for text in draft.texts
            if text.template
            for read in text.template.reads
        )
        self.steps = {step.name: step for step in draft.steps}
        self.text_of = {id(text.node): text for text in draft.texts}
        for text in draft.texts:
            self.note(text)
        for step in draft.steps:
            self.whole.setdefault(step.name, []).extend(task for task in step_tasks(step) if is_opaque(draft, task))

    def note(self, text: Text) -> None:
        """Where a template reads arguments."""
        for read in text.template.reads if text.template and text.step else ():
            if read.name != "input" or not text.step:
                continue
            if not read.parts:
                self.whole.setdefault(text.step.name, []).append(text)
            elif isinstance(name := read.parts[0].key, str) and self.is_argument(text, name):
                self.reads.setdefault(text.step.name, {}).setdefault(name, []).append(text)

    def is_argument(self, text: Text, name: str) -> bool:
        """Whether input.<name> is the token's there: neither the step's own nor the task's."""
        if name not in self.names:
            return False
        if text.site in OUTSIDE or text.step is None:
            return True
        is_of_task = text.task is not None and name in text.task.input and id(text.node) not in self.own
        return not is_of_task and name not in text.step.input

    def reason(self, name: str) -> str:
        """Why an argument cannot be moved; empty if it can."""
        if self.net is None:
            return "the steps and arcs are not in order; repair them first (noetl check)"
        checks = (self.second_token(self.net, name), self.unknown_reader(name), self.undefined(name), self.clash(name))
        return next((why for why in checks if why), "")

    def second_token(self, net: Net, name: str) -> str:
        """Whether another token could write it, or could have written it, when one reads it."""
        if net.is_open:
            return "a planner may add steps that read it"
        givers = list(self.givers(name))
        if len(givers) == 1 and self.runs_once(net, net.numbers[givers[0].step.name]):
            return ""
        fans = tokens_of(net).fans
        senders = {fan.step for fan in fans}
        for arc in givers:
            number = net.numbers[arc.step.name]
            if number in senders:
                return f'"{arc.step.name}" can send two tokens at once, and more than one of them may have it'
            if number in self.after_fans:
                fan = next(fan for fan in fans if number in reach(net.successors, (fan.one, fan.other)))
                sender = net.steps[fan.step].name
                return f'"{sender}" fans out, so two tokens with values of their own can come to "{arc.step.name}"'
        return ""

    def runs_once(self, net: Net, number: int) -> bool:
        """Whether a step runs at most once, whichever ways tokens take."""
        pairs = tokens_of(net).real
        is_on_cycle = any(number in cycle for cycle in net.cycles)
        return number in net.reached and pairs.is_complete and not is_on_cycle and not pairs.has(number, number)

    def givers(self, name: str) -> Iterator[Arc]:
        return (arc for arc in self.arcs if name in arguments(arc))

    def unknown_reader(self, name: str) -> str:
        """Something that reads its whole input where only single values can be handed over."""
        for step, readers in self.whole.items():
            if name not in self.maybe.get(step, ()):
                continue
            for reader in readers:
                if isinstance(reader, Text) and reader.site in OUTSIDE:
                    return f'a template of step "{step}" reads all of input'
            if readers and name not in self.surely[step] and name not in self.step(step).input:
                return f'step "{step}" reads all of its input, and can be reached without it'
        return ""

    def undefined(self, name: str) -> str:
        for step, reads in self.reads.items():
            if name in reads and name in self.maybe.get(step, ()) and name not in self.surely[step]:
                return f'step "{step}" reads it and can also be reached without it: there it is undefined, not null'
        return ""

    def clash(self, name: str) -> str:
        """What stands in the way where it is given or read."""
        for step, reads in self.reads.items():
            if (
                name in reads
                and name in self.step(step).input
                and any(text.site in OUTSIDE - {Site.STEP_INPUT} for text in reads[name])
            ):
                return f'step "{step}" has an input of that name and reads it in its admission, loop or arcs'
        for one in self.draft.steps:
            if one.node.get("input") is not None and one.node.mapping("input") is None:
                return f'the input of step "{one.name}" is no mapping'
        if self.reads_all_ctx:
            return "a template reads all of ctx, and would see it there"
        for arc in self.givers(name):
            if arc.node.get("set") is not None and not isinstance(arc.node.get("set"), Mapping):
                return "the arc has a set that is no mapping"
            written = {one.target.split(".")[1] for one in arc.sets if one.target.startswith("ctx.")}
            if written & set(ctx_keys(self.texts_of(arguments(arc)[name].value))):
                return "the same arc writes what the value reads"
        sorts = {is_reference(arguments(arc)[name].value) for arc in self.givers(name)}
        return "it is a reference on one arc and data on another" if len(sorts) > 1 else ""

    def texts_of(self, node: AnyNode) -> list[Text]:
        return [self.text_of[id(one)] for one in scalars(node) if id(one) in self.text_of]

    def step(self, name: str) -> Step:
        return self.steps[name]


def after_fans(net: Net) -> set[int]:
    """The steps that a token of some fan-out can come to."""
    return reach(net.successors, [end for fan in tokens_of(net).fans for end in (fan.one, fan.other)])


def step_tasks(step: Step) -> list[Task]:
    return [*step.tasks, *step.compensation]


def is_opaque(draft: Draft, task: Task) -> bool:
    """Whether a task sees its whole input, not only what its templates name."""
    if task.kind == "python":
        code = task.fields.get("code")
        text = code.value.text if code and isinstance(code.value, Scalar) else None
        return draft.is_upstream or text is None or bool(READS_CODE.search(text))
    return task.kind in OPAQUE_KINDS or task.kind not in FIELDS_ONLY


def given(draft: Draft, net: Net) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """For each step the arguments that every way to it has given, and those that some way has."""
    everything = frozenset(name for arc in draft.arcs for name in arguments(arc))
    surely = {step.name: everything for step in net.steps}
    maybe: dict[str, frozenset[str]] = {step.name: frozenset() for step in net.steps}
    surely[net.steps[net.entry].name] = frozenset()
    waiting = [step.name for step in net.steps]
    steps = {step.name: step for step in net.steps}
    while waiting:
        source = waiting.pop()
        for arc in steps[source].arcs:
            target, own = arc.target_name, frozenset(arguments(arc))
            sure, may = surely[target] & (surely[source] | own), maybe[target] | maybe[source] | own
            if (sure, may) != (surely[target], maybe[target]):
                surely[target], maybe[target] = sure, may
                waiting.append(target)
    return surely, maybe


def ctx_keys(texts: Iterable[Text]) -> Iterator[str]:
    for text in texts:
        for read in text.template.reads if text.template else ():
            if read.name == "ctx" and read.parts:
                yield str(read.parts[0].key)


def is_reference(node: AnyNode) -> bool:
    """Whether a value is a reference: output.ref itself, or something named …_ref."""
    return isinstance(node, Scalar) and bool(re.fullmatch(r"\{\{\s*(output\.ref|[\w.]+_ref)\s*\}\}", node.text))


def choose_targets(draft: Draft, uses: _Uses, names: list[str]) -> dict[str, str]:
    """A ctx key of its own for each argument; one for a reference ends in _ref, and no other does (RS-03)."""
    taken = set(ctx_keys(draft.texts)) | {
        one.target.split(".")[1] for one in draft.assignments if one.target.startswith("ctx.")
    }
    chosen: dict[str, str] = {}
    for name in names:
        word = re.sub(r"\W", "_", name)
        word = f"_{word}" if word[:1].isdigit() else word
        is_ref = any(is_reference(arguments(arc)[name].value) for arc in uses.givers(name))
        if is_ref != word.endswith("_ref"):
            word = f"{word}_ref" if is_ref else f"{word.removesuffix('_ref')}_value"
        chosen[name] = free(word, taken)
        taken.add(chosen[name])
    return chosen


def free(word: str, taken: set[str]) -> str:
    """The word, or one made from it that nobody uses."""
    stem, ending = (word.removesuffix("_ref"), "_ref") if word.endswith("_ref") else (word, "")
    candidates = [word, f"{stem}_arg{ending}", *(f"{stem}_arg{number}{ending}" for number in range(2, len(taken) + 3))]
    return next(candidate for candidate in candidates if candidate not in taken)


class _Move:
    """The change itself."""

    def __init__(self, tree: TextTree, draft: Draft, uses: _Uses, targets: dict[str, str]) -> None:
        self.tree, self.draft, self.uses, self.targets = tree, draft, uses, targets
        self.spots = dict(spots(draft.root))

    def run(self, arcs: list[Arc], made: Outcome) -> None:
        for reader, reads in self.uses.reads.items():
            known: dict[tuple[str, ...], str] = {
                ("input", name): f"ctx.{target}"
                for name, target in self.targets.items()
                if name in self.uses.maybe[reader]
            }
            for text in {id(text): text for texts in reads.values() for text in texts if text.site in OUTSIDE}.values():
                if found := renamed(text.node.text, known):
                    self.tree.respell(*self.spots[id(text.node)], found)
        for arc in arcs:
            self.give(arc, made)
        for step in self.draft.steps:
            self.take_in(step)

    def give(self, arc: Arc, made: Outcome) -> None:
        """args: {x: V} → set: {ctx.x: V}"""
        entries = arguments(arc)
        moving = [name for name in entries if name in self.targets]
        made.moved += [Moved(arc, entries[name].key, name, f"ctx.{self.targets[name]}") for name in moving]
        if len(moving) == len(entries) and "set" not in arc.node.entries:
            self.tree.rename(arc.node, "args", "set")
            for name in moving:
                self.tree.rename(arc.args, name, f"ctx.{self.targets[name]}")
            return
        for name in moving:
            value = self.tree.take(arc.args, name)
            if "set" not in arc.node.entries:
                self.tree.put_before(arc.node, "set", self.tree.mapping([], arc.args), "args")
            self.tree.put(arc.node.get("set"), f"ctx.{self.targets[name]}", value)
        if moving and not entries:
            self.tree.take(arc.node, "args")

    def take_in(self, step: Step) -> None:
        """input: {x: "{{ ctx.x }}"} on a step that reads it."""
        read = {
            name
            for name, texts in self.uses.reads.get(step.name, {}).items()
            if any(text.site not in OUTSIDE for text in texts)
        }
        if self.uses.whole.get(step.name):
            read |= self.uses.maybe[step.name]
        wanted = [name for name in self.targets if name in read & self.uses.maybe[step.name] and name not in step.input]
        if wanted and "input" not in step.node.entries:
            self.tree.put(step.node, "input", self.tree.mapping([], step.node))
        for name in wanted:
            value = self.tree.scalar(f"{{{{ ctx.{self.targets[name]} }}}}", step.node)
            self.tree.put(step.node.get("input"), name, value)


def spots(node: AnyNode) -> Iterator[tuple[int, tuple[AnyNode, str | int]]]:
    """Where every value below a node stands: its collection and key."""
    children: Iterable[tuple[str | int, AnyNode]] = ()
    if isinstance(node, Mapping):
        children = [(name, entry.value) for name, entry in node.entries.items()]
    elif isinstance(node, Sequence):
        children = list(enumerate(node.items))
    for key, child in children:
        yield id(child), (node, key)
        yield from spots(child)
