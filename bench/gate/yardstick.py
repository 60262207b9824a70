"""A fixed piece of Python, about what an engine does all day: the unit in which its processor time is counted.

It must never change: every figure of the baseline is a multiple of it. It touches no file, no clock and no code of
ours.
"""

from __future__ import annotations

import msgspec

TIMES = 12_000


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    number: int
    data: dict[str, int]


class Counting:
    """Attributes, calls and mappings."""

    def __init__(self) -> None:
        self.total = 0
        self.by_name: dict[str, int] = {}

    def take(self, fact: Fact) -> None:
        self.total += fact.number
        self.by_name[fact.name] = self.by_name.get(fact.name, 0) + len(fact.data)


def yardstick() -> int:
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(Fact).decode
    counting = Counting()
    for number in range(TIMES):
        fact = Fact(name=f"task_{number % 50}", number=number, data={"status": 1, "index": number})
        counting.take(decode(encode(fact)))
        counting.take(msgspec.structs.replace(fact, number=number + 1))
    return counting.total
