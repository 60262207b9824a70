"""What a task's result must be like (RS-07): `spec.result.schema`, asked before anything of the result is recorded.

A task's output in; a Fault of kind type out, where it departs from the schema: where, what was wanted, what was found.
A result that the tool stored itself is read back, as far as results may be read at once. No message shows data.

A schema that noetl.json_schema reads is read there, so that it means the same on every worker; any other is given to
jsonschema-rs (the extra `schema`), with expressions that take linear time and without fetching what `$ref` names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from noetl.dsl.model import Task
from noetl.engine.output import Output
from noetl.engine.values import fault, plain
from noetl.errors import MissingLibrary
from noetl.json_schema import Mismatch, Path, Schema, as_json, described, mismatch, needs_library, shortened
from noetl.references import reference_of
from noetl.results.contract import RESULT_BYTES_MAX
from noetl.tools.contract import Results

CHECKS_KEPT_MAX = 256

encode = msgspec.json.Encoder().encode
Check = Callable[[Any], Mismatch | None]


class UnusableSchema(ValueError):
    """The library refuses the schema; the author must change it."""


def schema_of(task: Task) -> Schema | None:
    """The schema that a task declares for its result."""
    result = task.spec.get("result")
    schema = result.get("schema") if isinstance(result, dict) else None
    return schema if isinstance(schema, dict | bool) else None


async def check_result(task: Task, output: Output, results: Results) -> None:
    """Refuse a result that is not as its task declares. Raises Fault, and ResultError for what cannot be read back."""
    schema = schema_of(task)
    if schema is None or output.error is not None:
        return
    try:
        found = violation(schema, await _data_of(task, output, results))
    except (MissingLibrary, UnusableSchema) as refused:
        raise fault("exception", str(refused), task.place) from None
    if found is not None:
        raise fault("type", f"the result is not as spec.result.schema says: {found}", task.place)


async def _data_of(task: Task, output: Output, results: Results) -> Any:
    reference = reference_of(output.data) or (reference_of(output.ref) if output.data is None else None)
    if reference is None:
        return plain(output.data)
    try:
        return msgspec.json.decode(await results.fetch(reference, RESULT_BYTES_MAX))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        wanted = "spec.result.schema is about JSON"
        raise fault(
            "type", f"{wanted}, but the stored result is no JSON ({reference.content_type})", task.place
        ) from None


def violation(schema: Schema, data: Any) -> Mismatch | None:
    """Where data departs from a schema; None: nowhere. Raises MissingLibrary, UnusableSchema."""
    return _check_of(encode(schema))(data)


@lru_cache(CHECKS_KEPT_MAX)
def _check_of(encoded: bytes) -> Check:
    schema = msgspec.json.decode(encoded)
    keyword = needs_library(schema)
    if keyword is None:
        return lambda data: mismatch(schema, data)
    return _check_of_library(schema, keyword)


def _check_of_library(schema: Any, keyword: str) -> Check:
    try:
        import jsonschema_rs
    except ImportError:
        message = f'spec.result.schema with "{keyword}" needs: pip install "noetl[schema]"'
        raise MissingLibrary(message) from None
    try:
        validator = jsonschema_rs.Draft202012Validator(
            schema, validate_formats=True, offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )
    except ValueError as fault:
        raise UnusableSchema(f"spec.result.schema cannot be used: {shortened(str(fault).splitlines()[0])}") from None

    def check(data: Any) -> Mismatch | None:
        fault = next(iter(validator.iter_errors(data)), None)
        return _mismatch(schema, data, fault) if fault is not None else None

    return check


def _mismatch(schema: Any, data: Any, fault: Any) -> Mismatch:
    path, words = tuple(fault.instance_path), tuple(fault.schema_path)
    wanted = _at(schema, words)
    keyword = next((str(word) for word in reversed(words) if isinstance(word, str)), "the schema")
    return Mismatch(path, shortened(f"{keyword}: {as_json(wanted)}"), described(_at(data, path)))


def _at(value: Any, path: Path) -> Any:
    """What stands at a path; what cannot be followed (a $ref) ends it."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return value
    return value
