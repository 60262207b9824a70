"""What a sweep of a PostgreSQL store finds: executions that are overdue, abandoned or orphaned (protocol §6).

Looking locks nothing. What is marked is marked in the order of ids, as pumps lock them.
"""

from __future__ import annotations

from collections.abc import Sequence

from noetl.stores.contract import Execution
from noetl.stores.postgres_connections import Connections
from noetl.stores.postgres_rows import EXECUTION_COLUMNS, execution
from noetl.stores.postgres_values import Bigints

OVERDUE = b"SELECT id FROM execution WHERE deadline_at <= now_seconds() ORDER BY deadline_at LIMIT %s"
SET_DEADLINE = (
    b"UPDATE execution SET deadline_at = %s "
    b"WHERE id = %s AND head = %s AND status IN ('running', 'waiting', 'incident')"
)
ABANDONED = (
    b"SELECT " + EXECUTION_COLUMNS + b" FROM execution WHERE follow_until <= now_seconds() "
    b"ORDER BY follow_until LIMIT %s"
)
FOLLOWING = b"""
WITH found AS MATERIALIZED (SELECT id FROM execution WHERE id = ANY (%s) ORDER BY id FOR UPDATE)
UPDATE execution e SET follow_until = %s FROM found WHERE e.id = found.id
"""
FOLLOWED = b"""
WITH found AS MATERIALIZED (
    SELECT id FROM execution WHERE id = ANY (%s) AND follow_until <= %s ORDER BY id FOR UPDATE
)
UPDATE execution e SET follow_until = NULL FROM found WHERE e.id = found.id
"""
TAKE_OVER = (
    b"""
WITH found AS MATERIALIZED (
    SELECT id FROM execution WHERE follow_until <= now_seconds() ORDER BY follow_until LIMIT %s FOR UPDATE SKIP LOCKED
)
UPDATE execution SET follow_until = %s WHERE id IN (SELECT id FROM found) RETURNING """
    + EXECUTION_COLUMNS
)
UNHEARD = (
    b"SELECT "
    + EXECUTION_COLUMNS
    + b""" FROM execution
WHERE parent_key IN (SELECT child_key FROM job WHERE child_key IS NOT NULL)
  AND status NOT IN ('running', 'waiting', 'incident') AND ended_at < now_seconds() - %s
ORDER BY id LIMIT %s
"""
)
ORPHANS = b"""
SELECT child.id FROM execution child LEFT JOIN execution caller ON caller.id = child.parent_id
WHERE child.parent_id IS NOT NULL AND child.status IN ('running', 'waiting', 'incident')
  AND child.created_at < now_seconds() - %s
  AND CASE WHEN caller.status IN ('running', 'waiting')
           THEN NOT EXISTS (SELECT FROM job WHERE job.child_key = child.parent_key)
           ELSE caller.status IS DISTINCT FROM 'incident' END
ORDER BY child.created_at LIMIT %s
"""
STRANDED = b"""
SELECT id FROM execution
WHERE status = 'running' AND follow_until IS NULL AND created_at < now_seconds() - %s
  AND NOT EXISTS (SELECT FROM job WHERE job.execution_id = execution.id)
ORDER BY id LIMIT %s
"""


class PostgresSweep:
    """See `noetl.stores.shared.SharedStore`; whoever inherits it has the connections."""

    _connections: Connections

    async def overdue(self, limit: int) -> list[int]:
        return [row[0] for row in await self._connections.rows(OVERDUE, (limit,))]

    async def set_deadline(self, execution_id: int, deadline_at: float | None, head: int) -> None:
        await self._connections.change(SET_DEADLINE, (deadline_at, execution_id, head))

    async def abandoned(self, limit: int) -> list[Execution]:
        return [execution(row) for row in await self._connections.rows(ABANDONED, (limit,))]

    async def take_over(self, limit: int, until: float) -> list[Execution]:
        return [execution(row) for row in await self._connections.rows(TAKE_OVER, (limit, float(until)))]

    async def following(self, execution_ids: Sequence[int], until: float) -> None:
        await self._connections.change(FOLLOWING, (Bigints(execution_ids), until))

    async def followed(self, execution_ids: Sequence[int], marked_until: float) -> None:
        await self._connections.change(FOLLOWED, (Bigints(execution_ids), float(marked_until)))

    async def orphans(self, limit: int, age_seconds: float) -> list[int]:
        return [row[0] for row in await self._connections.rows(ORPHANS, (float(age_seconds), limit))]

    async def stranded(self, limit: int, age_seconds: float) -> list[int]:
        return [row[0] for row in await self._connections.rows(STRANDED, (float(age_seconds), limit))]

    async def unheard(self, limit: int, age_seconds: float) -> list[Execution]:
        return [execution(row) for row in await self._connections.rows(UNHEARD, (float(age_seconds), limit))]
