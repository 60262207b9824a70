"""Playbook and its parts: what a playbook means, whichever surface it was written in.

Made by `normalize.py`, read by the engine, the server and the workers. Frozen, small, with places. Templates are
parsed once, here; each value carries the set of names its templates read, so that later rooms bind only those.

    Playbook ─ steps ─ Step ─ admission · loop · tasks ─ Task ─ policy ─ Rule
                          └─ router ─ Arc
"""

from __future__ import annotations

import msgspec

from noetl.dsl.source import Place as Place  # part of the model: every part has one
from noetl.expressions import Template

Data = None | bool | int | float | str | list["Data"] | dict[str, "Data"]
Parts = Template | Data | list["Parts"] | dict[str, "Parts"]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What every part of a playbook has: a place in the author's file."""

    place: Place


class Value(Part, frozen=True, kw_only=True):
    """A value with templates in it: data whose texts may be a Template."""

    parts: Parts
    reads: frozenset[str] = frozenset()
    is_sql: bool = False  # its texts are SQL: what templates give stays apart from what the author wrote (security 8)
    sql_keys: frozenset[str] = frozenset()  # of a mapping: the same for the texts under these keys

    @property
    def is_constant(self) -> bool:
        return not self.reads and not has_template(self.parts)


class Condition(Part, frozen=True, kw_only=True):
    """A `when`: a template, or a plain truth."""

    template: Template | None = None  # None: `always` is the answer
    always: bool = True

    @property
    def reads(self) -> frozenset[str]:
        return self.template.names if self.template else frozenset()


class Assign(Part, frozen=True, kw_only=True):
    """One write: a path below ctx, step or iter."""

    scope: str
    path: tuple[str, ...]
    value: Value

    @property
    def wants_reference(self) -> bool:
        """RS-03: a target named …_ref takes a reference, any other one must not."""
        return self.path[-1].endswith("_ref")


class Rule(Part, frozen=True, kw_only=True):
    """One rule of a task's policy; no condition: it is the else."""

    when: Condition | None
    do: str
    set: tuple[Assign, ...] = ()
    to: str | None = None
    attempts: int = 3
    backoff: str = "none"
    delay: Value | float = 1.0
    max_delay_seconds: float | None = None
    jitter: float = 0.0
    previous: Value | None = None  # what _prev becomes (003's set_prev)
    is_before_tool: bool = False  # TK-10: a skip that needs no output is asked before the tool runs


class Policy(Part, frozen=True, kw_only=True):
    """What happens after a tool answered: the first rule that matches."""

    rules: tuple[Rule, ...]
    on_unmatched: str = "continue"


class Task(Part, frozen=True, kw_only=True):
    """One task of a pipeline."""

    label: str
    kind: str
    input: dict[str, Value]
    set: tuple[Assign, ...]
    policy: Policy | None  # None: ok continues, error fails
    spec: dict[str, Data]  # effective, policy apart (TK-03)
    timeout: Timeout
    wants_reference: bool = False  # a template reads output.ref: store the payload whatever its size
    made_from: str = ""  # of a generated task: the sugar it came from

    @property
    def is_transparent(self) -> bool:
        """A generated task runs no tool: only its rules are asked, and `output` and `_prev` stay as they were."""
        return bool(self.made_from)


class Timeout(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds for one attempt of a task; None: no bound of that sort."""

    connect: float | None = None
    read: float | None = None
    total: float | None = None


class AdmissionRule(Part, frozen=True, kw_only=True):
    when: Condition | None
    allow: bool


class Admission(Part, frozen=True, kw_only=True):
    """The gate in front of a step."""

    rules: tuple[AdmissionRule, ...] = ()
    waits_when_denied: bool = False  # on_deny: wait
    is_join: bool = False


class Loop(Part, frozen=True, kw_only=True):
    """A loop modifier; `inner` runs once for each of its elements."""

    collection: Value
    iterator: str
    is_parallel: bool
    max_in_flight: int | None
    is_distributed: bool
    reducers: dict[str, str]
    inner: Loop | None = None


class Arc(Part, frozen=True, kw_only=True):
    """A way from one step to another."""

    target: str
    when: Condition | None
    set: tuple[Assign, ...] = ()
    args: dict[str, Value] = {}
    handles_failure: bool = False  # RT-11: also evaluated on step.failed
    priority: int = 0
    dedupe: Value | None = None
    partition: Value | None = None


class Router(Part, frozen=True, kw_only=True):
    is_inclusive: bool = False
    arcs: tuple[Arc, ...] = ()


class Emission(Part, frozen=True, kw_only=True):
    """An event of the author's own, at a boundary of the step."""

    name: str
    on: str


class Step(Part, frozen=True, kw_only=True):
    """A transition of the net."""

    name: str
    description: str
    admission: Admission
    loop: Loop | None
    input: dict[str, Value]
    tasks: tuple[Task, ...]
    set: tuple[Assign, ...]
    router: Router
    timeout_seconds: float | None
    deadline_seconds: float | None
    is_best_effort: bool
    pool: str | None
    priority: int
    emissions: tuple[Emission, ...]
    compensation: tuple[Task, ...]
    wants_reference: bool  # some template reads the ref of this step's output
    is_planner: bool


class Credential(Part, frozen=True, kw_only=True):
    """A keychain declaration: a name, a kind, and what its provider needs."""

    name: str
    kind: str
    settings: dict[str, Value]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What executor says of the whole execution."""

    is_local: bool = False  # profile: local
    runtime: str = ""
    is_best_effort: bool = False
    unguarded_on_failure: bool = False
    reference_first: bool = False
    max_payload_bytes: int = 64 * 1024
    placement: Data = None
    is_transparent: bool = False  # UP-01: payload keys answer without .data


class Playbook(Part, frozen=True, kw_only=True):
    """A playbook, checked and ready to run."""

    name: str
    path: str
    version: str
    description: str
    settings: Settings
    credentials: dict[str, Credential]
    workload: dict[str, Data]
    steps: dict[str, Step]
    workbook: dict[str, Task]
    entry: str
    output_step: str | None
    debug_map: dict[str, dict[str, str]]


def has_template(parts: Parts) -> bool:
    """Whether any text of a value is a template."""
    if isinstance(parts, dict):
        return any(has_template(part) for part in parts.values())
    if isinstance(parts, list):
        return any(has_template(part) for part in parts)
    return isinstance(parts, Template)
