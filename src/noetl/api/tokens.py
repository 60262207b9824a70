"""Tokens over the API: made, listed, revoked, by administrators. A token's text is in the answer that makes it, only.

No token makes one that may more than itself: a path prefix holds for what it makes too.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from noetl.api.operations import Call, Operation
from noetl.api.problems import Refusal
from noetl.api.sight import who
from noetl.errors import Forbidden
from noetl.identity.roles import ADMIN
from noetl.identity.tokens import Grant, UnknownToken

LIFE_SECONDS_MAX = 100 * 365 * 24 * 3600
TAG = "tokens"


class NewToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a token is to be for."""

    role: Annotated[str, msgspec.Meta(max_length=64)]  # viewer, runner, author, admin, worker
    label: Annotated[str, msgspec.Meta(max_length=100)] = ""
    pool: Annotated[str, msgspec.Meta(max_length=64)] = ""  # of a worker: the only one that it may join
    path_prefix: Annotated[str, msgspec.Meta(max_length=255)] = ""  # of others: playbooks at this path and below
    expires_in_seconds: Annotated[float, msgspec.Meta(gt=0, le=LIFE_SECONDS_MAX)] | None = None  # None: never


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """What may be known of a token."""

    id: str
    label: str
    role: str
    pool: str | None
    path_prefix: str | None
    status: str  # active, expired, revoked
    created_at: str
    created_by: str | None
    expires_at: str | None
    revoked_at: str | None


class MadeToken(TokenRow, frozen=True, kw_only=True):
    """The same, and the token: this is the only time that it is to be had."""

    token: str


class TokenRows(msgspec.Struct, frozen=True, kw_only=True):
    tokens: list[TokenRow]


async def create_token(call: Call) -> MadeToken:
    wanted: NewToken = call.body
    tokens, life = call.parts.tokens, wanted.expires_in_seconds
    mine = call.identity.path_prefix
    if mine and not call.identity.sees(wanted.path_prefix):
        raise Forbidden(f'this token is for playbooks under "{mine}" only, and so is every token that it makes')
    grant = Grant(
        role=wanted.role,
        label=wanted.label,
        pool=wanted.pool,
        path_prefix=wanted.path_prefix,
        expires_at=None if life is None else call.parts.clock.now() + life,
    )
    issued = await tokens.create(grant, who(call))
    return MadeToken(token=issued.token, **issued.row)


async def list_tokens(call: Call) -> TokenRows:
    rows = [TokenRow(**row) for row in await call.parts.tokens.listed()]
    return TokenRows(tokens=[row for row in rows if call.identity.sees(row.path_prefix or "")])


async def revoke_token(call: Call) -> TokenRow:
    tokens, token_id = call.parts.tokens, call.path["token_id"]
    try:
        if call.identity.path_prefix and not call.identity.sees(await tokens.path_prefix_of(token_id)):
            raise Forbidden(f'this token is for playbooks under "{call.identity.path_prefix}" only')
        return TokenRow(**await tokens.revoke(token_id, who(call)))
    except UnknownToken as error:
        raise Refusal(404, "unknown-token", str(error)) from None


OPERATIONS = (
    Operation(
        method="POST",
        path="/api/v1/tokens",
        role=ADMIN,
        summary="Make a token; its text is in this answer and nowhere else",
        handler=create_token,
        tag=TAG,
        body=NewToken,
        answers={201: MadeToken},
    ),
    Operation(
        method="GET",
        path="/api/v1/tokens",
        role=ADMIN,
        summary="All tokens, the newest first, without their texts",
        handler=list_tokens,
        tag=TAG,
        answers={200: TokenRows},
    ),
    Operation(
        method="DELETE",
        path="/api/v1/tokens/{token_id}",
        role=ADMIN,
        summary="Revoke a token; the sessions of workers that began with it end too",
        handler=revoke_token,
        tag=TAG,
        answers={200: TokenRow},
        refusals=(404,),
    ),
)
