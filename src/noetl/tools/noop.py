"""kind: noop — does nothing; its policy and `set` do the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import Kind
from noetl.engine.output import Output

if TYPE_CHECKING:
    from noetl.tools.contract import Call, Hands

KIND = Kind(
    name="noop",
    summary="Does nothing: a place for policy rules and set.",
    result="its input if it has any, else _prev (in a loop iteration without input: null)",
    can_fail=False,
    records_input=True,
)


class Noop:
    """Gives its values back at once, or passes on what came before it."""

    def run(self, call: Call) -> Output:
        return Output(data=call.input or call.previous)

    async def close(self) -> None:
        """Nothing was opened."""


def make(hands: Hands) -> Noop:  # noqa: ARG001 - every kind is made with hands
    return Noop()
