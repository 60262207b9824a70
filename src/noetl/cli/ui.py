"""noetl ui: the web pages in a browser, over the local store or of a server."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click
import msgspec

from noetl.cli import exits
from noetl.cli.options import format_option, place_options, settings_of

if TYPE_CHECKING:
    from noetl.showing import Place

NO_BROWSER = "no browser could be started here"
SIGN_IN = "open {url} and sign in with the token in {origin}; --show-token prints an address that signs in by itself"


@click.command("ui")
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="PORT", help="The port of the server.  [default: a free one]"
)
@click.option("--no-browser", is_flag=True, help="Start no browser; say where the pages are.")
@click.option("--show-token", is_flag=True, help="Print an address that signs in whoever opens it.")
@place_options
@format_option
def command(
    port: int | None, no_browser: bool, show_token: bool, home: str | None, store: str | None, form: str
) -> int:
    """Open the web pages in a browser, signed in.

    A server of this home that runs already is used; else one is started, on this machine alone, and runs until Ctrl-C.
    With --server the pages of that server are opened. Exit code: 0 done, 1 no browser came.

    Example: noetl ui
    """
    from noetl import showing

    settings = settings_of(home, store)

    def show(place: Place) -> None:
        tell(place, show_token, form)
        if not no_browser:
            threading.Thread(target=send, args=(place,), daemon=True).start()

    place = showing.found_place(settings, port)
    if place is None:
        return showing.run_place(settings, port, show)
    tell(place, show_token, form)
    return exits.DONE if no_browser or send(place) else exits.FAILED


def tell(place: Place, show_token: bool, form: str) -> None:
    """Where the pages are; how to get in is said only where nobody is let in anyway."""
    address = place.signed_url if show_token else place.url
    if form == "json":
        origin = place.token.origin if place.token else None
        facts = {"url": address, "token_from": origin, "is_started": place.is_started, "pid": place.pid}
        click.echo(msgspec.json.encode(facts).decode())  # one line: whoever reads it need not wait for the end
        return
    click.echo(f"the pages are at {address}")
    if place.token is None:
        click.echo(f"they ask for a token: {place.why_none}", err=True)
    elif not show_token:
        click.echo(f"the token to sign in with is in {place.token.origin}", err=True)
    if place.is_started:
        click.echo("the server runs until Ctrl-C", err=True)


def send(place: Place) -> bool:
    from noetl.showing import send_browser

    if send_browser(place):
        return True
    origin = place.token.origin if place.token else "…"
    click.echo(f"{NO_BROWSER}: {SIGN_IN.format(url=place.url, origin=origin)}", err=True)
    return False
