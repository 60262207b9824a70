"""kind: secrets — proves a keychain entry, renews it, or waits for its rotation.

The declaration, which costs nothing to import; the work is done in secrets_tool.py, loaded when a task needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import BOOLEAN, MAPPING, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

ACTIONS = GET, REFRESH, ROTATE = ("get", "refresh", "rotate")

KIND = Kind(
    name="secrets",
    summary="Proves, refreshes or rotates a keychain entry; the value itself never becomes output.",
    fields=(
        Field(name="auth", types=(TEXT, MAPPING), required=True, doc="The keychain entry."),
        Field(name="action", choices=ACTIONS, doc="refresh if not given."),
        Field(name="force", types=(BOOLEAN,), doc="Refresh also what is not near its end."),
    ),
    result="{name, kind, version, expires_at, renewed}; version and expires_at are null where there is none",
)


def make(hands: Hands) -> Tool:
    from noetl.tools.secrets_tool import SecretsTool

    return SecretsTool(hands)
