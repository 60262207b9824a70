"""What is to be run: a file, standard input, or a playbook of the catalog."""

from __future__ import annotations

from pathlib import Path

import msgspec

from noetl.cli.files import STANDARD_INPUT, read_bytes, shown_name
from noetl.dsl.findings import printable

VERSION_DIGITS_MAX = 9


class Target(msgspec.Struct, frozen=True):
    """A playbook as somebody named it: its text, or its place in the catalog."""

    name: str  # for messages
    data: bytes | None = None
    folder: str = ""  # of the file
    path: str | None = None
    version: int | None = None


def target_of(word: str) -> Target:
    """A file if there is one of that name, else PATH[@VERSION] of the catalog."""
    if word == STANDARD_INPUT:
        return Target(shown_name(word), read_bytes(word), str(Path.cwd()))
    file = Path(word)
    if file.exists() and not file.is_dir():  # a pipe, such as /dev/fd/63 of <(…), is read too
        return Target(shown_name(word), read_bytes(word), str(file.absolute().parent))
    if file.is_dir():
        import click  # only to refuse: a run of a file does without

        raise click.UsageError(f'"{printable(word)}" is a folder; name one playbook file in it')
    path, version = catalog_name(word)
    return Target(word, path=path, version=version)


def catalog_name(word: str) -> tuple[str, int | None]:
    """PATH[@VERSION]; without a version the newest is meant."""
    path, at, version = word.rpartition("@")
    if not at:
        return word, None
    if not path or not (version.isascii() and version.isdigit() and 0 < len(version) <= VERSION_DIGITS_MAX):
        import click

        raise click.UsageError(
            f'"{printable(word)}" is no file, and as a name in the catalog it is PATH@VERSION with a number for a '
            "version, such as reports/daily@3"
        )
    return path, int(version)
