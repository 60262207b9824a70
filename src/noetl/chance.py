"""What nobody may guess and nothing may repeat: made by the roles, and handed in wherever it is needed."""

from __future__ import annotations

import secrets

SECRET_BYTES = 32
NONCE_BITS, TAG_BITS = 31, 63
TRACE_BYTES = 16


def new_secret() -> bytes:
    """Of a token or a session."""
    return secrets.token_bytes(SECRET_BYTES)


def new_trace() -> str:
    return secrets.token_hex(TRACE_BYTES)


def new_nonce() -> int:
    """Of one start of a server: no two of its leases are ever the same (protocol §2)."""
    return secrets.randbits(NONCE_BITS)


def new_tag() -> int:
    """Of one append: whoever finds another one at its place has an older log (protocol §4)."""
    return secrets.randbits(TAG_BITS)
