"""kind: resolve — a reference to its data. The declaration; resolve_tool.py does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import LIST, MAPPING, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

KIND = Kind(
    name="resolve",
    summary="Fetches what a reference stands for, checking size and checksum.",
    fields=(
        Field(name="ref", types=(MAPPING, TEXT), required=True, doc="The reference."),
        Field(name="path", doc="Only this part of the data, as a dotted path."),
        Field(name="slice", types=(LIST, TEXT), doc="Only these items of a list: [start, end]."),
    ),
    result="the data",
)


def make(hands: Hands) -> Tool:
    from noetl.tools.resolve_tool import ResolveTool  # brings asyncio, which reading a declaration does not need

    return ResolveTool(hands)
