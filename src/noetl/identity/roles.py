"""Who asks, and what that allows: the contract between tokens (`identity.tokens`) and whoever checks them.

A token comes in, an identity goes out, or Unauthenticated. Roles stand in one order; `worker` stands apart, for it may
take work and nothing else. Nothing here knows a route or a token's text.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

VIEWER, RUNNER, AUTHOR, ADMIN, WORKER = "viewer", "runner", "author", "admin", "worker"
RANKS = {VIEWER: 1, RUNNER: 2, AUTHOR: 3, ADMIN: 4}  # each may do what those before it may
ROLES = (*RANKS, WORKER)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever shows a token, as far as it matters to what they may do."""

    name: str  # for the audit log: the token's label
    role: str
    pool: str = ""  # "": any; of a worker: the only pool that it may join
    path_prefix: str = ""  # "": all; else playbooks at this path and below it, and their executions, are all there is
    token_id: str = ""  # the beginning of the token's hash; it opens nothing

    def may(self, role: str) -> bool:
        """Whether what asks for a role is allowed. Unknown roles are nobody's."""
        if role == WORKER or self.role == WORKER:
            return role == self.role
        return role in RANKS and RANKS.get(self.role, 0) >= RANKS[role]

    def sees(self, path: str) -> bool:
        """Whether a playbook's path is one of those that the token is for."""
        return not self.path_prefix or path == self.path_prefix or path.startswith(f"{self.path_prefix}/")


class Authority(Protocol):
    """Knows tokens."""

    async def identify(self, token: str) -> Identity:
        """Who shows this token; raises Unauthenticated."""
        ...
