"""The web pages, shown: a server is found or started, and a browser is sent to it, signed in.

Comes in: settings, and what the command line asks. Goes out: a `Place`, and a browser that has been there. The token
reaches the browser neither by its command line, which every user of the machine can read, nor by a file: the browser
is sent to a door on this machine that opens once and within a minute. Its answer says where to go on, with the token
in the fragment, which no server is ever told and which the page takes off its address at once.
"""

from __future__ import annotations

import os
import secrets
import threading
import webbrowser
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import monotonic
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from msgspec.structs import replace

from noetl import clictl
from noetl.config import Settings
from noetl.daemons.places import shown_url
from noetl.errors import RequestError, TokenUnusable
from noetl.remote.line import Token, token_of

PAGES = "/ui/"
LOOPBACK = "127.0.0.1"
DOOR_SECONDS_MAX = 60.0
ASK_SECONDS_MAX = 5.0  # for one request at the door
LOOK_SECONDS = 0.25
QUIET, USUAL = "warning", "info"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pages are, and what opens them."""

    url: str  # of the pages
    token: Token | None  # None: they ask for one
    why_none: str = ""
    pid: int | None = None  # of a server of this machine
    is_started: bool = False  # by this command, and it ends with it

    @property
    def signed_url(self) -> str:
        """The address that signs in whoever opens it."""
        return f"{self.url}#token={quote(self.token.secret.reveal(), safe='')}" if self.token else self.url


Show = Callable[[Place], None]


def found_place(settings: Settings, port: int | None) -> Place | None:
    """The server that was named, or one of this home, over this store, that answers; None: none runs."""
    if settings.server_url:
        return place_of(settings, settings.server_url)
    store = shown_url(settings.store_url)
    for row in clictl.servers(settings, None):
        if row["answers"] and row["store"] == store and port in (None, row["port"]):
            return place_of(settings, str(row["url"]), pid=row["pid"])
    return None


def place_of(settings: Settings, server_url: str, **facts: Any) -> Place:
    parts = urlsplit(server_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RequestError(f'a server\'s address is http://HOST:PORT or https://HOST, and not "{server_url}"')
    url = server_url.rstrip("/") + PAGES
    try:
        return Place(url=url, token=token_of(replace(settings, server_url=server_url)), **facts)
    except TokenUnusable as error:
        return Place(url=url, token=None, why_none=str(error), **facts)


def run_place(settings: Settings, port: int | None, show: Show) -> int:
    """Be a server on this machine alone until a signal ends it; `show` is told once it answers."""
    level = QUIET if settings.log_level == USUAL else settings.log_level  # a person looks at pages, not at its log
    alone = replace(
        settings,
        server_host=LOOPBACK,
        server_port=port or 0,
        server_tls_cert=None,
        server_tls_key=None,
        log_level=level,
    )
    return clictl.run_server(alone, on_ready=lambda url: show(place_of(alone, url, pid=os.getpid(), is_started=True)))


# --- a browser -------------------------------------------------------------------------------------------------------


def send_browser(place: Place) -> bool:
    """Start a browser and wait until it has been at the door; False: none could be started, or none came."""
    door = Door(place.signed_url)
    with HTTPServer((LOOPBACK, 0), partial(Doorman, door)) as listening:
        address = f"http://{LOOPBACK}:{listening.server_port}/{door.word}"
        threading.Thread(target=door.start_browser, args=(address,), daemon=True).start()
        listening.timeout = LOOK_SECONDS
        until = monotonic() + DOOR_SECONDS_MAX
        while not door.was_used and not door.is_hopeless and monotonic() < until:
            listening.handle_request()
    return door.was_used


class Door:
    """Opens once, for whoever knows the word."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.word = secrets.token_urlsafe(32)
        self.was_used = False
        self.is_hopeless = False  # there is no browser that could come

    def start_browser(self, address: str) -> None:
        if not webbrowser.open(address):
            self.is_hopeless = True

    def opened(self, path: str) -> str | None:
        if self.was_used or not secrets.compare_digest(path.encode(), f"/{self.word}".encode()):
            return None
        self.was_used = True
        return self.target


class Doorman(BaseHTTPRequestHandler):
    """Answers at a door."""

    timeout = ASK_SECONDS_MAX

    def __init__(self, door: Door, *given: Any) -> None:
        self.door = door
        super().__init__(*given)

    def do_GET(self) -> None:
        target = self.door.opened(self.path)
        self.send_response(HTTPStatus.SEE_OTHER if target else HTTPStatus.NOT_FOUND)
        if target:
            self.send_header("Location", target)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: its lines would hold the word."""
