"""How far each execution's log was exported: a cursor beside its head (protocol §6, Transport).

Those that are behind are found by an index that is made when the first server exports. Without it an append changes no
index; with it every append does, which is the price of exporting and is not paid where nobody does.
"""

from __future__ import annotations

from collections.abc import Sequence

from noetl.stores.postgres_connections import Connections
from noetl.stores.postgres_values import Bigints, Integers

MAKE_INDEX = b"CREATE INDEX IF NOT EXISTS execution_behind ON execution (id) WHERE exported < head"
BEHIND = b"SELECT id, exported FROM execution WHERE exported < head ORDER BY id LIMIT %s"
ADVANCE = b"""
WITH found AS MATERIALIZED (
    SELECT e.id, d.seq FROM execution e JOIN unnest(%s, %s) AS d (id, seq) ON e.id = d.id ORDER BY e.id FOR UPDATE OF e
)
UPDATE execution e SET exported = found.seq FROM found WHERE e.id = found.id AND e.exported < found.seq
"""


class PostgresExport:
    """Whoever inherits it has the connections."""

    _connections: Connections

    async def prepare_export(self) -> None:
        """Make what `behind` looks with. On a large store that takes its time, once."""
        await self._connections.change(MAKE_INDEX)

    async def behind(self, limit: int) -> list[tuple[int, int]]:
        """(execution, last exported seq) of those that have more."""
        return [(int(row[0]), int(row[1])) for row in await self._connections.rows(BEHIND, (limit,))]

    async def advance(self, cursors: Sequence[tuple[int, int]]) -> None:
        """Everything up to these was exported; a cursor never goes back."""
        columns = Bigints(execution_id for execution_id, _ in cursors), Integers(seq for _, seq in cursors)
        await self._connections.change(ADVANCE, columns)
