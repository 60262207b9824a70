"""What the author wrote, as the author wrote it: the parts of a playbook before it is known to be right.

`parse.py` makes a Draft, the rules and `analyze.py` read it, `normalize.py` turns one without errors into a Playbook.
Every part keeps its node, so that a finding can point at it. A part whose shape is wrong is absent here; the rule for
that shape speaks of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from noetl.dsl.dialects.tree import Mark
from noetl.dsl.kinds import Kind, Kinds
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar
from noetl.dsl.source import Place, Source
from noetl.expressions import Template, TemplateSyntaxFault

OTHER_KINDS = frozenset(("Schedule", "Trigger", "PlaybookTest", "Credential"))  # they have checkers of their own


class Site:
    """The places a template can stand in; `scopes.py` says what may be read in each."""

    ADMIT = "admission"
    LOOP_IN = "loop.in"
    STEP_INPUT = "step input"
    TASK_FIELD = "tool field"
    RULE_WHEN = "rule condition"
    RULE_DELAY = "retry delay"
    RULE_SET = "rule set"
    TASK_SET = "task set"
    STEP_SET = "step set"
    ARC_WHEN = "arc condition"
    ARC_SET = "arc set"
    ARC_ARGS = "arc args"
    ARC_SPEC = "arc spec"
    CREDENTIAL = "keychain entry"


class Text(msgspec.Struct, kw_only=True):
    """A text with a template in it."""

    node: Scalar
    site: str
    template: Template | None  # None: it does not compile, and
    fault: TemplateSyntaxFault | None  # this is why
    step: Step | None = None
    task: Task | None = None
    loop: Loop | None = None  # for loop.in: the loop it feeds
    target: str = ""  # for a set: what it writes; for a tool field: the field

    def place_of(self, offset: int, end: int) -> Place:
        return self.node.place_at(offset, end - offset)


class Assignment(msgspec.Struct, kw_only=True):
    """One write of a `set`."""

    target: str  # as a flat path: ctx.a.b
    key: Scalar
    value: AnyNode
    site: str
    step: Step | None
    task: Task | None = None
    is_nested: bool = False  # written as {ctx: {a: …}}

    @property
    def scope(self) -> str:
        return self.target.split(".", 1)[0]


class Rule(msgspec.Struct, kw_only=True):
    """One rule of a task's policy."""

    node: Mapping
    when: AnyNode | None
    is_else: bool
    then: Mapping | None
    sets: list[Assignment]
    task: Task

    @property
    def do(self) -> str:
        return (self.then.text("do") or "") if self.then else ""


class Task(msgspec.Struct, kw_only=True):
    """One task of a pipeline, of a compensation, or of the workbook."""

    node: Mapping
    label: str
    name: Scalar | None  # None: the label is generated
    step: Step | None
    index: int
    kind: str
    direct: dict[str, Entry]  # fields written on the task itself
    input: dict[str, Entry]  # … and under input
    spec: Mapping | None
    policy: AnyNode | None
    rules: list[Rule]
    sets: list[Assignment]
    is_compensation: bool = False

    @property
    def fields(self) -> dict[str, Entry]:
        return {**self.direct, **self.input}

    @property
    def called(self) -> Scalar | None:
        """The name of the workbook task that it calls."""
        entry = self.fields.get("task") if self.kind == "workbook" else None
        name = entry.value if entry else None
        return name if isinstance(name, Scalar) and isinstance(name.value, str) and name.value else None

    @property
    def pipeline(self) -> list[Task]:
        """The tasks it can jump to: its own pipeline."""
        if self.step is None:
            return [self]
        return self.step.compensation if self.is_compensation else self.step.tasks


class Loop(msgspec.Struct, kw_only=True):
    """A loop modifier; `inner` is the loop inside it."""

    node: Mapping
    collection: AnyNode | None
    iterator: Scalar | None
    outer: Loop | None = None

    @property
    def spec(self) -> Mapping | None:
        return self.node.mapping("spec")

    @property
    def policy(self) -> Mapping | None:
        return self.spec.mapping("policy") if self.spec else None

    def knob(self, name: str) -> AnyNode | None:
        """A knob of loop.spec that may also stand under loop.spec.policy (LP-12)."""
        direct = self.spec.get(name) if self.spec else None
        return direct if direct is not None else self.policy.get(name) if self.policy else None

    @property
    def is_parallel(self) -> bool:
        mode = self.knob("mode")
        return isinstance(mode, Scalar) and mode.value == "parallel"


class Arc(msgspec.Struct, kw_only=True):
    """One arc of a router."""

    node: Mapping
    target: Scalar | None
    when: AnyNode | None
    sets: list[Assignment]
    args: Mapping | None
    step: Step
    index: int

    @property
    def target_name(self) -> str:
        return self.target.text if self.target else ""


class Step(msgspec.Struct, kw_only=True):
    """One step of the workflow."""

    node: Mapping
    name: str
    name_node: Scalar
    index: int
    spec: Mapping | None = None
    policy: Mapping | None = None
    admit: Mapping | None = None
    admit_rules: list[Mapping] = []
    loops: list[Loop] = []  # outermost first
    tool: AnyNode | None = None
    tasks: list[Task] = []
    compensation: list[Task] = []
    input: dict[str, Entry] = {}
    sets: list[Assignment] = []
    next: AnyNode | None = None
    is_inclusive: bool = False
    arcs: list[Arc] = []

    @property
    def has_loop(self) -> bool:
        return bool(self.loops)

    @property
    def iterators(self) -> list[str]:
        return [loop.iterator.text for loop in self.loops if loop.iterator]

    @property
    def is_join(self) -> bool:
        return bool(self.admit and self.admit.text("join") == "all")


class Draft(msgspec.Struct, kw_only=True):
    """One playbook document."""

    source: Source
    root: Mapping
    kinds: Kinds
    is_legacy: bool
    is_upstream: bool
    marks: list[Mark]  # what dialects said while they read it
    steps: list[Step] = []
    workbook: dict[str, Task] = {}
    texts: list[Text] = []
    assignments: list[Assignment] = []
    debug_map: dict[str, dict[str, str]] = {}  # step → generated label → what it was made from
    prepared: dict[str, object] = {}  # facts more than one rule needs, by the name of what made them

    @property
    def step_names(self) -> list[str]:
        return [step.name for step in self.steps]

    def step(self, name: str) -> Step | None:
        return next((step for step in self.steps if step.name == name), None)

    @property
    def tasks(self) -> Iterator[Task]:
        """Every task there is: pipelines, compensations, the workbook."""
        for step in self.steps:
            yield from step.tasks
            yield from step.compensation
        yield from self.workbook.values()

    @property
    def rules(self) -> Iterator[Rule]:
        for task in self.tasks:
            yield from task.rules

    @property
    def arcs(self) -> Iterator[Arc]:
        for step in self.steps:
            yield from step.arcs

    @property
    def workload(self) -> Mapping | None:
        return self.root.mapping("workload")

    @property
    def executor_spec(self) -> Mapping | None:
        executor = self.root.mapping("executor")
        return executor.mapping("spec") if executor else None

    def executor_policy(self, section: str) -> Mapping | None:
        policy = self.executor_spec.mapping("policy") if self.executor_spec else None
        return policy.mapping(section) if policy else None

    @property
    def credentials(self) -> dict[str, Mapping]:
        """The keychain entries that have a name."""
        keychain = self.root.sequence("keychain")
        entries = [item for item in keychain.items if isinstance(item, Mapping)] if keychain else []
        return {name: entry for entry in entries if (name := entry.text("name"))}

    def is_generated(self, task: Task) -> bool:
        """Whether sugar made the task; such a one runs no tool, and its output is that of the task before."""
        return bool(task.step and task.label in self.debug_map.get(task.step.name, {}))

    def kind_of(self, task: Task) -> Kind | None:
        return self.kinds.get(task.kind)

    @property
    def entry(self) -> Step | None:
        """The step that starts: as executor.spec says, else `start`, else the first (RT-06)."""
        wanted = self.executor_spec.text("entry_step") if self.executor_spec else None
        return self.step(wanted or "start") or (self.steps[0] if self.steps and not wanted else None)
