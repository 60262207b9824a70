"""The kind secrets, as the suite of tools wants to see it: over a real keychain, with a token endpoint that may not
answer."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from noetl.keychain.contract import Keychain
from noetl.testing.hands import CredentialsOfKeychain, call, hands
from noetl.testing.tool_suite import PLANTED_SECRET, Entry, Specimen
from noetl.tools import secrets
from noetl.tools.contract import Call
from tests.keychain.parts import declared, keychain
from tests.tools.http_parts import raw_server, response

ANSWERS = {
    b"/token": response(json.dumps({"access_token": PLANTED_SECRET, "expires_in": 3600}).encode()),
    b"/busy": b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One of ANSWERS; to any other path nothing, until the client goes away."""
    path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
    if path in ANSWERS:
        writer.write(ANSWERS[path])
    else:
        await reader.read()


def environment(url: str) -> dict[str, str]:
    client = {"client_id": "me", "client_secret": PLANTED_SECRET}
    entries = {name: {"token_url": f"{url}/{name}", **client} for name in ("token", "busy", "never")}
    fixed = {"NOETL_SECRET_FIXED": PLANTED_SECRET}
    return {f"NOETL_SECRET_{name.upper()}": json.dumps(entry) for name, entry in entries.items()} | fixed


def asked(chain: Keychain, name: str, action: str, kind: str = "oauth2", total_seconds: float | None = None) -> Call:
    credentials = CredentialsOfKeychain(chain, declared(name, kind))
    return call(secrets.KIND, auth=name, action=action, credentials=credentials, total_seconds=total_seconds)


@asynccontextmanager
async def open_secrets(folder: Path) -> AsyncIterator[Specimen]:
    async with raw_server(answer) as server, keychain(folder, environment(server.url)) as chain:
        yield Specimen(
            kind=secrets.KIND,
            make=secrets.make,
            hands=hands(),
            good=asked(chain, "fixed", "get", "bearer"),
            expected={"name": "fixed", "kind": "bearer", "version": None, "expires_at": None, "renewed": False},
            final=asked(chain, "fixed", "rotate", "bearer"),
            retryable=asked(chain, "busy", "get"),
            late=asked(chain, "never", "get", total_seconds=0.2),
            endless=asked(chain, "never", "get"),
            is_under_way=lambda: bool(server.open),
            with_secret=tuple(
                asked(chain, name, action) for name in ("token", "busy") for action in ("get", "refresh", "rotate")
            ),
        )


SECRETS = Entry(name="secrets", open=open_secrets)
