"""Values with templates → data; conditions → truth. Pure: what they read is the scope they are given.

What is recorded must be plain JSON data of 64-bit numbers: a lazy range becomes a list, and what has no JSON (inf, nan)
is an error, as is a payload that is kept outside the log. A fault says the expression, its place and the names that
exist (TP-07).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import is_ as is_same
from typing import Any

import msgspec

from noetl.dsl.model import Assign, Condition, Parts, Place, Task, Value
from noetl.engine.events import Patch
from noetl.engine.output import Error
from noetl.engine.patches import patched
from noetl.engine.sql_values import rendered_sql, sealed_sql, shown_sql
from noetl.expressions import EvaluationFault, Stored, Template, truth_of
from noetl.references import is_reference
from noetl.secret import MASK, sealed

Scope = Mapping[str, Any]
ERROR_KINDS = {"limit": "limit", "type": "type", "reference": "ref_misuse"}  # others are `template`
DEPTH_MAX = 64
CTX_BYTES_MAX = 256 * 1024
STORED_DEPTH_MAX = 2
STORED_AMONG_MAX = 32

encode = msgspec.json.Encoder().encode


class Fault(Exception):
    """Something an author wrote met values it cannot use; becomes the error of a task or a step."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


def fault(kind: str, message: str, place: Place | None = None, **details: Any) -> Fault:
    where = f"{place}: " if place else ""
    if place:
        details["place"] = str(place)
    return Fault(Error(kind=kind, message=where + message, details=details))


def rendered(value: Value, scope: Scope) -> Any:
    """A value with its templates evaluated. Native where a text is one expression (TP-01); texts of SQL become Sql."""
    try:
        if value.sql_keys and isinstance(value.parts, dict):
            return {
                name: rendered_sql(part, scope) if name in value.sql_keys else _rendered(part, scope)
                for name, part in value.parts.items()
            }
        return _rendered(value.parts, scope) if not value.is_sql else rendered_sql(value.parts, scope)
    except EvaluationFault as error:
        raise _template_fault(error, value.place) from None


def _rendered(parts: Parts, scope: Scope) -> Any:
    if isinstance(parts, Template):
        return parts.evaluate(scope)
    if isinstance(parts, dict):
        return {name: _rendered(part, scope) for name, part in parts.items()}
    if isinstance(parts, list):
        return [_rendered(part, scope) for part in parts]
    return parts


def _template_fault(error: EvaluationFault, place: Place) -> Fault:
    kind = ERROR_KINDS.get(error.kind, "template")
    return fault(kind, str(error), place, expression=error.expression, names=list(error.names))


def rendered_field(value: Value, scope: Scope) -> Any:
    """A field of a task: sealed where a credential went into it, whatever the template made of that (KC-05)."""
    found = rendered(value, scope)
    if value.reads:
        found = handed_on(found, value.place)
    if "keychain" not in value.reads:
        return found
    return sealed_sql(found) if value.is_sql or value.sql_keys else sealed(found)


def handed_on(found: Any, place: Place, depth: int = 0) -> Any:
    """What a tool is given: an output whose data is kept elsewhere comes without it; that data alone is a fault.

    Such data stands in an output, or in what a template has put together from outputs: both are small and not deep.
    Payloads, which may be large, hold none (RS-04).
    """
    if type(found) is Stored:
        raise _outside_the_log(place)
    if depth > STORED_DEPTH_MAX or not isinstance(found, dict | list) or len(found) > STORED_AMONG_MAX:
        return found
    if isinstance(found, list):
        items = [handed_on(item, place, depth + 1) for item in found]
        return found if all(map(is_same, items, found)) else items
    if type(found.get("data")) is Stored and found.get("ref"):
        found = {name: value for name, value in found.items() if name != "data"}
    pairs = {name: handed_on(value, place, depth + 1) for name, value in found.items()}
    return found if all(map(is_same, pairs.values(), found.values())) else pairs


def _outside_the_log(place: Place | None) -> Fault:
    message = (
        "this payload is kept outside the log, because it is large: resolve it first (kind: resolve with its ref), or "
        "hand on its ref"
    )
    return fault("ref_misuse", message, place)


def rendered_data(value: Value, scope: Scope) -> Any:
    """A value that will be recorded: plain data, or a fault."""
    return plain(rendered(value, scope), value.place)


def seconds_of(delay: Value | float, scope: Scope) -> float:
    """A retry's delay, which may be a template."""
    if not isinstance(delay, Value):
        return delay
    try:
        found = float(rendered_data(delay, scope))
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise fault("type", "delay must be a number of seconds", delay.place)
    return found


SCALARS = frozenset((str, int, bool, type(None)))


def plain(found: Any, place: Place | None = None, depth: int = 0) -> Any:
    """Data as JSON can hold it."""
    kind = type(found)
    if kind in SCALARS:
        return found
    if kind is float:
        if math.isfinite(found):
            return found
        raise fault("type", f"{found} is not a number that can be recorded", place)
    if depth > DEPTH_MAX:
        raise fault("limit", f"data may have {DEPTH_MAX} levels; this has more", place)
    if isinstance(found, dict):
        return _plain_mapping(found, place, depth)
    if isinstance(found, list | tuple | range):
        return [plain(item, place, depth + 1) for item in found]
    if isinstance(found, Stored):
        raise _outside_the_log(place)
    if isinstance(found, str):
        return str(found)
    raise fault("type", f"a value of type {kind.__name__} cannot be recorded", place)


def _plain_mapping(found: dict[Any, Any], place: Place | None, depth: int) -> dict[str, Any]:
    for key in found:
        if not isinstance(key, str):
            raise fault("type", f"a key of a mapping must be text, but {key!r} is not", place)
    return {key: plain(item, place, depth + 1) for key, item in found.items()}


def holds(condition: Condition, scope: Scope) -> bool:
    """Whether a `when` holds."""
    if condition.template is None:
        return condition.always
    try:
        found = condition.template.evaluate(scope)
    except EvaluationFault as error:
        raise _template_fault(error, condition.place) from None
    truth = truth_of(found)
    if truth is None:
        raise fault(
            "type", f"a condition gave the text {str(found)[:40]!r}; wanted true, false or empty", condition.place
        )
    return truth


def writes(assigns: Iterable[Assign], scope: Scope) -> list[Patch]:
    """The writes of one `set`: all values are rendered before any is written (TK-12)."""
    return [Patch(f"{one.scope}.{'.'.join(one.path)}", _assigned(one, scope)) for one in assigns]


def _assigned(assign: Assign, scope: Scope) -> Any:
    """RS-03: a target named …_ref takes a reference, any other one must not."""
    found = rendered_data(assign.value, scope)
    target = f"{assign.scope}.{'.'.join(assign.path)}"
    if is_reference(found) and not assign.wants_reference:
        raise fault(
            "ref_misuse", f"{target} gets a reference; name the target {target}_ref, or resolve it", assign.place
        )
    if assign.wants_reference and found is not None and not is_reference(found):
        raise fault("ref_misuse", f"{target} must get a reference, such as output.ref, but got data", assign.place)
    return found


def check_ctx(ctx: dict[str, Any], patches: list[Patch], place: Place | None = None) -> None:
    """Refuse writes that would make ctx too large to be handed to every job."""
    if not patches or not any(patch.path.startswith("ctx.") for patch in patches):
        return
    size = len(encode(patched(ctx, patches, "ctx")))
    if size > CTX_BYTES_MAX:
        advice = "store the large value and keep its reference: set a target named …_ref to output.ref"
        raise fault("limit", f"ctx may have {CTX_BYTES_MAX} bytes, but would have {size}; {advice}", place)


def masked(task: Task, given: dict[str, Any], tainted: frozenset[str] = frozenset(("keychain",))) -> dict[str, Any]:
    """A task's input as its rules and sets may read it: a field made from a credential is not to be seen (KC-05), and
    SQL is seen as text without its values."""
    if not any(value.is_sql or value.sql_keys or value.reads & tainted for value in task.input.values()):
        return given
    return {
        name: MASK if name in task.input and task.input[name].reads & tainted else shown_sql(value)
        for name, value in given.items()
    }
