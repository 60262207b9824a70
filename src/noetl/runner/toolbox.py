"""The tools of one worker: each made when a task first needs it, shared by all tasks, closed at the end."""

from __future__ import annotations

from noetl.tools.contract import Hands, Tool
from noetl.tools.registry import declarations, make_tool


class Toolbox:
    """Kinds to tools at work."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands
        self._tools: dict[str, Tool] = {}
        self._fields: dict[str, frozenset[str]] = {}

    def fields(self, kind: str) -> frozenset[str]:
        """The names of a kind's own fields."""
        found = self._fields.get(kind)
        if found is None:
            found = self._fields[kind] = frozenset(field.name for field in declarations[kind].fields)
        return found

    def tool(self, kind: str) -> Tool:
        found = self._tools.get(kind)
        if found is None:
            found = self._tools[kind] = make_tool(kind, self.hands)
        return found

    async def close(self) -> None:
        """Close every tool, whatever another one says."""
        tools, self._tools = list(self._tools.values()), {}
        for tool in tools:
            await tool.close()
