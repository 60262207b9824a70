"""One value of every event class, made from its declaration, so that a new class is covered without being asked for.

Every field is filled with something that is not its default; a field of any JSON data gets nested data with text beyond
ASCII, empty containers and both ends of the 64-bit numbers.
"""

from __future__ import annotations

from typing import Any

from msgspec import inspect

from noetl.engine.events import Event

ANY_DATA: dict[str, Any] = {
    "text": 'naïve "quoted" \\ \u2028 🜁',
    "numbers": [0, -1, 2**63 - 1, -(2**63), 0.1, -1e300],
    "empty": [{}, [], "", None],
    "is_nested": {"deep": [{"deeper": True}]},
}


def sample(kind: type[Event]) -> Event:
    """An event of this class with every field filled."""
    declared = inspect.type_info(kind)
    if not isinstance(declared, inspect.StructType):
        raise TypeError(f"{kind.__name__} is not a struct")
    return kind(**{field.name: _value(field.type) for field in declared.fields})


def _value(declared: inspect.Type) -> Any:
    match declared:
        case inspect.UnionType(types=types):
            return _value(next(member for member in types if not isinstance(member, inspect.NoneType)))
        case inspect.StructType(cls=cls, fields=fields):
            return cls(**{field.name: _value(field.type) for field in fields})
        case inspect.ListType(item_type=item):
            return [_value(item), _value(item)]
        case inspect.DictType(value_type=value):
            return {"some": _value(value), "ключ": _value(value)}
    return SCALARS[type(declared)]


SCALARS: dict[type[inspect.Type], Any] = {
    inspect.AnyType: ANY_DATA,
    inspect.StrType: "añ🜁\n",
    inspect.IntType: 41,
    inspect.FloatType: 1763270000.123456,
    inspect.BoolType: True,
}
