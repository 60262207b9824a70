"""Where the code of a python task comes from: its own text, a file beside its playbook, or the web (UP-02).

A call in, the code and what its lines are lines of out; or `Refused`. Code from the web comes through the one guarded
client. Over plain http anybody on the way could change it, so there the author must say its sha256; over https that is
the author's choice. What is pinned is fetched once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import msgspec

from noetl.tools.beside import find_file, read_text
from noetl.tools.contract import Call, ToolSettings
from noetl.tools.refused import Refused

if TYPE_CHECKING:
    from noetl.web.client import Client

CODE_BYTES_MAX = 1024 * 1024
PINNED_MAX = 64
FILE, HTTP = "file", "http"
CODE_NAME = "the code"  # of a task's own text
SHA256 = re.compile(r"[0-9a-f]{64}")
WANTED = "script must be the path of a file, or {uri, source: {type: file or http}}"


class Code(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    name: str  # what its lines are lines of


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A script as its author names it."""

    uri: str
    kind: str = FILE
    headers: dict[str, str] = {}
    sha256: str | None = None

    @property
    def name(self) -> str:
        return PurePosixPath(urlsplit(self.uri).path).name or "the script"


class Sources:
    """Finds code; keeps what was fetched and is pinned."""

    def __init__(self, settings: ToolSettings) -> None:
        self._settings = settings
        self._pinned: dict[str, str] = {}
        self._client: Client | None = None

    async def code_of(self, call: Call) -> Code:
        code = call.input.get("code")
        if code is None:
            script = script_of(call.input.get("script"))
            return await self._fetched(script, call) if script.kind == HTTP else self._read(script.uri, call.folder)
        if not isinstance(code, str):
            raise Refused("type", f"code must be text, but is {type(code).__name__}")
        return Code(text=code, name=CODE_NAME)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _read(self, path: str, folder: Path | None) -> Code:
        if not path.endswith(".py"):
            raise Refused("type", f'script must be a .py file, but is "{path}"')
        file = find_file(path, folder, self._settings.script_roots)
        return Code(text=read_text(file, CODE_BYTES_MAX), name=file.name)

    async def _fetched(self, script: Script, call: Call) -> Code:
        if script.sha256 in self._pinned:
            return Code(text=self._pinned[script.sha256], name=script.name)
        from noetl.tools.web_files import fetch_file, open_client  # brings aiohttp, which few python tasks need

        self._client = self._client or open_client(self._settings)
        is_pinned = script.sha256 is not None  # else a redirect could lead from https to plain http
        body = await fetch_file(
            self._client, script.uri, script.headers, call, follows_redirects=is_pinned, bytes_max=CODE_BYTES_MAX
        )
        text = checked_text(script, body)
        if script.sha256:
            if len(self._pinned) >= PINNED_MAX:
                self._pinned.clear()
            self._pinned[script.sha256] = text
        return Code(text=text, name=script.name)


def script_of(script: object) -> Script:
    """A script written as text or as {uri, source: {type, …}}."""
    source: Mapping[str, Any] = {}
    if isinstance(script, Mapping):
        given = script.get("source") or {}
        source = given if isinstance(given, Mapping) else {"type": given}
        script = script.get("uri")
    if not isinstance(script, str) or not script:
        raise Refused("type", WANTED)
    kind = source.get("type", FILE)
    if kind == FILE:
        return Script(uri=script.removeprefix("file://"))
    if kind != HTTP:
        raise Refused("type", f'script.source.type must be "{FILE}" or "{HTTP}", but is "{str(kind)[:40]}"')
    return _web_script(script, source)


def _web_script(uri: str, source: Mapping[str, Any]) -> Script:
    endpoint = source.get("endpoint")
    if endpoint:
        uri = urljoin(f"{str(endpoint).rstrip('/')}/", uri)
    sha256, headers = source.get("sha256"), source.get("headers") or {}
    if sha256 is not None and not (isinstance(sha256, str) and SHA256.fullmatch(sha256)):
        raise Refused("type", "script.source.sha256 must be 64 hexadecimal digits in lower case")
    if not isinstance(headers, Mapping) or not all(isinstance(value, str) for value in headers.values()):
        raise Refused("type", "script.source.headers must be a mapping of names to texts")
    if sha256 is None and not uri.lower().startswith("https://"):
        raise Refused(
            "type", "script from the web must come over https, or say what it is with script.source.sha256: code is run"
        )
    return Script(uri=uri, kind=HTTP, headers={str(name): value for name, value in headers.items()}, sha256=sha256)


def checked_text(script: Script, body: bytes) -> str:
    """A fetched script as text, if it is the one that was meant."""
    found = hashlib.sha256(body).hexdigest()
    if script.sha256 not in (None, found):
        raise Refused("type", f"{script.name} has the sha256 {found}, but script.source.sha256 is {script.sha256}")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused("type", f"{script.name} is not UTF-8 text (byte {error.start})") from error
