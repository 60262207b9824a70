"""What + - * / // % ** ~ < in and their kin do, within bounds.

Numbers, text and lists only, so no object's own operator is ever called. Whole numbers stay within 64 bits; text and
lists within the limits, checked before the result is made: `9 ** 9999999`, `'a' * 200000000` and `'%1000000000d' % 1`
took 2 to 16 seconds each in plain Jinja2. (TP-05)
"""

from collections.abc import Callable
from typing import Final, NoReturn, cast

from noetl.expressions.faults import Refusal
from noetl.expressions.limits import INTEGER_MAX, INTEGER_MIN, WORK_PER_ITEM, WORK_PER_PIECE
from noetl.expressions.printing import text_of, weigh
from noetl.expressions.run import Run
from noetl.expressions.values import (
    Number,
    is_list,
    is_mapping,
    is_number,
    is_sequence,
    is_text,
    is_undefined,
    kind_of,
)

POWER_MAX: Final = 64
Operator = Callable[[Run, object, object], object]


def integer_in_bounds(value: object) -> bool:
    """Is it no whole number of more than 64 bits?"""
    return not issubclass(type(value), int) or INTEGER_MIN <= cast(int, value) <= INTEGER_MAX


def bounded(number: Number) -> Number:
    """A number, if it fits in 64 bits."""
    if integer_in_bounds(number):
        return number
    raise Refusal("limit", "this whole number does not fit in 64 bits")


def mismatch(sign: str, left: object, right: object, hint: str = "") -> NoReturn:
    """Refuse an operator between values it does not work on."""
    for value in (left, right):
        if is_undefined(value):
            value.refuse()
    raise Refusal("type", f"'{sign}' does not work between {kind_of(left)} and {kind_of(right)}{hint}")


def numbers(sign: str, left: object, right: object) -> tuple[Number, Number]:
    """Both operands, if they are numbers of at most 64 bits."""
    if not (is_number(left) and is_number(right)):
        mismatch(sign, left, right)
    return bounded(left), bounded(right)


def add(run: Run, left: object, right: object) -> object:
    """`+`: numbers, text with text, list with list."""
    if is_number(left) and is_number(right):
        return bounded(bounded(left) + bounded(right))
    if is_text(left) and is_text(right):
        run.check_chars(len(left) + len(right))
        return run.spend_text(str.__add__(left, right))
    if is_list(left) and is_list(right):
        run.check_items(len(left) + len(right))
        run.spend(WORK_PER_ITEM * (len(left) + len(right)))
        return [*left, *right] if issubclass(type(left), list) else (*left, *right)
    mismatch("+", left, right, "; use ~ to join texts" if is_text(left) or is_text(right) else "")


def subtract(_run: Run, left: object, right: object) -> object:
    """`-`: numbers."""
    first, second = numbers("-", left, right)
    return bounded(first - second)


def multiply(run: Run, left: object, right: object) -> object:
    """`*`: numbers; a text or a list repeated."""
    if is_sequence(right) and issubclass(type(left), int):
        left, right = right, left
    if is_text(left) and issubclass(type(right), int):
        times = max(0, cast(int, right))
        run.check_chars(len(left) * times)
        return run.spend_text(str.__mul__(left, times))
    if is_list(left) and issubclass(type(right), int):
        times = max(0, cast(int, right))
        run.check_items(len(left) * times)
        run.spend((weigh(run, left) - WORK_PER_PIECE) * times)  # what is inside; the list itself is made once
        return [*left] * times if issubclass(type(left), list) else (*left,) * times
    first, second = numbers("*", left, right)
    return bounded(first * second)


def divide(_run: Run, left: object, right: object) -> object:
    """`/`: numbers."""
    first, second = numbers("/", left, right)
    return first / _divisor(second)


def floor_divide(_run: Run, left: object, right: object) -> object:
    """`//`: numbers."""
    first, second = numbers("//", left, right)
    return first // _divisor(second)


def modulo(_run: Run, left: object, right: object) -> object:
    """`%`: numbers. Text on the left would be Python's formatting, which reaches into objects and pads unbounded."""
    if is_text(left):
        raise Refusal("security", "'%' does not format text in a template; use ~ to join texts")
    first, second = numbers("%", left, right)
    return first % _divisor(second)


def _divisor(number: Number) -> Number:
    if number == 0:
        raise Refusal("type", "a number cannot be divided by zero")
    return number


def power(_run: Run, left: object, right: object) -> object:
    """`**`: numbers."""
    base, exponent = numbers("**", left, right)
    if issubclass(type(exponent), int) and exponent > POWER_MAX and abs(base) > 1 and issubclass(type(base), int):
        raise Refusal("limit", "this whole number does not fit in 64 bits")
    if base == 0 and exponent < 0:
        _divisor(0)
    result = base**exponent
    if type(result) is complex:
        raise Refusal("type", "'**' has no real result here")
    return bounded(cast(Number, result))


def negate(_run: Run, value: object) -> object:
    """`-x`: a number."""
    return bounded(-_number("-", value))


def affirm(_run: Run, value: object) -> object:
    """`+x`: a number."""
    return bounded(+_number("+", value))


def _number(sign: str, value: object) -> Number:
    if is_undefined(value):
        value.refuse()
    if not is_number(value):
        raise Refusal("type", f"'{sign}' needs a number, but was given {kind_of(value)}")
    return value


def concatenate(run: Run, values: list[object]) -> str:
    """`~`: anything, as text."""
    texts = [text_of(run, value) for value in values]
    run.check_chars(sum(map(len, texts)))
    return run.spend_text("".join(texts))


def contains(run: Run, needle: object, holder: object) -> bool:
    """`in`: an element of a list, a key of a mapping, a piece of a text; nothing is in undefined."""
    if is_undefined(holder) or is_undefined(needle):
        return False
    if is_text(holder):
        if not is_text(needle):
            mismatch("in", needle, holder)
        run.spend_search(holder, needle)
        return str.__contains__(holder, needle)
    if is_mapping(holder):
        return needle in holder
    if type(holder) is range:
        return is_number(needle) and needle == needle // 1 and int(needle) in holder
    if is_list(holder):
        run.spend(len(holder))
        return needle in holder
    mismatch("in", needle, holder)


def slice_of(run: Run, value: object, parts: tuple[object, object, object]) -> object:
    """`x[a:b:c]` of a list or a text."""
    if is_undefined(value):
        return value
    if not is_sequence(value):
        raise Refusal("type", f"[from:to] needs a list or a text, but was given {kind_of(value)}")
    if parts[2] == 0:
        raise Refusal("type", "the step of [from:to:step] cannot be zero")
    made = value[slice(*map(_bound, parts))]
    run.spend(len(made) * (1 if is_text(made) else WORK_PER_ITEM))
    return made


def _bound(part: object) -> int | None:
    if is_undefined(part):
        part.refuse()
    if part is not None and not issubclass(type(part), int):
        raise Refusal("type", f"[from:to] needs whole numbers, but was given {kind_of(part)}")
    return cast(int | None, part)


BINARY: Final[dict[str, Operator]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "//": floor_divide,
    "%": modulo,
    "**": power,
}
