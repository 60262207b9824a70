"""Payloads from the command line: --payload and --set.

Comes in: words that a person typed. Goes out: plain data, or a usage error that says what is wrong and how to write it.
Bounds (security row 5): 1 MiB, 64 levels, numbers of 64 bits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from noetl.cli.files import STANDARD_INPUT
from noetl.dsl.findings import printable
from noetl.dsl.nodes import plain
from noetl.dsl.read import BYTES_MAX, DEPTH_MAX, INT_MAX, INT_MIN, WORDS, number, read

COLLECTIONS = {"[": "]", "{": "}"}
QUOTES = ("'", '"')


def payload_of(text: str | None, assignments: Sequence[str]) -> dict[str, Any]:
    """What --payload gives, with what --set gives laid over it."""
    payload = given_payload(text) if text is not None else {}
    for path, value in map(assignment, assignments):
        overlay(payload, path, value)
    return payload


# --- --payload -------------------------------------------------------------------------------------------------------


def given_payload(text: str) -> dict[str, Any]:
    """A JSON mapping: written out, in a file (@FILE), or on standard input (-)."""
    origin, data = source_of(text)
    if len(data) > BYTES_MAX:
        raise click.UsageError(
            f"{origin} may have {BYTES_MAX:,} bytes, but has more; put large data into a file or a table"
        )
    try:
        payload = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"{origin} is not JSON: {error}. Write it like --payload '{{\"name\": 1}}'") from None
    except RecursionError:
        raise click.UsageError(f"{origin} is nested deeper than {DEPTH_MAX} levels") from None
    if not isinstance(payload, dict):
        raise click.UsageError(
            f"{origin} must be a JSON mapping, but is {kind_of(payload)}: a payload has named values"
        )
    check_bounds(payload, origin)
    return payload


def source_of(text: str) -> tuple[str, bytes]:
    """Where the payload comes from, for messages, and its bytes."""
    if text == STANDARD_INPUT:
        return "the payload on standard input", sys.stdin.buffer.read(BYTES_MAX + 1)
    if not text.startswith("@"):
        return "--payload", text.encode("utf-8", "surrogateescape")
    if text == "@":
        raise click.UsageError("--payload @ names no file: write --payload @payload.json")
    with Path(text[1:]).open("rb") as file:
        return f'the payload in "{printable(text[1:])}"', file.read(BYTES_MAX + 1)


def check_bounds(payload: dict[str, Any], origin: str) -> None:
    """No deeper than DEPTH_MAX and no number over 64 bits; level by level, so that depth costs no stack."""
    level: list[Any] = [payload]
    for _ in range(DEPTH_MAX):
        below: list[Any] = []
        for value in level:
            below += value.values() if isinstance(value, dict) else value
        if any(isinstance(value, int) and not INT_MIN <= value <= INT_MAX for value in below):
            raise click.UsageError(f"{origin} has a number that does not fit into 64 bits; write it as a text")
        level = [value for value in below if isinstance(value, dict | list)]
        if not level:
            return
    raise click.UsageError(f"{origin} is nested deeper than {DEPTH_MAX} levels")


# --- --set -----------------------------------------------------------------------------------------------------------


def assignment(text: str) -> tuple[list[str], Any]:
    """`a.b=v`: the path and the value."""
    path, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f'--set "{printable(text)}" has no "=": write --set name=value')
    keys = [key.strip() for key in path.split(".")]
    if not all(key and printable(key) == key for key in keys):
        raise click.UsageError(
            f'--set "{printable(text)}": "{printable(path)}" is no path, because a name in it is empty or unprintable; '
            "write --set a.b=value"
        )
    if len(keys) > DEPTH_MAX:
        raise click.UsageError(f"--set: a path may have {DEPTH_MAX} names, but has {len(keys)}")
    return keys, typed(value)


def typed(text: str) -> Any:
    """A value as YAML 1.2 reads it: 1, true, null, "quoted", [1, 2], {a: 1}; anything else is text, as it stands."""
    bare = text.strip()
    if bare in WORDS:
        return WORDS[bare]
    found = number(bare)
    if found is not None:
        return found
    is_collection = bare[0] in COLLECTIONS and bare.endswith(COLLECTIONS[bare[0]])
    is_quoted = bare[0] in QUOTES and len(bare) > 1 and bare.endswith(bare[0])
    if is_collection or is_quoted:
        reading = read(bare, "--set")
        if not reading.faults and len(reading.documents) == 1:
            return plain(reading.documents[0])
    return text


def overlay(payload: dict[str, Any], keys: list[str], value: Any) -> None:
    """Write a value at a path; what stands in the way and is no mapping is an error, for it would be lost."""
    place = payload
    for depth, key in enumerate(keys[:-1], 1):
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            whole, taken = ".".join(keys), ".".join(keys[:depth])
            raise click.UsageError(f'--set {whole}: "{taken}" is {kind_of(place)}, so nothing can be set below it')
    place[keys[-1]] = value


def context_patches(assignments: Iterable[str]) -> dict[str, Any]:
    """The writes of a signal: every path begins with ctx."""
    patches = {}
    for keys, value in map(assignment, assignments):
        if keys[0] != "ctx" or len(keys) < 2:
            wrong = ".".join(keys)
            raise click.UsageError(
                f"--set {wrong}: a signal writes to ctx only; write --set ctx.{wrong.split('.')[-1]}=value"
            )
        patches[".".join(keys)] = value
    return patches


def kind_of(value: Any) -> str:
    """What a value is, in the words of a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names: dict[type, str] = {dict: "a mapping", list: "a list", str: "a text"}
    return names.get(type(value), "a number")
