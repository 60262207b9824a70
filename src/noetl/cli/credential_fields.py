"""The fields of a credential, from wherever a secret may come: standard input, a file, a prompt that shows nothing.

Never from an argument: that would be in the shell's history and in the list of processes. So nothing that was given as
an argument in place of a file is ever repeated in a message; it may be the secret itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from noetl.cli.files import STANDARD_INPUT
from noetl.dsl.findings import did_you_mean, listed, printable
from noetl.safekeeping import CredentialKind, shortfall, unknown_fields

INPUT_BYTES_MAX = 64 * 1024
FIELD_CHARACTERS_MAX = 100
FROM_FILE = "@"
NOT_AN_ARGUMENT = "an argument stays in the shell's history and is seen in the list of processes"
STRUCTURED = ("params",)  # fields that are mappings
NOT_ASKED_FOR = frozenset(
    "params sslmode sslrootcert sslcert sslkey options audience nkey creds ca tls".split()
)  # rare

Read = Callable[[], str]


def given_fields(kind: CredentialKind, from_json: str | None, words: Sequence[str]) -> dict[str, Any]:
    """The fields as --from-json or --field give them; without either, as somebody types them."""
    if from_json is not None and words:
        raise click.UsageError("--from-json and --field cannot be used together")
    if from_json is not None:
        fields = of_json(from_json)
    elif words:
        fields = of_words(kind, words)
    elif sys.stdin.isatty():
        fields = of_prompts(kind)
    else:
        raise click.UsageError(
            "give the fields: --from-json - or FILE, or --field NAME=- ; on a terminal they are asked for"
        )
    check_fields(kind, fields)
    return fields


# --- --from-json -----------------------------------------------------------------------------------------------------


def of_json(source: str) -> dict[str, Any]:
    if source.lstrip().startswith(("{", "[", '"')):
        raise click.UsageError(
            f"--from-json takes - (standard input) or a file, not the JSON itself: {NOT_AN_ARGUMENT}. "
            "Write it to a file that only you can read, or pipe it in; a secret that was typed here should be changed"
        )
    text = read_input() if source == STANDARD_INPUT else read_file(source, "--from-json")
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):  # the decoder's words could show a part of it
        raise click.UsageError('what --from-json reads must be a JSON mapping, such as {"token": "…"}') from None


def read_input() -> str:
    return as_text(sys.stdin.buffer.read(INPUT_BYTES_MAX + 1), "standard input")


def read_file(name: str, option: str) -> str:
    try:
        with Path(name).open("rb") as file:
            return as_text(file.read(INPUT_BYTES_MAX + 1), f"the file of {option}")
    except OSError as error:
        raise click.UsageError(
            f"the file of {option} cannot be read: {error.strerror or type(error).__name__}"
        ) from None


def as_text(data: bytes, what: str) -> str:
    if len(data) > INPUT_BYTES_MAX:
        raise click.UsageError(f"{what} may have {INPUT_BYTES_MAX} bytes, but has more")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError(f"{what} is not UTF-8 text") from None


# --- --field ---------------------------------------------------------------------------------------------------------


def of_words(kind: CredentialKind, words: Sequence[str]) -> dict[str, Any]:
    """name=- from standard input (a line each, if several), name=@FILE, and name=value where that is no secret."""
    pairs = [word.partition("=") for word in words]
    if not all(name and equals for name, equals, _ in pairs):
        raise click.UsageError("--field takes NAME=- (standard input), NAME=@FILE, or NAME=VALUE for what is no secret")
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise click.UsageError("--field gives a field once, but one of them is given twice")
    read = input_reader(sum(source == STANDARD_INPUT for _, _, source in pairs))
    return {name: of_source(kind, name, source, read) for name, _, source in pairs}


def of_source(kind: CredentialKind, name: str, source: str, read: Read) -> str:
    if source == STANDARD_INPUT:
        return read()
    if source.startswith(FROM_FILE):
        return without_line_end(read_file(source.removeprefix(FROM_FILE), f"--field {printable(name)}"))
    if kind.is_secret(name) or "@" in source.partition("://")[2]:
        raise click.UsageError(
            f'the field "{printable(name)}" is secret, so its value is no argument: {NOT_AN_ARGUMENT}. '
            f"Write --field {printable(name)}=- and pipe it in, or {printable(name)}=@FILE; change what was typed here"
        )
    return source


def input_reader(count: int) -> Read:
    """Standard input for so many fields: all of it for one, a line for each of several; on a terminal, unseen."""
    if sys.stdin.isatty():
        from getpass import getpass

        return lambda: getpass("value (not shown): ")
    text = read_input() if count else ""
    whole = without_line_end(text)
    lines = iter([whole] if count == 1 else [line.removesuffix("\r") for line in whole.split("\n")])

    def read() -> str:
        line = next(lines, None)
        if line is None:
            raise click.UsageError(f"standard input must have a line for each of the {count} fields, but has fewer")
        return line

    return read


def without_line_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


# --- prompts ---------------------------------------------------------------------------------------------------------


def of_prompts(kind: CredentialKind) -> dict[str, Any]:
    """Ask for what the kind needs: the first of its sets whose first field is not left empty; then for the rest."""
    fields: dict[str, Any] = {}
    for number, group in enumerate(kind.needs, 1):
        others = f"; empty: {', '.join(kind.needs[number])} instead" if number < len(kind.needs) else ""
        fields = {group[0]: asked(kind, group[0], others)}
        if fields[group[0]]:
            fields |= {name: asked(kind, name) for name in group[1:]}
            break
    if "dsn" not in fields:
        fields |= {name: asked(kind, name, "; may be empty") for name in kind.may_have if name not in NOT_ASKED_FOR}
    return {name: value for name, value in fields.items() if value}


def asked(kind: CredentialKind, name: str, more: str = "") -> str:
    if not kind.is_secret(name):
        answer: str = click.prompt(
            f"{name}{f' ({more[2:]})' if more else ''}", default="", show_default=False, err=True
        )
        return answer
    from getpass import getpass

    return getpass(f"{name} (not shown{more}): ")


# --- what must hold --------------------------------------------------------------------------------------------------


def check_fields(kind: CredentialKind, fields: Mapping[str, Any]) -> None:
    """Refuse what is no such credential; names of fields are shown, values never."""
    for name in unknown_fields(kind, fields):
        advice = did_you_mean(name, kind.fields, f"it has: {listed(kind.fields)}")
        raise click.UsageError(f'a {kind.name} has no field "{printable(name[:FIELD_CHARACTERS_MAX])}"; {advice}')
    for name, value in fields.items():
        may_be_mapping = kind.is_open or name in STRUCTURED
        if not (isinstance(value, str | int | float) or (may_be_mapping and isinstance(value, dict | list))):
            raise click.UsageError(f'the field "{printable(name)}" must be a text or a number')
        if not name or len(name) > FIELD_CHARACTERS_MAX:
            raise click.UsageError(f"the name of a field has 1 to {FIELD_CHARACTERS_MAX} characters")
    if short := shortfall(kind, fields):
        raise click.UsageError(short)
