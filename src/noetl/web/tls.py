"""How a connection is made safe: which certificates are believed, and the one that we show.

What a request says of it in, an SSL context out, made once and kept. A private key comes from a credential and goes to
the TLS library, which reads it only from a file: one in memory where the system has such, else a private one on disk
that is gone before the request is sent.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from noetl.web.guard import Refused

CONTEXTS_MAX = 64


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate to show, with its key, as PEM texts; and perhaps the CA that vouches for the other side."""

    certificate: str
    private_key: str
    authority: str | None = None


class TlsContexts:
    """Makes contexts and keeps them."""

    def __init__(self) -> None:
        self._kept: dict[tuple[bool | str, Identity | None], ssl.SSLContext] = {}

    async def of(self, verify: bool | str, identity: Identity | None) -> bool | ssl.SSLContext:
        """`verify`: whether to check certificates, or the file of a CA. A bool: as the HTTP library has it."""
        if isinstance(verify, bool) and identity is None:
            return verify
        key = (verify, identity)
        if key not in self._kept:
            if len(self._kept) >= CONTEXTS_MAX:
                self._kept.clear()
            self._kept[key] = await asyncio.to_thread(_context, verify, identity)
        return self._kept[key]


def _context(verify: bool | str, identity: Identity | None) -> ssl.SSLContext:
    authority = identity.authority if identity else None
    try:
        context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None, cadata=authority)
    except (OSError, ssl.SSLError, ValueError):
        where = f'spec.verify names "{verify}"' if isinstance(verify, str) else 'the credential has an "authority"'
        raise Refused(f"{where}, which is not a readable file of certificates") from None
    if verify is False:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if identity is not None:
        _show(context, identity)
    return context


def _show(context: ssl.SSLContext, identity: Identity) -> None:
    with _file_of(f"{identity.private_key}\n{identity.certificate}\n".encode()) as path:
        try:
            context.load_cert_chain(path, password=lambda: b"")  # a callback, or it would ask at the terminal
        except (OSError, ssl.SSLError, ValueError):
            raise Refused(
                'the credential\'s "certificate" and "private_key" are not a PEM certificate and its key, unencrypted'
            ) from None


@contextmanager
def _file_of(content: bytes) -> Iterator[str]:
    """A file that nobody else can read, gone after the block."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("tls")
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()
    try:
        os.write(descriptor, content)
        yield path
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108 - a name, never a Path
