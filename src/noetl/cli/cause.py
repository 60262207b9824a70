"""Why an execution failed, told in one place: down to the child that broke, with its attempts, its code and its values.

Comes in: what `show` knows of an execution. Goes out: lines for people. The end of the log is read again, for the event
that failed, and the fields of its task are evaluated as they stood then; what cannot be had of that is left out, for it
only adds to an error that is told anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from noetl.cli.sentences import error_sentence
from noetl.cli.sides import executions_of
from noetl.cli.words import clean, one_line, plural
from noetl.config import Settings
from noetl.errors import NoetlError

CHILD = re.compile(r"child execution (\d+)\b")
DEPTH_MAX = 8  # of executions that called one another
TAIL_EVENTS = 500  # of the log, in which the failure is looked for
CODE_LINES_MAX, VALUES_MAX = 4, 8
VALUE_WIDTH = 100
TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
Row = dict[str, Any]


class Cause(msgspec.Struct, frozen=True):
    """What is told of a failure, and which executions it leads down to."""

    lines: list[str]
    child: str | None = None  # the one at the bottom


def cause_of(settings: Settings, found: Row) -> Cause:
    """The error of an execution, and what is behind it."""
    lines = [f"error: {error_sentence(found['error'], place_of(settings, found))}"]
    bottom = found
    for child in children_below(settings, found):
        place = place_of(settings, child)
        where = f"execution {child['execution_id']}, {clean(child['path'])}@{child['version']}"
        lines.append(f"   below: {where}: {error_sentence(child['error'], place)}")
        bottom = child
    lines += [f"   {line}" for line in details(settings, bottom)]
    return Cause([*lines, *[f"   since: {line}" for line in followed(found)]], child_id(found, bottom))


def child_id(found: Row, bottom: Row) -> str | None:
    return None if bottom is found else str(bottom["execution_id"])


def place_of(settings: Settings, found: Row) -> str:
    """Where in the playbook the step or task stands that failed it."""
    error = found["error"]
    if not error.get("step"):
        return ""
    from noetl.cli.places import place_in_catalog  # reads YAML, which looking at a success need not pay for

    return place_in_catalog(settings, found["path"], found["version"], error["step"], error.get("task"))


def children_below(settings: Settings, found: Row) -> Iterator[Row]:
    """The child that failed it, the one that failed that one, and so on."""
    for _ in range(DEPTH_MAX):
        named = CHILD.match(str(found["error"].get("message", "")))
        if found["error"].get("kind") not in ("child_failed", "incident") or not named:
            return
        try:
            found = executions_of(settings).show(settings, int(named[1]))
        except NoetlError:
            return  # it is kept elsewhere, or not to be seen
        if not found["error"]:
            return
        yield found


# --- of the one that broke -------------------------------------------------------------------------------------------


def details(settings: Settings, found: Row) -> Iterator[str]:
    """`why:` the kind of error and the attempts, `code:` the lines that broke, `with:` the values."""
    event = failing_event(settings, found)
    error = (event or {}).get("payload", {}).get("error") or run_error(found) or found["error"]
    kind = clean(str(error.get("kind") or "unknown"))
    attempts = f", attempt {event['attempt']}" if event and event.get("attempt", 0) > 1 else ""
    retried = "" if "retryable" not in error else ", passing: it may work another time" if error["retryable"] else ""
    yield f"why: {kind}{attempts}{retried}"
    trace = (error.get("details") or {}).get("traceback")
    for line in (trace if isinstance(trace, list) else [])[-CODE_LINES_MAX:]:
        yield f"code: {one_line(str(line), VALUE_WIDTH)}"
    values = values_then(settings, found, event) if event else {}
    for name, value in list(values.items())[:VALUES_MAX]:
        yield f"with: {clean(name)} = {one_line(msgspec.json.encode(value).decode(), VALUE_WIDTH)}"


def run_error(found: Row) -> Row | None:
    return next((run["error"] for run in reversed(found["runs"]) if run["error"]), None)


def failing_event(settings: Settings, found: Row) -> Row | None:
    """The end of the task that failed it, if that is not too far back."""
    error, latest = found["error"], None
    try:
        after = max(found["events"] - TAIL_EVENTS, 0)
        for event in executions_of(settings).events(settings, int(found["execution_id"]), after):
            is_end = event["name"] == "task.done" and event.get("payload", {}).get("do") == "fail"
            if is_end and event.get("step") == error.get("step") and event.get("task_label") == error.get("task"):
                latest = event
    except NoetlError:
        return None
    return latest


def values_then(settings: Settings, found: Row, event: Row) -> dict[str, Any]:
    """The fields of the task as they were when it failed; credentials are masked by whoever evaluates."""
    fields = fields_of(settings, found, event["step"], event["task_label"])
    if not fields:
        return {}
    at = int(event["event_id"].rpartition("-")[2]) - 1
    place = {"step": event["step"], "run": int(event["step_run_id"].rpartition(":")[2]), "task": event["task_label"]}
    if "iteration_id" in event:
        place["iteration"] = int(event["iteration_id"].rpartition(":")[2])
    side = executions_of(settings)
    try:
        answer = side.evaluate(settings, int(found["execution_id"]), expression_of(fields), at, place)
    except NoetlError:
        return {}
    return answer["value"] if isinstance(answer["value"], dict) else {}


def fields_of(settings: Settings, found: Row, step: str, task: str) -> dict[str, Any]:
    """What the author wrote for the task, but for whole programs."""
    from noetl.cli.places import task_in_catalog
    from noetl.dsl.nodes import plain

    written = task_in_catalog(settings, found["path"], found["version"], step, task)
    values = {name: plain(entry.value) for name, entry in written.fields.items()} if written else {}
    return {name: value for name, value in values.items() if not (isinstance(value, str) and "\n" in value)}


def expression_of(value: Any) -> str:
    """A value with templates in it as one expression."""
    if isinstance(value, str):
        return text_expression(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{str(name)!a}: {expression_of(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(expression_of, value)) + "]"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)


def text_expression(text: str) -> str:
    """`a{{ b }}` is "a" and b in one text; a text that is one template only is its value."""
    parts = TEMPLATE.split(text)  # what stands between the braces is every second part
    if len(parts) == 3 and not parts[0].strip() and not parts[2].strip():
        return f"({parts[1].strip()})"
    shown = [f"({part.strip()})" if number % 2 else ascii(part) for number, part in enumerate(parts)]
    return " ~ ".join(part for part in shown if part != "''") or "''"


# --- what came of it -------------------------------------------------------------------------------------------------


def followed(found: Row) -> Iterator[str]:
    """What was done after the failure: steps that were undone."""
    undoing = [run for run in found["runs"] if run["compensates"]]
    if undoing:
        names = ", ".join(dict.fromkeys(clean(run["step"]) for run in undoing))
        failed = sum(run["status"] == "failed" for run in undoing)
        trouble = f", and {plural(failed, 'undoing')} failed" if failed else ""
        yield f"{plural(len(undoing), 'step run')} undone ({names}){trouble}"
    if not found["ended_at"]:
        yield "it has not ended"
