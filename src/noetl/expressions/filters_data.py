"""Filters between data and its written forms: JSON, Base64, SHA-256, numbers. Bounded in depth and size both ways
(security.md row 5).
"""

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NoReturn, cast

from noetl.expressions.faults import Refusal
from noetl.expressions.limits import INTEGER_MAX, INTEGER_MIN, WORK_PER_NEW_NUMBER, WORK_PER_PIECE
from noetl.expressions.methods import text_argument, whole_argument
from noetl.expressions.operators import bounded, integer_in_bounds
from noetl.expressions.printing import text_of
from noetl.expressions.run import Run
from noetl.expressions.values import is_list, is_mapping, is_number, is_text, is_undefined, kind_of

Filter = Callable[..., object]
DIGITS_MAX: Final = 400  # a float's longest exact spelling is under 1 100 digits, but nobody means those
INDENT_MAX: Final = 8
BASE_MAX: Final = 36
COMPACT: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
WORK_PER_JSON: Final = 1024  # one text written or read
WORK_PER_INDENTED: Final = 256  # one value, by Python's slower writer with line breaks
WORK_PER_INDENTED_CALL: Final = 2048  # the indenting encoder is Python, and made anew for each call
PRECISION_MAX: Final = 300


def _default(_run: Run, value: object, default_value: object = "", boolean: object = False) -> object:
    return default_value if is_undefined(value) or (boolean and not value) else value


def _to_json(run: Run, value: object, indent: object = None) -> str:
    run.spend(WORK_PER_JSON)
    width = None if indent is None else max(0, min(INDENT_MAX, whole_argument(indent, "tojson")))
    check_json(run, value, WORK_PER_PIECE, 0)
    if width is None:
        return run.spend_text(COMPACT(value))
    run.spend(WORK_PER_INDENTED_CALL)
    check_json(run, value, WORK_PER_INDENTED, 0)
    run.check_chars((len(COMPACT(value)) + 1) * (width + 1))
    return run.spend_text(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=width))


def check_json(run: Run, value: object, price: int, depth: int) -> None:
    """Refuse what JSON cannot hold or what would not end; pay for the rest."""
    run.spend(price + (len(value) if is_text(value) else 0))
    if depth > run.limits.json_depth:
        too_deep(run)
    if is_mapping(value):
        for key in value:
            if type(key) is not str:
                raise Refusal("type", f"a key in JSON is text, but this one is {kind_of(key)}")
        _check_json_items(run, value.values(), price, depth + 1)
    elif is_list(value):
        _check_json_items(run, value, price, depth + 1)
    else:
        _check_json_scalar(value)


def _check_json_items(run: Run, items: Iterable[Any], price: int, depth: int) -> None:
    """The same for all items of a list or mapping; what most of them are is seen here, and paid for in one sum."""
    if depth <= run.limits.json_depth:
        rest, work = [], 0
        for item in items:
            kind = type(item)
            if kind is str:
                work += price + len(item)
            elif item is None or kind is bool or (kind is int and INTEGER_MIN <= item <= INTEGER_MAX):
                work += price
            else:
                rest.append(item)
        run.spend(work)
        items = rest
    for item in items:
        check_json(run, item, price, depth)


def _check_json_scalar(value: object) -> None:
    if is_undefined(value):
        value.refuse()
    if type(value) is float and not math.isfinite(value):
        raise Refusal("type", "JSON has no infinity and no NaN")
    if not (value is None or is_text(value) or is_number(value)):
        raise Refusal("type", f"{kind_of(value)} cannot be written as JSON")
    if not integer_in_bounds(value):
        raise Refusal("limit", "this whole number does not fit in 64 bits")


def _from_json(run: Run, value: object) -> object:
    text = text_argument(value, "fromjson")
    run.check_chars(len(text))
    openings = text.count("[") + text.count("{")
    run.spend(len(text) + WORK_PER_PIECE * openings + WORK_PER_NEW_NUMBER * text.count(","))
    try:
        made = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal("type", "fromjson was given text that is not JSON, or is nested too deeply") from None
    _check_read(run, made, 1)
    return made


def too_deep(run: Run) -> NoReturn:
    """Refuse JSON that is nested too deeply."""
    raise Refusal("limit", f"JSON may be nested {run.limits.json_depth} levels deep; this is deeper")


def _no_constant(_: str) -> NoReturn:
    raise Refusal("type", "JSON has no infinity and no NaN")


def _check_read(run: Run, value: object, depth: int) -> None:
    """Refuse, in data that was just read, what is nested too deeply and numbers that do not fit."""
    kind = type(value)
    if kind is float or kind is int:
        _check_json_scalar(value)
    elif kind is list or kind is dict:
        if depth > run.limits.json_depth:
            too_deep(run)
        for item in cast(list[object], value) if kind is list else cast(dict[str, object], value).values():
            if type(item) is not float or not math.isfinite(item):
                _check_read(run, item, depth + 1)


def _b64encode(run: Run, value: object) -> str:
    data = text_of(run, value).encode()
    run.check_chars(4 * (len(data) + 2) // 3)
    run.spend(len(data))
    return run.spend_text(base64.b64encode(data).decode())


def _b64decode(run: Run, value: object) -> str:
    text = text_argument(value, "b64decode")
    run.check_chars(len(text))
    run.spend(2 * len(text))
    try:
        return run.spend_text(base64.b64decode(text, validate=True).decode())
    except (binascii.Error, ValueError):
        raise Refusal("type", "b64decode was given something that is not the Base64 form of a text") from None


def _sha256(run: Run, value: object) -> str:
    text = text_of(run, value)
    run.check_chars(len(text))
    run.spend(4 * len(text))
    from hashlib import sha256  # 4 ms that only a playbook with this filter pays

    return sha256(text.encode()).hexdigest()


def _int(_run: Run, value: object, default: object = 0, base: object = 10) -> object:
    if is_undefined(value):
        value.refuse()
    if is_text(value):
        return _int_of_text(value.strip(), default, whole_argument(base, "int"))
    if is_number(value) and (type(value) is not float or math.isfinite(value)):
        return bounded(int(value))
    return default


def _int_of_text(text: str, default: object, base: int) -> object:
    if len(text) > DIGITS_MAX:
        raise Refusal("limit", f"int reads at most {DIGITS_MAX} characters")
    if base and not 2 <= base <= BASE_MAX:
        raise Refusal("type", f"int needs a base from 2 to {BASE_MAX}, or 0")
    try:
        return bounded(int(text, base))
    except ValueError:
        number = _float_of_text(text)
        return default if number is None or not math.isfinite(number) else bounded(int(number))


def _float(_run: Run, value: object, default: object = 0.0) -> object:
    if is_undefined(value):
        value.refuse()
    if is_text(value):
        number = _float_of_text(value.strip())
        return default if number is None else number
    return float(bounded(value)) if is_number(value) else default


def _float_of_text(text: str) -> float | None:
    if len(text) > DIGITS_MAX:
        raise Refusal("limit", f"float reads at most {DIGITS_MAX} characters")
    try:
        return float(text)
    except ValueError:
        return None


def _number(value: object, what: str) -> int | float:
    if is_undefined(value):
        value.refuse()
    if not is_number(value):
        raise Refusal("type", f"{what} needs a number, but was given {kind_of(value)}")
    return bounded(value)


def _abs(_run: Run, value: object) -> object:
    return bounded(abs(_number(value, "abs")))


def _round(_run: Run, value: object, precision: object = 0, method: object = "common") -> object:
    number, places = _number(value, "round"), whole_argument(precision, "round")
    if method not in ("common", "ceil", "floor") or abs(places) > PRECISION_MAX:
        raise Refusal("type", "round takes a precision, and 'common', 'ceil' or 'floor'")
    if method == "common":
        return round(number, places)
    scaled = number * 10.0**places
    return float(math.ceil(scaled) if method == "ceil" else math.floor(scaled)) / 10.0**places


def _bool(_run: Run, value: object) -> bool:
    """Text as a condition reads it: true, false or empty in any case (TP-04)."""
    word = value.strip().lower() if is_text(value) and len(value) < DIGITS_MAX else value
    if not is_text(word):
        return bool(value)
    if word in ("true", "false", ""):
        return word == "true"
    raise Refusal("type", "bool was given text that is neither 'true' nor 'false'")


DATA_FILTERS: Final[Mapping[str, Filter]] = {
    "default": _default,
    "d": _default,
    "tojson": _to_json,
    "fromjson": _from_json,
    "b64encode": _b64encode,
    "b64decode": _b64decode,
    "sha256": _sha256,
    "int": _int,
    "float": _float,
    "abs": _abs,
    "round": _round,
    "bool": _bool,
}
