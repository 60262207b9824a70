"""A field that says where its value is: {env: VARIABLE} or {file: /path}. Looked up at each use, so changes count.

In: the fields of a Credential document, and the environment. Out: the same with values, or a LookupError that names the
variable or the file and shows nothing of what is in it. A file's value is its text without the last line end.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noetl.keychain.key_variable import VARIABLE as KEYS_VARIABLE
from noetl.keychain.plain_files import read_plain_file, text_of

ENV, FILE = "env", "file"
VALUE_BYTES_MAX = 64 * 1024


def with_values(name: str, fields: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """The fields of credential `name`, each reference in them replaced by what it refers to. Reads files."""
    return {field: _value(f'"{field}" of credential "{name}"', held, environ) for field, held in fields.items()}


def with_absolute_files(fields: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Relative files are relative to the folder of the document that names them."""
    return {
        field: {FILE: os.path.normpath(folder / held[FILE])} if isinstance(held, dict) and FILE in held else held
        for field, held in fields.items()
    }


def _value(what: str, held: Any, environ: Mapping[str, str]) -> Any:
    if not isinstance(held, dict):
        return held
    if ENV in held:
        return _of_variable(what, str(held[ENV]), environ)
    return _of_file(what, Path(str(held.get(FILE))))


def _of_variable(what: str, variable: str, environ: Mapping[str, str]) -> str:
    if variable == KEYS_VARIABLE:
        raise LookupError(f"{what} may not be taken from {KEYS_VARIABLE}, which holds the keys of the keychain itself")
    found = environ.get(variable)
    if not found:
        raise LookupError(f"{what} is taken from the variable {variable}, which is not set here")
    return found


def _of_file(what: str, path: Path) -> str:
    try:
        data, _ = read_plain_file(path, VALUE_BYTES_MAX)
    except OSError as fault:
        reason = fault.strerror or type(fault).__name__
        raise LookupError(f"{what} is taken from the file {path}, which cannot be read: {reason}") from None
    text = text_of(data, VALUE_BYTES_MAX, f"{what} is taken from the file {path}, which")
    if not text:
        raise LookupError(f"{what} is taken from the file {path}, which is empty")
    return text
