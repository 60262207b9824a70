"""Playbooks as graphs, for people to look at: of a text that is being written, of a version, of an execution with the
steps that planners added to it.

Checking takes its time: what is not `async` here is called off the event loop.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.control.catalog import Text
from noetl.control.planning import extended_text
from noetl.dsl.check import check, drafts_of
from noetl.dsl.graph import Graph, GraphArc, GraphStep, best_graph_of
from noetl.dsl.kinds import Kinds

NOWHERE = 0  # the line of what stands in no file


def graph_answer(kinds: Kinds, text: Text, plans: list[list[Any]] | None = None) -> dict[str, Any]:
    """The graph of a text, as far as it can be understood, and how many findings there are."""
    checked = check(text.data, text.name, kinds, is_legacy=text.is_legacy, is_upstream=text.is_upstream)
    graph = best_graph_of(checked.drafts[0]) if checked.drafts else None
    if graph is not None and plans:
        graph = with_planned(graph, extended_graph(kinds, text, plans))
    return {"graph": msgspec.to_builtins(graph), "findings_count": len(checked.findings)}


def extended_graph(kinds: Kinds, text: Text, plans: list[list[Any]]) -> Graph:
    """The graph with what was planned; its lines mean nothing."""
    whole = extended_text(text, plans)
    drafts = drafts_of(whole.data, whole.name, kinds, is_legacy=text.is_legacy, is_upstream=text.is_upstream)
    return best_graph_of(drafts[0])


def with_planned(written: Graph, whole: Graph) -> Graph:
    """The whole graph, with the lines of what the author wrote."""
    steps = {step.name: step for step in written.steps}
    arcs = {(arc.source, arc.order): arc for arc in written.arcs}
    return msgspec.structs.replace(
        whole,
        name=written.name,
        steps=[_placed_step(step, steps.get(step.name)) for step in whole.steps],
        arcs=[_placed_arc(arc, arcs.get((arc.source, arc.order))) for arc in whole.arcs],
    )


def _placed_step(step: GraphStep, known: GraphStep | None) -> GraphStep:
    if known is not None:
        return msgspec.structs.replace(step, line=known.line, end_line=known.end_line, tasks=known.tasks)
    tasks = [msgspec.structs.replace(task, line=NOWHERE, end_line=NOWHERE) for task in step.tasks]
    return msgspec.structs.replace(step, line=NOWHERE, end_line=NOWHERE, tasks=tasks, is_planned=True)


def _placed_arc(arc: GraphArc, known: GraphArc | None) -> GraphArc:
    return msgspec.structs.replace(arc, line=known.line if known is not None else NOWHERE)
