"""The tools of one worker: each made when a task first needs it, shared by all tasks, closed at the end."""

from __future__ import annotations

import logging

from noetl.errors import MissingLibrary, UnusablePlugin
from noetl.tools.contract import Hands, Tool
from noetl.tools.registry import Declarations, is_installed

log = logging.getLogger(__name__)


class Toolbox:
    """Kinds to tools at work."""

    def __init__(self, hands: Hands, kinds: Declarations) -> None:
        self.hands = hands
        self.kinds = kinds
        self._tools: dict[str, Tool] = {}
        self._fields: dict[str, frozenset[str]] = {}

    def fields(self, kind: str) -> frozenset[str]:
        """The names of a kind's own fields."""
        found = self._fields.get(kind)
        if found is None:
            declared = self.kinds.get(kind)
            found = self._fields[kind] = frozenset(field.name for field in declared.fields) if declared else frozenset()
        return found

    def blank_helper(self, kind: str) -> dict[str, dict[str, None]]:
        """A kind's helper with nothing in it: what `output.http.status` reads when no answer came."""
        declared = self.kinds.get(kind)
        return {declared.helper: dict.fromkeys(declared.helper_fields)} if declared and declared.helper else {}

    def error_kinds(self, kind: str) -> frozenset[str]:
        """The words for error.kind that are a kind's own (TK-19)."""
        declared = self.kinds.get(kind)
        return frozenset(declared.error_kinds) if declared else frozenset()

    def tool(self, kind: str) -> Tool:
        found = self._tools.get(kind)
        if found is None:
            found = self._tools[kind] = self._made(kind)
        return found

    def _made(self, kind: str) -> Tool:
        if kind not in self.kinds:  # the server has a plugin that this worker lacks
            absence = self.kinds.absence(kind)
            raise UnusablePlugin(f"this worker has no kind: {kind}" + (f"; {absence.why}" if absence else ""))
        declared = self.kinds[kind]
        if not is_installed(declared):
            raise MissingLibrary(
                f'this worker cannot run kind: {kind}, which needs: pip install "noetl[{declared.extra}]"'
            )
        return self.kinds.make_tool(kind, self.hands)

    async def close(self) -> None:
        """Close every tool, whatever another one says."""
        tools, self._tools = list(self._tools.values()), {}
        for tool in tools:
            try:
                await tool.close()
            except Exception:
                log.exception("a tool could not be closed", extra={"action": "tool_close_failed", "tool": type(tool)})
