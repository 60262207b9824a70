"""Options that the verbs about executions share, and what they stand for."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from noetl.config import Settings, load

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
FLAGS = "noetl.flags"
SERVER_URL, TOKEN_FILE = "server.url", "server.token_file"
KEYS = {"--server": SERVER_URL, "--token-file": TOKEN_FILE}


def store_options(function: Decorated) -> Decorated:
    """--home and --store."""
    function = click.option("--store", metavar="URL", help="The store: sqlite:///file.db.  [default: in the home]")(
        function
    )
    return click.option("--home", metavar="DIR", help="Where data lives.  [default: the nearest .noetl/, else yours]")(
        function
    )


def server_options(function: Decorated) -> Decorated:
    """--server and --token-file: `settings_of` finds them, so that no verb has to pass them on."""
    option = partial(click.option, expose_value=False, callback=remember_flag)
    token = option("--token-file", metavar="FILE", help="The server's token.  [default: NOETL_TOKEN, else the home's]")
    server = option("--server", metavar="URL", help="Ask this server: https://noetl.example.com.  [default: none]")
    return server(token(function))


def place_options(function: Decorated) -> Decorated:
    """Where a verb works: on a store of this machine, or on a server."""
    return store_options(server_options(function))


def remember_flag(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        name = parameter.opts[0]
        context.meta.setdefault(FLAGS, {})[KEYS[name]] = (name, value)


def format_option(function: Decorated) -> Decorated:
    """--format text|json, as `form`."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For people, or one JSON document on standard output.",
    )(function)


def surface_options(function: Decorated) -> Decorated:
    """--legacy and --compat, as `check` has them."""
    function = click.option(
        "--compat", type=click.Choice(["upstream"]), help="Accept the spellings of the public NoETL."
    )(function)
    return click.option(
        "--legacy", is_flag=True, help="Accept the constructs of the oldest surface (eval, step.when, next lists)."
    )(function)


def wait_option(function: Decorated) -> Decorated:
    """--wait SECONDS, as `wait_seconds`."""
    return click.option(
        "--wait",
        "wait_seconds",
        type=click.FloatRange(min=0),
        default=0.0,
        metavar="SECONDS",
        help="How long to wait for a store that another process uses.",
    )(function)


def settings_of(home: str | None, store: str | None) -> Settings:
    """The settings that hold where the user stands. --store means this machine, whatever server the file names."""
    context = click.get_current_context(silent=True)
    flags = context.meta.get(FLAGS, {}) if context else {}
    if store is not None and SERVER_URL in flags:
        raise click.UsageError("--store is a store of this machine, and --server has one of its own: give one of them")
    settings = load(home=home, store=store, environ=os.environ, folder=Path.cwd(), flags=flags)
    return replace(settings, server_url="") if store is not None else settings
