"""Options that the verbs about executions share, and what they stand for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from noetl.config import Settings, load

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def store_options(function: Decorated) -> Decorated:
    """--home and --store."""
    function = click.option("--store", metavar="URL", help="The store: sqlite:///file.db.  [default: in the home]")(
        function
    )
    return click.option("--home", metavar="DIR", help="Where data lives.  [default: the nearest .noetl/, else yours]")(
        function
    )


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
    """The settings that hold where the user stands."""
    return load(home=home, store=store, environ=os.environ, folder=Path.cwd())
