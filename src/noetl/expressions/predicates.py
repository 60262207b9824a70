"""The tests of `x is …`, also by name in select(…) and reject(…). Each takes a value and answers true or false; none
changes anything.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from noetl.expressions.faults import Refusal
from noetl.expressions.operators import contains, modulo
from noetl.expressions.run import Run
from noetl.expressions.values import is_list, is_mapping, is_number, is_sequence, is_text, is_undefined, kind_of

Predicate = Callable[..., bool]
LIST_DEPTH_MAX: Final = 8
NUMBERS: Final = frozenset({int, float, bool})


def _is_defined(_run: Run, value: object) -> bool:
    return not is_undefined(value)


def _is_undefined(_run: Run, value: object) -> bool:
    return is_undefined(value)


def _is_none(_run: Run, value: object) -> bool:
    return value is None


def _is_true(_run: Run, value: object) -> bool:
    return value is True


def _is_false(_run: Run, value: object) -> bool:
    return value is False


def _is_boolean(_run: Run, value: object) -> bool:
    return type(value) is bool


def _is_integer(_run: Run, value: object) -> bool:
    return is_number(value) and type(value) is not bool and type(value) is not float


def _is_float(_run: Run, value: object) -> bool:
    return type(value) is float


def _is_number(_run: Run, value: object) -> bool:
    return is_number(value)


def _is_string(_run: Run, value: object) -> bool:
    return is_text(value)


def _is_mapping(_run: Run, value: object) -> bool:
    return is_mapping(value)


def _is_sequence(_run: Run, value: object) -> bool:
    return is_sequence(value) or is_mapping(value)


def _is_iterable(_run: Run, value: object) -> bool:
    return is_sequence(value) or is_mapping(value) or is_undefined(value)


def _is_divisible_by(run: Run, value: object, number: object) -> bool:
    return modulo(run, value, number) == 0


def _is_even(run: Run, value: object) -> bool:
    return modulo(run, value, 2) == 0


def _is_odd(run: Run, value: object) -> bool:
    return modulo(run, value, 2) == 1


def _is_lower(_run: Run, value: object) -> bool:
    return is_text(value) and value.islower()


def _is_upper(_run: Run, value: object) -> bool:
    return is_text(value) and value.isupper()


def _is_same_as(_run: Run, value: object, other: object) -> bool:
    return value is other


def _is_in(run: Run, value: object, holder: object) -> bool:
    return contains(run, value, holder)


def _is_empty(_run: Run, value: object) -> bool:
    """Ours, not Jinja2's: nothing in it, or nothing there."""
    if value is None or is_undefined(value):
        return True
    if is_sequence(value) or is_mapping(value):
        return len(value) == 0
    raise Refusal("type", f"'is empty' needs text, a list or a mapping, but was given {kind_of(value)}")


def equal(_run: Run, left: object, right: object) -> bool:
    """`==`; undefined equals nothing."""
    return bool(left == right)


def differ(run: Run, left: object, right: object) -> bool:
    """`!=`."""
    return not equal(run, left, right)


def comparable(value: object, depth: int = 0) -> object:
    """A value that may be put in order: text, numbers and lists of them, so that no object's own order is asked."""
    if is_list(value) and depth < LIST_DEPTH_MAX:
        for item in value:
            comparable(item, depth + 1)
    elif not (is_text(value) or is_number(value) or value is None or is_undefined(value)):
        raise Refusal("type", f"{kind_of(value)} has no order")
    return value


def _ordered(sign: str, compare: Callable[[Any, Any], bool]) -> Predicate:
    def test(_run: Run, left: object, right: object) -> bool:
        if type(left) in NUMBERS and type(right) in NUMBERS:
            return compare(left, right)
        if (is_text(left) and is_text(right)) or (is_list(left) and is_list(right)):
            return compare(comparable(left), comparable(right))
        for value in (left, right):
            if is_undefined(value):
                value.refuse()
        raise Refusal("type", f"'{sign}' does not work between {kind_of(left)} and {kind_of(right)}")

    return test


below = _ordered("<", operator.lt)
at_most = _ordered("<=", operator.le)
above = _ordered(">", operator.gt)
at_least = _ordered(">=", operator.ge)

TEST_TABLE: Final[Mapping[str, Predicate]] = {
    "defined": _is_defined,
    "undefined": _is_undefined,
    "none": _is_none,
    "true": _is_true,
    "false": _is_false,
    "boolean": _is_boolean,
    "integer": _is_integer,
    "float": _is_float,
    "number": _is_number,
    "string": _is_string,
    "mapping": _is_mapping,
    "sequence": _is_sequence,
    "iterable": _is_iterable,
    "divisibleby": _is_divisible_by,
    "even": _is_even,
    "odd": _is_odd,
    "lower": _is_lower,
    "upper": _is_upper,
    "sameas": _is_same_as,
    "in": _is_in,
    "empty": _is_empty,
    **dict.fromkeys(("==", "eq", "equalto"), equal),
    **dict.fromkeys(("!=", "ne"), differ),
    **dict.fromkeys(("<", "lt", "lessthan"), below),
    **dict.fromkeys(("<=", "le"), at_most),
    **dict.fromkeys((">", "gt", "greaterthan"), above),
    **dict.fromkeys((">=", "ge"), at_least),
}
