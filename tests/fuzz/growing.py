"""Values for fuzzing, grown from declared types: right mostly, wrong somewhere, then perhaps not even JSON."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from msgspec import inspect

from tests.fuzz.inputs import TOKENS

WRONG_SHARE, BROKEN_SHARE = 0.06, 0.15
DEPTH_MAX = 6
TEXTS = (
    "",
    "a",
    "x" * 300,
    "../../etc/passwd",
    "\0",
    "\u2028",
    "é🜁",
    "start",
    "{{ 1 / 0 }}",
    "null",
    "1e999",
    "sha256:",
)
WHOLE = (0, 1, -1, 2, 7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64)
FLOATS = (0.0, -1.5, 1e308, 1e-320, 2.0**63)


def grown(chance: random.Random, declared: inspect.Type, depth: int = 0) -> Any:
    """A value of a type, now and then of none."""
    if chance.random() < WRONG_SHARE or depth > DEPTH_MAX:
        return anything(chance, depth)
    match declared:
        case inspect.StructType(fields=fields, tag_field=tag_field, tag=tag):
            tagged = {tag_field: tag} if tag_field else {}
            chosen = [field for field in fields if field.required or chance.random() < 0.5]
            return {**tagged, **{field.encode_name: grown(chance, field.type, depth + 1) for field in chosen}}
        case inspect.UnionType(types=types):
            return grown(chance, chance.choice(types), depth)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [grown(chance, item, depth + 1) for _ in range(chance.randrange(4))]
        case inspect.TupleType(item_types=items):
            return [grown(chance, item, depth + 1) for item in items]
        case inspect.DictType(value_type=value):
            return {chance.choice(TEXTS): grown(chance, value, depth + 1) for _ in range(chance.randrange(3))}
        case inspect.LiteralType(values=values):
            return chance.choice(values)
    return scalar(chance, declared)


def scalar(chance: random.Random, declared: inspect.Type) -> Any:
    match declared:
        case inspect.IntType():
            return chance.choice(WHOLE)
        case inspect.FloatType():
            return chance.choice(FLOATS)
        case inspect.BoolType():
            return chance.random() < 0.5
        case inspect.NoneType():
            return None
        case inspect.StrType() | inspect.BytesType():
            return chance.choice(TEXTS)
    return anything(chance, DEPTH_MAX - 1)


def anything(chance: random.Random, depth: int) -> Any:
    """Any JSON data."""
    kind = chance.randrange(4 if depth >= DEPTH_MAX else 6)
    if kind == 4:
        return [anything(chance, depth + 1) for _ in range(chance.randrange(3))]
    if kind == 5:
        return {chance.choice(TEXTS): anything(chance, depth + 1) for _ in range(chance.randrange(3))}
    return chance.choice((TEXTS, WHOLE, FLOATS, (None, True, False))[kind])


def changed(chance: random.Random, value: Any) -> Any:
    """Data with one place of it changed."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        if chance.random() < 0.1:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: changed(chance, value[key])}
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        if chance.random() < 0.2:
            return chance.choice((value[:place], [*value, value[place]], value[::-1]))
        return [*value[:place], changed(chance, value[place]), *value[place + 1 :]]
    return anything(chance, DEPTH_MAX - 2)


def written(chance: random.Random, value: Any) -> bytes:
    """Data as bytes, which may be cut, mixed up or no JSON at all."""
    data = bytearray(encoded(value))
    if chance.random() < BROKEN_SHARE:
        for _ in range(chance.choice((1, 2, 8))):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.randrange(4)] = chance.choice((*TOKENS, b"", b"[" * 2000, b"\xff"))
    return bytes(data)


def encoded(value: Any) -> bytes:
    """JSON, also of numbers that few readers take."""
    try:
        return msgspec.json.encode(value)
    except (OverflowError, ValueError, TypeError):
        return repr(value).encode("utf-8", "replace")
