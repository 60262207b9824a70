"""Every operation of the API, in the order in which people read about them. What is not here does not exist.

The table is checked when it is made: a role that nobody has, a public path that is not in the literal, two operations
for one route or with one name are faults of the program, found before it serves anything.
"""

from __future__ import annotations

from noetl.api import (
    authoring,
    bulk,
    catalog,
    changes,
    docs,
    drafting,
    events,
    executions,
    explaining,
    exporting,
    health,
    jobs,
    keychain,
    listing,
    logs_of,
    metrics,
    overview,
    pages,
    recent,
    results,
    schedules,
    starting,
    timelines,
    tokens,
    triggers,
    upstream,
    workers,
)
from noetl.api.operations import BODIES, HOOK, HOOK_PATHS, PUBLIC, PUBLIC_PATHS, Operation
from noetl.identity.roles import RANKS

OPERATIONS: tuple[Operation, ...] = (
    *overview.OPERATIONS,
    *changes.OPERATIONS,
    *catalog.OPERATIONS,
    *recent.OPERATIONS,
    *authoring.OPERATIONS,
    *drafting.OPERATIONS,
    *starting.OPERATIONS,
    *listing.OPERATIONS,
    *bulk.OPERATIONS,
    *executions.OPERATIONS,
    *explaining.OPERATIONS,
    *events.OPERATIONS,
    *timelines.OPERATIONS,
    *logs_of.OPERATIONS,
    *exporting.OPERATIONS,
    *results.OPERATIONS,
    *keychain.OPERATIONS,
    *schedules.OPERATIONS,
    *triggers.OPERATIONS,
    *workers.OPERATIONS,
    *jobs.OPERATIONS,
    *tokens.OPERATIONS,
    *health.OPERATIONS,
    *metrics.OPERATIONS,
    *docs.OPERATIONS,
    *pages.OPERATIONS,
    *upstream.OPERATIONS,
)
LITERALS = {PUBLIC: PUBLIC_PATHS, HOOK: HOOK_PATHS}


def check_table(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The same operations, or ValueError."""
    routes: set[tuple[str, str]] = set()
    names: set[str] = set()
    for one in operations:
        where = f"{one.method} {one.path}"
        if one.role in LITERALS:
            if one.path not in LITERALS[one.role]:
                raise ValueError(f"{where} is {one.role}, and is not in the literal of those paths")
        elif one.role not in RANKS or one.path in PUBLIC_PATHS:
            raise ValueError(f'{where} has no role that anybody has: "{one.role}"')
        if (one.method, one.path) in routes or one.id in names:
            raise ValueError(f"{where} ({one.id}) is there twice")
        if one.body is not None and one.method not in BODIES:
            raise ValueError(f"{where} cannot have a body")
        routes.add((one.method, one.path))
        names.add(one.id)
    return operations


check_table(OPERATIONS)
