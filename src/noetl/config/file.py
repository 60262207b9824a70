"""noetl.toml: its values by key, each with the line it stands in. A key that is no setting is an error."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from noetl.config.values import Given
from noetl.errors import RequestError

FILE_BYTES_MAX = 1024 * 1024


def read_file(file: Path, known: Collection[str]) -> dict[str, Given]:
    """The values of a file; `known`: the keys that are settings."""
    import tomllib

    with file.open("rb") as stream:
        data = stream.read(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise RequestError(f"{file} may have {FILE_BYTES_MAX} bytes, but has more")
    try:
        text = data.decode("utf-8")
        table = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise RequestError(f"{file} is not TOML: {error}") from None
    found = Written(file, text, known).flat(table)
    return {key: Given(key, value, f"{file}{line_of(text, key)}", file.parent) for key, value in found}


class Written(msgspec.Struct, frozen=True):
    """What stands in a file."""

    file: Path
    text: str
    known: Collection[str]

    def flat(self, table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
        """The values of nested tables under their dotted keys."""
        found: list[tuple[str, Any]] = []
        for name, value in table.items():
            key = f"{prefix}{name}"
            if key in self.known:
                found.append((key, value))
            elif isinstance(value, dict) and any(known.startswith(f"{key}.") for known in self.known):
                found += self.flat(value, f"{key}.")
            else:
                where = f"{self.file}{line_of(self.text, key)}"
                raise RequestError(f'{where}: there is no setting "{key}"; {advice(key, self.known)}')
        return found


def line_of(text: str, key: str) -> str:
    """`:3`, where a line begins with the key or its last part; else nothing. For messages, so near is good enough."""
    words = (key, key.rpartition(".")[2])
    for number, line in enumerate(text.splitlines(), 1):
        if line.partition("=")[0].strip().strip("\"'[]") in words:
            return f":{number}"
    return ""


def advice(key: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, known, n=1)
    return f'did you mean "{near[0]}"?' if near else f"the settings are: {', '.join(known)}"
