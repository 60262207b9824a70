"""Known secrets out of data: whatever is to be written goes in, the same without them comes out.

By exact value, never by name: a name tells nothing about its value, and a redactor that goes by names has destroyed
credential aliases elsewhere. Each secret is looked for as it is and as it is commonly written: inside JSON, in a URL,
in base64 at any of its three alignments (so in `user:password`, too). Short values are left alone: they would match
everywhere.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

import msgspec

from noetl.keychain.secret import MASK, Secret

SECRET_CHARACTERS_MIN = 6
BASE64_CHARACTERS_MIN = 8  # of what remains when the neighbours' bits are cut off
DEPTH_MAX = 200

T = TypeVar("T")
_ESCAPE = re.compile("%[0-9A-F]{2}")


class TooDeep(ValueError):
    """Data nested so deeply that it cannot be searched, and so must not be written."""


class Redactor:
    """Finds all known secrets in one pass over each text."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if len(secret) >= SECRET_CHARACTERS_MIN for form in forms_of(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def clean(self, data: T) -> T:
        """The same data without secrets; the same object if there were none."""
        if self._pattern is None:
            return data
        cleaned: T = self._clean(data, 0)
        return cleaned

    def _clean(self, value: Any, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise TooDeep(f"data may be nested {DEPTH_MAX} levels deep")
        if isinstance(value, str):
            return self._clean_text(value)
        if isinstance(value, dict):
            return self._clean_mapping(value, depth)
        if isinstance(value, list | tuple):
            return self._clean_items(value, depth)
        if isinstance(value, bytes | bytearray):
            return self._clean_bytes(bytes(value))
        if isinstance(value, msgspec.Struct):
            return self._clean_struct(value, depth)
        return MASK if isinstance(value, Secret) else value

    def _clean_text(self, text: str) -> str:
        pattern = self._pattern
        return text if pattern is None or pattern.search(text) is None else pattern.sub(MASK, text)

    def _clean_bytes(self, content: bytes) -> bytes:
        text = content.decode("utf-8", "surrogateescape")
        cleaned = self._clean_text(text)
        return content if cleaned is text else cleaned.encode("utf-8", "surrogateescape")

    def _clean_mapping(self, mapping: dict[Any, Any], depth: int) -> dict[Any, Any]:
        cleaned = {self._clean(name, depth): self._clean(value, depth + 1) for name, value in mapping.items()}
        is_same = all(map(_is_same_pair, mapping.items(), cleaned.items())) and len(mapping) == len(cleaned)
        return mapping if is_same else cleaned

    def _clean_items(self, items: list[Any] | tuple[Any, ...], depth: int) -> list[Any] | tuple[Any, ...]:
        cleaned = [self._clean(item, depth + 1) for item in items]
        if all(before is after for before, after in zip(items, cleaned, strict=True)):
            return items
        return tuple(cleaned) if isinstance(items, tuple) else cleaned

    def _clean_struct(self, struct: msgspec.Struct, depth: int) -> msgspec.Struct:
        """An Output, say: its fields."""
        changed = {}
        for name in struct.__struct_fields__:
            value = getattr(struct, name)
            cleaned = self._clean(value, depth + 1)
            if cleaned is not value:
                changed[name] = cleaned
        return msgspec.structs.replace(struct, **changed) if changed else struct


def _is_same_pair(before: tuple[Any, Any], after: tuple[Any, Any]) -> bool:
    return before[0] is after[0] and before[1] is after[1]


def forms_of(secret: str) -> Iterator[str]:
    """A secret as it may be written."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for in_url in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield in_url
        yield _ESCAPE.sub(lambda match: match[0].lower(), in_url)
    for alignment in range(3):
        for coded in _base64_forms(secret.encode("utf-8", "surrogatepass"), alignment):
            if len(coded) >= BASE64_CHARACTERS_MIN:
                yield coded


def _base64_forms(content: bytes, alignment: int) -> Iterator[str]:
    """The characters that base64 has for this content after so many other bytes, whatever those and the next are."""
    padded = bytes(alignment) + content
    first = (0, 2, 3)[alignment]
    last = len(padded) * 8 // 6  # the next character has bits of whatever follows
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        coded = encode(padded).decode("ascii")
        yield coded[first:last]
    if alignment == 0:
        yield base64.b64encode(content).decode("ascii")
