"""Where the rows of a transfer come from: an open source in, pieces for the target out.

HTTP, a file, a reference and a query of DuckDB give bytes in one of the formats; a query of PostgreSQL gives COPY's own
text, which needs no reading here at all. Every source is read in pieces and as fast as the target takes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from noetl.engine.output import Output
from noetl.references import reference_of
from noetl.tools.beside import find_file
from noetl.tools.children import AnswerTooLarge, ChildDied
from noetl.tools.contract import Call, Hands
from noetl.tools.duckdb_runs import QueryFailed
from noetl.tools.duckdb_tool import failure_of as query_failure_of
from noetl.tools.http_answer import output_of
from noetl.tools.http_auth import signed
from noetl.tools.http_failures import FAULTS, failure_of
from noetl.tools.http_request import request_of
from noetl.tools.refused import Refused
from noetl.tools.row_streams import CONTENT_TYPES, SUFFIXES, batches_to_copy
from noetl.tools.transfer_duckdb import DuckdbQueries
from noetl.tools.transfer_pieces import Piece, Pieces, Writer
from noetl.tools.transfer_plan import Plan
from noetl.tools.web_files import open_client
from noetl.web import guard

READ_BYTES = 1024 * 1024
BODY_BYTES_MAX = 1024**4  # it is never held; a bound all the same
MULTIPLE_CHOICES = 300


class SourceFailed(Exception):
    """The source answered with a failure; it is the output of the task."""

    def __init__(self, output: Output) -> None:
        super().__init__(output.error.message if output.error else "")
        self.output = output


class Sources:
    """Opens sources that give bytes; keeps connections for the life of the tool."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._client = open_client(hands.settings)
        self._queries = DuckdbQueries(hands.settings)

    @asynccontextmanager
    async def opened(self, call: Call, plan: Plan, writer: Writer) -> AsyncIterator[Pieces]:
        """The rows of a source, written as the target takes them."""
        openers = {"http": self._http, "file": self._file, "ref": self._reference, "duckdb": self._duckdb}
        async with openers[plan.source["kind"]](call, plan.source) as (chunks, row_format):
            yield _written(chunks, row_format, plan, writer)

    @asynccontextmanager
    async def _http(self, call: Call, source: dict[str, Any]) -> AsyncIterator[tuple[AsyncIterator[bytes], str]]:
        given = {name: value for name, value in source.items() if name not in ("kind", "format")}
        asked = msgspec.structs.replace(call, given=given, key="")
        try:
            request = request_of(asked)
        except guard.Refused as refused:
            raise Refused("client_error", str(refused)) from None
        try:
            request = await signed(request, asked, given.get("auth"))
            async with self._client.open(request) as incoming:
                if incoming.head.status >= MULTIPLE_CHOICES:
                    raise SourceFailed(await output_of(await incoming.read(), now=self._hands.clock.now()))
                path = PurePosixPath(incoming.head.url.partition("?")[0])
                row_format = _format_of(source, incoming.head.content_type, path.suffix)
                yield incoming.pieces(BODY_BYTES_MAX), row_format
        except FAULTS as fault:
            raise SourceFailed(failure_of(fault, request, call.total_seconds)) from fault

    @asynccontextmanager
    async def _file(self, call: Call, source: dict[str, Any]) -> AsyncIterator[tuple[AsyncIterator[bytes], str]]:
        path = source.get("path")
        if not isinstance(path, str):
            raise Refused("type", "source.path must be the path of a file")
        file = find_file(path, call.folder, self._hands.settings.script_roots)
        yield _file_chunks(file), _format_of(source, "", file.suffix)

    @asynccontextmanager
    async def _reference(self, call: Call, source: dict[str, Any]) -> AsyncIterator[tuple[AsyncIterator[bytes], str]]:
        reference = reference_of(source.get("ref"))
        if reference is None:
            raise Refused("ref_misuse", "source.ref must be a reference, such as {{ step_name.ref }}")
        content_type = reference.content_type.partition(";")[0].strip().lower()
        yield call.results.stream(reference), _format_of(source, content_type, "")

    @asynccontextmanager
    async def _duckdb(self, call: Call, source: dict[str, Any]) -> AsyncIterator[tuple[AsyncIterator[bytes], str]]:
        try:
            async with self._queries.opened(call, source) as rows:
                yield rows
        except (QueryFailed, ChildDied, AnswerTooLarge) as fault:
            raise SourceFailed(query_failure_of(fault, call.total_seconds)) from None

    async def close(self) -> None:
        await self._client.close()
        await self._queries.close()


async def _written(chunks: AsyncIterator[bytes], row_format: str, plan: Plan, writer: Writer) -> Pieces:
    booleans = None if writer.booleans is None else plan.sources_of(writer.booleans)
    async for batch in batches_to_copy(chunks, row_format, plan.source_names, booleans):
        named = msgspec.structs.replace(batch, names=plan.target_names(batch.names))
        yield Piece(names=named.names, data=writer.write(named), row_count=batch.row_count)


async def _file_chunks(file: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(file.open, "rb") as opened:
        while chunk := await asyncio.to_thread(opened.read, READ_BYTES):
            yield chunk


def _format_of(source: dict[str, Any], content_type: str, suffix: str) -> str:
    """As the source says, else as its content type or its name tells."""
    found = source.get("format") or CONTENT_TYPES.get(content_type) or SUFFIXES.get(suffix.lower())
    if found is None:
        said = f'content type "{content_type[:80]}"' if content_type else "its name"
        raise Refused(
            "type", f"{said} does not tell how the rows are written: set source.format to ndjson, json or csv"
        )
    return str(found)
