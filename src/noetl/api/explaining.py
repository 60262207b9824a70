"""Explaining executions: their graph, any moment of them, why a step ran or did not, an expression at any event."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl.api.authoring_documents import GraphAnswer
from noetl.api.executions import ONE, Seq
from noetl.api.explaining_documents import DiffDocument, Evaluation, Landmarks, MomentDocument, WhyDocument
from noetl.api.listing import Id
from noetl.api.operations import Call, Operation
from noetl.api.sight import execution_of, visible_execution
from noetl.control.diffing import diff
from noetl.control.graphs import graph_answer
from noetl.control.why import why
from noetl.identity.roles import VIEWER

TAG = "explaining"
EXPRESSION_CHARACTERS_MAX = 8 * 1024
StepName = Annotated[str, Meta(min_length=1, max_length=255, description="a step's name")]
TaskLabel = Annotated[str, Meta(min_length=1, max_length=255, description="a task's label")]
RunNumber = Annotated[int, Meta(ge=1, le=2**31 - 1, description="number of a step run")]
Iteration = Annotated[int, Meta(ge=0, le=2**31 - 1, description="index of an iteration")]


class MomentQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    at: Annotated[Seq | None, Meta(description="the event; without it, the last")] = None


class WhyQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    step: StepName


class DiffQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    other: Annotated[Id, Meta(description="the execution to compare with")]


class Evaluate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An expression, and where in the execution it is to be read."""

    expression: Annotated[str, Meta(min_length=1, max_length=EXPRESSION_CHARACTERS_MAX)]
    at: Annotated[Seq | None, Meta(description="after this event; without it, the last")] = None
    step: StepName | None = None
    run: RunNumber | None = None
    iteration: Iteration | None = None
    task: TaskLabel | None = None


async def graph_execution(call: Call) -> dict[str, Any]:
    explainer = call.parts.explainer
    state = (await explainer.moments.history(await execution_of(call))).state
    loaded = await explainer.playbooks(state.sha, [])
    return await asyncio.to_thread(graph_answer, call.parts.catalog.kinds, loaded.text, list(state.planned))


async def show_moment(call: Call) -> dict[str, Any]:
    query: MomentQuery = call.query
    return await call.parts.explainer.moment(await execution_of(call), query.at)


async def list_landmarks(call: Call) -> dict[str, Any]:
    return await call.parts.explainer.landmarks(await execution_of(call))


async def explain_step(call: Call) -> dict[str, Any]:
    query: WhyQuery = call.query
    return await why(call.parts.explainer, await execution_of(call), query.step)


async def evaluate_expression(call: Call) -> dict[str, Any]:
    body: Evaluate = call.body
    return await call.parts.explainer.evaluate(
        await execution_of(call),
        body.expression,
        body.at,
        step=body.step,
        run=body.run,
        iteration=body.iteration,
        task=body.task,
    )


async def diff_executions(call: Call) -> dict[str, Any]:
    query: DiffQuery = call.query
    before, after = await execution_of(call), await visible_execution(call, query.other)
    return await diff(call.parts.store, call.parts.explainer.playbooks, before, after)


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{ONE}/graph",
        role=VIEWER,
        summary="Show the graph of an execution, with the steps that planners added",
        handler=graph_execution,
        tag=TAG,
        answers={200: GraphAnswer},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path=f"{ONE}/moment",
        role=VIEWER,
        summary="Show an execution as it stood after any event: marking, ctx and its changes, inputs, rules and arcs",
        handler=show_moment,
        tag=TAG,
        query=MomentQuery,
        answers={200: MomentDocument},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path=f"{ONE}/landmarks",
        role=VIEWER,
        summary="List the events of an execution that are worth a mark on a slider",
        handler=list_landmarks,
        tag=TAG,
        answers={200: Landmarks},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path=f"{ONE}/why",
        role=VIEWER,
        summary="Say why a step ran, or did not",
        handler=explain_step,
        tag=TAG,
        query=WhyQuery,
        answers={200: WhyDocument},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path=f"{ONE}/diff",
        role=VIEWER,
        summary="Compare two executions: where they part first, and every step that differs",
        handler=diff_executions,
        tag=TAG,
        query=DiffQuery,
        answers={200: DiffDocument},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/evaluate",
        role=VIEWER,
        summary="Evaluate an expression against an execution at any event; nothing is written",
        handler=evaluate_expression,
        tag=TAG,
        body=Evaluate,
        answers={200: Evaluation},
        refusals=(404,),
    ),
)
