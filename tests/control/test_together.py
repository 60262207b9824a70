"""Looks into a store that many ask for at once: few of them, and none that is older than its question."""

import asyncio

import pytest

from noetl.control.together import Together


class Shelf:
    """Where things are looked up; a look takes a turn of the loop, and reads what is there when it begins."""

    def __init__(self) -> None:
        self.value = 1
        self.looks = 0
        self.fault: Exception | None = None

    async def look(self, name: str) -> str:
        self.looks += 1
        found = f"{name}@{self.value}"
        for _ in range(3):
            await asyncio.sleep(0)
        if self.fault is not None:
            raise self.fault
        return found


async def test_those_who_ask_at_once_share_a_look() -> None:
    shelf = Shelf()
    together = Together(shelf.look)

    found = await asyncio.gather(*(together.look(name) for name in ("a", "b") for _ in range(100)))

    assert found == ["a@1"] * 100 + ["b@1"] * 100
    assert shelf.looks == 2


async def test_whoever_asks_while_a_look_is_under_way_gets_what_was_changed_before_they_asked() -> None:
    shelf = Shelf()
    together = Together(shelf.look)
    early = asyncio.ensure_future(together.look("a"))
    while not shelf.looks:
        await asyncio.sleep(0)
    shelf.value = 2

    late = await asyncio.gather(*(together.look("a") for _ in range(10)))

    assert await early == "a@1"
    assert late == ["a@2"] * 10
    assert shelf.looks == 2


async def test_a_fault_is_told_to_all_who_asked_and_remembered_for_nobody_else() -> None:
    shelf = Shelf()
    together = Together(shelf.look)
    shelf.fault = LookupError("away")

    found = await asyncio.gather(*(together.look("a") for _ in range(3)), return_exceptions=True)
    shelf.fault = None

    assert [str(one) for one in found] == ["away"] * 3
    assert await together.look("a") == "a@1"


async def test_whoever_gives_up_takes_nothing_from_the_others() -> None:
    shelf = Shelf()
    together = Together(shelf.look)
    impatient = asyncio.ensure_future(together.look("a"))
    patient = asyncio.ensure_future(together.look("a"))
    await asyncio.sleep(0)

    impatient.cancel()

    assert await patient == "a@1"
    with pytest.raises(asyncio.CancelledError):
        await impatient
