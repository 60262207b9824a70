"""The same operations as `noetl.server`, asked of a server elsewhere, over its API: what `--server URL` means.

Function by function the same names, arguments, documents and errors, so that the command line does not know which it
talks to. Nothing is opened here and no store is read; what running needs is imported when something is run.

line       one server: requests, answers, the token      stream     server-sent events
answers    refusals as errors                            following  a log as it grows, over broken connections
watching   run, rerun, resume                            held_up    whether an execution waits for its children
attaching  files that go along with a playbook           refusing   findings, said as this machine says them
keychain   credentials                                   tokens     tokens
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from noetl.config import Settings
from noetl.errors import RequestError
from noetl.remote.line import Line, open_line

if TYPE_CHECKING:
    from noetl.control.exported import ExportedFile
    from noetl.control.requests import Observer, RerunRequest, RunRequest, RunResult

PAGE = 1000
EXECUTIONS = "/api/v1/executions"
CATALOG = "/api/v1/catalog"
NO_FILTERS: Mapping[str, Any] = {}


# --- running and changing --------------------------------------------------------------------------------------------


def run(settings: Settings, request: RunRequest, observer: Observer) -> RunResult:
    from noetl.remote import watching

    return watching.run(settings, request, observer)


def resume(
    settings: Settings,
    execution_id: int,
    observer: Observer,
    wait_seconds: float = 0.0,  # noqa: ARG001 - a server has its store: there is nothing to wait for
) -> RunResult:
    from noetl.remote import watching

    return watching.resume(settings, execution_id, observer)


def rerun(
    settings: Settings,
    request: RerunRequest,
    observer: Observer,
    wait_seconds: float = 0.0,  # noqa: ARG001 - as above
) -> RunResult:
    from noetl.remote import watching

    return watching.rerun(settings, request, observer)


def rerun_all(
    settings: Settings,
    requests: Sequence[RerunRequest],
    tell: Callable[[dict[str, Any]], None],
    wait_seconds: float = 0.0,  # noqa: ARG001 - as above
) -> bool:
    from noetl.remote import rerunning

    return rerunning.rerun_all(settings, requests, tell)


def cancel(settings: Settings, execution_id: int, reason: str) -> dict[str, Any]:
    return _changed(settings, f"{EXECUTIONS}/{execution_id}/cancel", {"reason": reason})


def signal(settings: Settings, execution_id: int, patches: dict[str, Any]) -> dict[str, Any]:
    return _changed(settings, f"{EXECUTIONS}/{execution_id}/signal", {"set": patches})


def _changed(settings: Settings, path: str, body: dict[str, Any]) -> dict[str, Any]:
    with closing(open_line(settings)) as line:
        return {**line.post(path, body), "runs_in": f"the server {line.url}"}


def catalog_register(
    settings: Settings,
    data: bytes,
    name: str,
    folder: str,  # noqa: ARG001 - it does not matter to the catalog
    is_legacy: bool,
    is_upstream: bool,
) -> dict[str, Any]:
    body = {"text": data.decode(), "name": name, "is_legacy": is_legacy, "is_upstream": is_upstream}
    with closing(open_line(settings)) as line:
        kept: dict[str, Any] = line.post(CATALOG, body)
        return kept


def sweep(
    settings: Settings,
    keep_days: int | None,  # noqa: ARG001 - as `noetl.server` has it, here and below
    *,
    is_dry_run: bool,  # noqa: ARG001
    is_alone: bool = False,  # noqa: ARG001
) -> NoReturn:
    """Refused."""
    raise RequestError(
        f"results are swept where they are kept, not over the server {settings.server_url}: run noetl sweep on its "
        "machine, with the --store that it has"
    )


# --- looking ---------------------------------------------------------------------------------------------------------


def list_executions(settings: Settings, limit: int, filters: Mapping[str, Any] = NO_FILTERS) -> list[dict[str, Any]]:
    """`filters`: as `noetl.server` has them."""
    query = {name: _as_asked(value) for name, value in filters.items()}
    with closing(open_line(settings)) as line:
        return list(_rows(line, EXECUTIONS, "executions", limit, **query))


def named(settings: Settings, digits: str, limit: int) -> list[dict[str, Any]]:
    with closing(open_line(settings)) as line:
        return list(_rows(line, EXECUTIONS, "executions", limit, id=digits))


def _as_asked(value: Any) -> Any:
    """A value of a filter, as a query has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return datetime.fromtimestamp(value, UTC).isoformat() if isinstance(value, float) else value


def _rows(line: Line, path: str, name: str, limit: int | None, /, **query: Any) -> Iterator[dict[str, Any]]:
    """The rows of a list, page by page, up to a limit."""
    cursor, left = None, limit
    while left is None or left > 0:
        size = PAGE if left is None else min(PAGE, left)
        page = line.get(path, limit=size, cursor=cursor, **query)
        yield from page[name]
        cursor, left = page["next"], None if left is None else left - len(page[name])
        if cursor is None:
            return


def show(settings: Settings, execution_id: int) -> dict[str, Any]:
    return _got(settings, f"{EXECUTIONS}/{execution_id}")


def _got(settings: Settings, path: str, /, **query: Any) -> dict[str, Any]:
    with closing(open_line(settings)) as line:
        found: dict[str, Any] = line.get(path, **query)
        return found


def events(settings: Settings, execution_id: int, after: int = 0) -> Iterator[dict[str, Any]]:
    from noetl.remote.following import past

    with closing(open_line(settings)) as line:
        yield from past(line, execution_id, after)


def follow(settings: Settings, execution_id: int, after: int = 0) -> Iterator[dict[str, Any]]:
    """As `events`, and on until the execution has ended."""
    from noetl.remote.following import followed

    with closing(open_line(settings)) as line:
        yield from followed(line, execution_id, after)


def export(settings: Settings, execution_id: int, payload_bytes_max: int | None = None) -> ExportedFile:
    from noetl.control.exported import ExportedFile

    line = open_line(settings)
    wanted = "" if payload_bytes_max is None else f"?payload_bytes_max={payload_bytes_max}"
    name, pieces = line.download(f"{EXECUTIONS}/{execution_id}/export{wanted}", f"execution-{execution_id}.noetl")
    return ExportedFile(name, pieces)


def import_file(
    settings: Settings,
    file: BinaryIO,  # noqa: ARG001 - as `noetl.server` has it
    wait_seconds: float = 0.0,  # noqa: ARG001
) -> NoReturn:
    """Refused."""
    raise RequestError(
        f"an execution is imported where its store is, not over the server {settings.server_url}: run noetl import on "
        "its machine, with the --store that it has"
    )


def replay(settings: Settings, execution_id: int, at: int | None) -> dict[str, Any]:
    return _got(settings, f"{EXECUTIONS}/{execution_id}/state", at=at)


def verify(settings: Settings, execution_id: int) -> dict[str, Any]:
    return _got(settings, f"{EXECUTIONS}/{execution_id}/verify")


def why(settings: Settings, execution_id: int, step: str) -> dict[str, Any]:
    return _got(settings, f"{EXECUTIONS}/{execution_id}/why", step=step)


def diff(settings: Settings, before: int, after: int) -> dict[str, Any]:
    return _got(settings, f"{EXECUTIONS}/{before}/diff", other=str(after))


def evaluate(
    settings: Settings, execution_id: int, expression: str, at: int | None, place: dict[str, Any]
) -> dict[str, Any]:
    """As `noetl.server` has it."""
    body = {"expression": expression, **place, **({"at": at} if at is not None else {})}
    with closing(open_line(settings)) as line:
        found: dict[str, Any] = line.post(f"{EXECUTIONS}/{execution_id}/evaluate", body)
        return found


def catalog_list(settings: Settings) -> list[dict[str, Any]]:
    with closing(open_line(settings)) as line:
        return list(_rows(line, CATALOG, "playbooks", None))


def catalog_show(settings: Settings, path: str, version: int | None) -> dict[str, Any]:
    return _got(settings, f"{CATALOG}/playbook", path=path, version=version)
