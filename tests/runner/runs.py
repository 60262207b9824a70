"""Whole runs in this process: the real server's parts, worker, tools and store, over a folder of their own."""

import textwrap
from pathlib import Path
from typing import Any

from noetl import server
from noetl.config import Settings, url_of
from noetl.control.requests import Nobody, RunRequest

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"


class Ran:
    """A run that has ended."""

    def __init__(self, settings: Settings, summary: dict[str, Any]) -> None:
        self.summary = summary
        self.status = summary["status"]
        self.ctx = summary["ctx"]
        self.output = summary["output"]
        self.error = summary["error"]
        self.log = list(server.events(settings, int(summary["execution_id"])))

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.log if event["name"] == name]


def settings_in(folder: Path) -> Settings:
    return Settings(home=folder, store_url=url_of(folder / "noetl.db"))


def run(folder: Path, body: str, *, is_upstream: bool = False, **payload: Any) -> Ran:
    """Run a playbook without its head to its end; `is_upstream`: as `--compat upstream` does."""
    data = (HEAD + textwrap.dedent(body)).encode()
    settings = settings_in(folder)
    request = RunRequest(data=data, name="t.yaml", folder=str(folder), payload=payload, is_upstream=is_upstream)
    return Ran(settings, server.run(settings, request, Nobody()).summary)
