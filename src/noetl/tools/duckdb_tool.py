"""Kind duckdb at work: a call in, one output out.

The path of a call: duckdb_plan reads it, duckdb_runs has a child run it (duckdb_child, duckdb_session) with the files
it names, and what came of it, rows, a stored file or a failure, is put into an output. Loaded with the first duckdb
task.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.engine.output import Output, failure
from noetl.errors import ResultError
from noetl.tools.children import AnswerTooLarge, ChildDied
from noetl.tools.contract import Call, Hands
from noetl.tools.duckdb_plan import WRITE_FORMATS, Plan, plan_of
from noetl.tools.duckdb_runs import Answer, Done, QueryFailed, Runs, pieces_of, why_it_died
from noetl.tools.isolation import require_process_level
from noetl.tools.refused import Refused


class DuckdbTool:
    """Runs the SQL of a worker's duckdb tasks."""

    times_itself = True  # from when it has its files and a slot, not while it waits for them

    def __init__(self, hands: Hands) -> None:
        self._settings = hands.settings
        self._runs = Runs(hands.settings)

    async def run(self, call: Call) -> Output:
        try:
            require_process_level(call.spec)
            plan = plan_of(call, self._settings)
            async with self._runs.done(plan, call.results, call.total_seconds) as done:
                return await _output(call, plan, done)
        except Refused as refused:
            return msgspec.structs.replace(refused.output, helpers=helper(None))
        except (QueryFailed, ResultError, TimeoutError, ChildDied, AnswerTooLarge) as error:
            return failure_of(error, call.total_seconds)

    async def close(self) -> None:
        await self._runs.close()


def helper(affected_rows: int | None) -> dict[str, Any]:
    """`output.duckdb`."""
    return {"duckdb": {"affected_rows": affected_rows}}


def failure_of(error: Exception, total_seconds: float | None) -> Output:
    """The output of a call that met this error."""
    if isinstance(error, QueryFailed):
        fault = error.fault
        details = {"exception_type": fault.exception_type, **({"line": fault.line} if fault.line else {})}
        return failure(fault.kind, str(error), retryable=fault.retryable, details=details, helpers=helper(None))
    if isinstance(error, ResultError):
        return failure(error.kind, str(error), retryable=error.retryable, helpers=helper(None))
    if isinstance(error, AnswerTooLarge):
        return failure("limit", why_it_died(error), helpers=helper(None))
    if isinstance(error, ChildDied):
        return failure("exception", why_it_died(error), is_definite=False, helpers=helper(None))
    limit = f"its {total_seconds:g} s (spec.timeout)" if total_seconds else "it may"
    message = f"the SQL took longer than {limit} and was stopped"
    return failure("timeout", message, retryable=True, is_definite=False, helpers=helper(None))


async def _output(call: Call, plan: Plan, done: Done) -> Output:
    helpers = helper(done.affected_rows)
    if done.file is not None:
        reference = await call.results.store_stream(pieces_of(done.file), WRITE_FORMATS[plan.write_format])
        return Output(ref=reference.as_data(), helpers=helpers)
    if call.is_transparent:
        return Output(data=_upstream_value(done.answers), helpers=helpers)
    rows = next((answer.rows for answer in reversed(done.answers) if answer.columns is not None), [])
    return Output(data=rows, helpers=helpers)


def _upstream_value(answers: list[Answer]) -> dict[str, Any]:
    """UP-03: the last statement's value, and beside it that of each."""
    values = [
        {
            "rows": answer.rows,
            "columns": list(answer.columns or ()),
            "row_count": len(answer.rows),
            "affected_rows": answer.affected_rows,
        }
        for answer in answers or [Answer()]
    ]
    return {**values[-1], **{f"command_{index}": value for index, value in enumerate(values)}}
