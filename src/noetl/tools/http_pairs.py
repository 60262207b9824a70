"""Names and texts as queries, forms and headers take them: an author's data in, texts out, or `Refused`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from noetl.web.guard import Refused

_SCALARS = (str, int, float, bool)


def pairs(field: str, values: object) -> Iterator[tuple[str, str]]:
    """Each name and text of a query or a form: a list repeats its name, null leaves it out."""
    for name, value in mapping(field, values).items():
        for item in value if isinstance(value, list | tuple) else (value,):
            if item is not None:
                yield str(name), text(f"{field}.{name}", item)


def text(where: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _SCALARS):
        return str(value)
    raise Refused(f'"{where}" must be text, a number, true, false, null or a list of them')


def mapping(field: str, value: object) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Refused(f'"{field}" must be a mapping')
    return value
