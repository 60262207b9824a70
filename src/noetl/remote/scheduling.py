"""The schedules and triggers of a server (`noetl.scheduling` has those of a store)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from noetl.config import Settings
from noetl.dsl.schedule_documents import schedules_of
from noetl.dsl.trigger_documents import triggers_of
from noetl.remote.line import open_line, word

SCHEDULES, TRIGGERS = "/api/v1/schedules", "/api/v1/triggers"
PAGE = 1000


class RemoteDocuments:
    """What schedules and triggers have in common."""

    path: str
    key: str  # under which a page has its rows

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = None
        with closing(open_line(self._settings)) as line:
            while True:
                page = line.get(self.path, limit=PAGE, cursor=cursor)
                found += page[self.key]
                cursor = page["next"]
                if cursor is None:
                    return found

    def remove(self, name: str) -> None:
        with closing(open_line(self._settings)) as line:
            line.delete(f"{self.path}/{word(name)}")

    def _apply(self, names: Iterable[str], data: bytes, file_name: str) -> list[dict[str, Any]]:
        body = {"text": data.decode("utf-8"), "name": file_name}
        with closing(open_line(self._settings)) as line:
            return [line.put(f"{self.path}/{word(name)}", body) for name in names]

    def _get(self, name: str, **query: Any) -> dict[str, Any]:
        with closing(open_line(self._settings)) as line:
            found: dict[str, Any] = line.get(f"{self.path}/{word(name)}", **query)
            return found


class RemoteSchedules(RemoteDocuments):
    path, key = SCHEDULES, "schedules"

    def apply(self, data: bytes, name: str) -> list[dict[str, Any]]:
        """Keep the schedules of a text that is known to check."""
        return self._apply([one.name for one in schedules_of(data, name)], data, name)

    def shown(self, name: str, count: int) -> dict[str, Any]:
        return self._get(name, count=count)

    def pause(self, name: str) -> dict[str, Any]:
        return self._post(name, "pause")

    def resume(self, name: str) -> dict[str, Any]:
        return self._post(name, "resume")

    def run(self, name: str) -> dict[str, Any]:
        return self._post(name, "run")

    def _post(self, name: str, deed: str) -> dict[str, Any]:
        with closing(open_line(self._settings)) as line:
            row: dict[str, Any] = line.post(f"{self.path}/{word(name)}/{deed}", {})
            return row


class RemoteTriggers(RemoteDocuments):
    path, key = TRIGGERS, "triggers"

    def apply(self, data: bytes, name: str) -> list[dict[str, Any]]:
        """Keep the triggers of a text that is known to check."""
        return self._apply([one.name for one in triggers_of(data, name)], data, name)

    def shown(self, name: str) -> dict[str, Any]:
        return self._get(name)
