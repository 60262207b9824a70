"""What keeps a cron expression from being one, in words and with its place in the text.

Five fields, as cron has had them for ever. Six, with seconds first, are refused: the library reads them, but across a
change of daylight saving it then skips times or gives them twice; `every` is for seconds. Nothing here looks at a
clock: whether an expression is ever due is tried from a fixed day on.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

FIELDS = ("minute", "hour", "day of month", "month", "day of week")
RANGES = ("0-59", "0-23", "1-31 or L", "1-12 or JAN-DEC", "0-7 or SUN-SAT")
CHARACTERS_MAX = 200
WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
SOME_DAY = datetime(2000, 1, 1)  # the library looks 50 years ahead from there


class CronFault(NamedTuple):
    message: str
    fix: str
    start: int = 0  # where in the text
    length: int = 0  # 0: all of it


def cron_fault(expression: str) -> CronFault | None:
    """What is wrong with an expression; None: nothing."""
    if expression.strip() in WORDS:
        right = WORDS[expression.strip()]
        return CronFault(f'"{expression.strip()}" is not five fields', f'write "{right}"')
    parts = list(re.finditer(r"\S+", expression))
    if len(expression) > CHARACTERS_MAX:
        return CronFault(f"an expression has {CHARACTERS_MAX} characters at most", "write two schedules")
    if len(parts) != len(FIELDS):
        return count_fault(len(parts))
    for index, part in enumerate(parts):
        if not is_field(index, part.group()):
            message = f'"{part.group()}" is no {FIELDS[index]}'
            return CronFault(message, f"write {RANGES[index]}, *, or a list of them", part.start(), len(part.group()))
    return None if is_ever_due(expression) else CronFault("there is no such day in any year", "name a day that exists")


def count_fault(count: int) -> CronFault:
    message = f"cron has five fields, this has {count}"
    if count == len(FIELDS) + 1:
        return CronFault(message, "leave the seconds out; every: 30s is for less than a minute")
    return CronFault(message, 'write five, such as "30 2 * * *" for half past two each night')


def is_field(index: int, text: str) -> bool:
    """Whether one field can be read, whatever the others are."""
    from cronsim import CronSim, CronSimError  # 15 ms that a file without a schedule need not wait for

    parts = ["*"] * len(FIELDS)
    parts[index] = text
    try:
        CronSim(" ".join(parts), SOME_DAY)
    except (CronSimError, ValueError):
        return False
    return True


def is_ever_due(expression: str) -> bool:
    from cronsim import CronSim, CronSimError

    try:
        next(CronSim(expression, SOME_DAY))
    except (CronSimError, StopIteration):
        return False
    return True
