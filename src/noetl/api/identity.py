"""Who sends a request: the bearer token of its header, shown to the authority (`identity.roles`).

There is no other way to say who one is: no cookie, no query parameter, no form. So no web page can make a browser ask
in somebody's name.
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from noetl.errors import Forbidden, Unauthenticated, Unreachable
from noetl.identity.roles import Authority, Identity

TOKEN_CHARACTERS_MAX = 512
LOOKS_MAX = 32  # at a time: strangers with random tokens must not keep the store busy
NOBODY = Identity(name="", role="")


class Doorkeeper:
    """Asks the authority, not too often at a time."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._looks = asyncio.Semaphore(LOOKS_MAX)

    async def identify(self, request: Request) -> Identity:
        """Raises Unauthenticated."""
        token = token_in(request)
        async with self._looks:
            return await self._authority.identify(token)


async def is_still_known(authority: Authority, request: Request) -> bool:
    """Whether the token of a request that lasts still opens anything; while nobody can say, it does."""
    try:
        await authority.identify(token_in(request))
    except Unauthenticated:
        return False
    except Unreachable:
        return True
    return True


def token_in(request: Request) -> str:
    given = request.headers.getlist("authorization")
    if len(given) != 1:
        raise Unauthenticated("this needs a token: send one header Authorization: Bearer TOKEN")
    scheme, _, token = given[0].partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not 0 < len(token) <= TOKEN_CHARACTERS_MAX or not token.isascii():
        raise Unauthenticated("this needs a token: Authorization: Bearer TOKEN")
    return token


def demand(identity: Identity, role: str, what: str) -> None:
    """Raises Forbidden unless whoever asks has this role."""
    if not identity.may(role):
        raise Forbidden(f"{what} needs the role {role}; this token has {identity.role}")
