"""The documents for whoever writes a playbook: graphs, completion, pages of kinds and rules."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

# --- graphs ----------------------------------------------------------------------------------------------------------


class GraphTaskRow(TypedDict):
    """One task of a step; lines count from 1, 0: it stands in no file (a planner made it)."""

    label: str
    kind: str
    line: int
    end_line: int


class GraphLoopRow(TypedDict):
    """One loop of a step, outermost first."""

    iterator: str
    is_parallel: bool
    max_in_flight: int | None


class GraphStepRow(TypedDict):
    """One step of a graph."""

    name: str
    description: str
    line: int
    end_line: int
    tasks: list[GraphTaskRow]
    loops: list[GraphLoopRow]
    is_entry: bool
    is_end: bool
    is_join: bool
    is_inclusive: bool
    is_reached: bool
    has_admission: bool
    has_compensation: bool
    is_planner: bool
    is_planned: Annotated[bool, Meta(description="a planner added it to this execution")]


class GraphArcRow(TypedDict):
    """One arc of a graph, in the order of the file."""

    source: str
    target: str
    order: Annotated[int, Meta(description="from 1, among the arcs of its step")]
    when: str | None
    is_failure: bool
    is_fallback: bool
    can_fire: bool
    writes: list[str]
    line: int


class GraphDocument(TypedDict):
    """A playbook's net, as `noetl graph --format json` prints it."""

    name: str
    entry: str
    steps: list[GraphStepRow]
    arcs: list[GraphArcRow]


class GraphAnswer(TypedDict):
    """A graph, as far as the text gives one."""

    graph: Annotated[GraphDocument | None, Meta(description="null: the text cannot be read as a playbook")]
    findings_count: int


# --- writing ---------------------------------------------------------------------------------------------------------


class KindFieldRow(TypedDict):
    """A field of a tool kind."""

    name: str
    type: str
    is_required: bool
    default: Any
    doc: str


class KindRow(TypedDict):
    """A tool kind, and its page."""

    kind: str
    summary: str
    markdown: str
    fields: list[KindFieldRow]
    knobs: Annotated[list[KindFieldRow], Meta(description="what stands under the task's spec")]


class KindsDocument(TypedDict):
    kinds: list[KindRow]


class RulePage(TypedDict):
    """The page of a rule, as `noetl explain` prints it."""

    code: str
    rule: str
    severity: str
    markdown: str


class CompletionItem(TypedDict):
    label: str
    insert: str
    kind: Literal["key", "value", "step", "task", "name", "filter"]
    detail: str
    doc: str


class Completions(TypedDict):
    """What may stand at a cursor; it replaces the text from `start_column` to the cursor."""

    start_column: int
    items: list[CompletionItem]


class Description(TypedDict):
    """What stands under a cursor."""

    title: str
    markdown: str
    step: str | None
    task: str | None
