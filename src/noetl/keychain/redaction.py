"""Known secrets out of data: whatever is to be written goes in, the same without them comes out.

By exact value, never by name: a name tells nothing about its value, and a redactor that goes by names has destroyed
credential aliases elsewhere. Each secret is looked for as it is and as it is commonly written: in small or capital
letters, inside JSON, in a URL, in hex, in base64 at any of its three alignments (so in `user:password`, too); of one
with several lines, such as a private key, each long line. Short values are left alone: they would match everywhere.

All texts of the data are searched at once (search.py), as they stand in a packed copy of it; where a form may be in
there, the texts are gathered, the forms that are there become a pattern, and what it finds is taken out. With none of
them the data is passed on as it is.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from noetl.keychain.search import FORM_CHARACTERS_MIN, SearchedForms
from noetl.secret import MASK, Secret

SECRET_CHARACTERS_MIN = FORM_CHARACTERS_MIN
BASE64_CHARACTERS_MIN = 8  # of what remains when the neighbours' bits are cut off
LINE_CHARACTERS_MIN = 16  # of a line that is a secret by itself
DEPTH_MAX = 200
ENCODING, ERRORS = "utf-8", "surrogateescape"  # whatever is not UTF-8 comes out as it went in
NOTHING = re.compile(r"(?!)")
LEAVES = frozenset((int, float, bool, type(None)))  # in which there is no text
CONTAINERS = bytes((*range(0x80, 0xA0), *range(0xDC, 0xE0)))  # what begins a list or mapping in MessagePack, and others

pack = msgspec.msgpack.Encoder().encode

T = TypeVar("T")
_ESCAPE = re.compile("%[0-9A-F]{2}")
# what stays as it is in a URL, by whoever writes it: quote, browsers, and HTTP clients in a query, a path, a whole URL
_KEPT_IN_URLS = ("", "/", "!'()*", "/?:@!$'()*,", "/:@!$&'()*+,;=", "/?:@!$&'()*+,;=#")


class TooDeep(ValueError):
    """Data nested so deeply that it cannot be searched, and so must not be written."""


class Redactor:
    """Finds all known secrets in a text; never changes, `knowing` gives another that knows more."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = [form for secret in secrets for form in forms_of(secret)]
        self._forms = SearchedForms.of(forms)
        self._packed_forms = SearchedForms.of(packed_forms(forms))
        self._searched: tuple[str, re.Pattern[str] | None] = ("", None)

    def knowing(self, secret: str) -> Redactor:
        """One that looks for this secret, too."""
        other = Redactor()
        forms = list(forms_of(secret))
        other._forms = self._forms.with_more(forms)
        other._packed_forms = self._packed_forms.with_more(packed_forms(forms))
        return other

    @property
    def form_characters_max(self) -> int:
        """The length of the longest form; 0: no secret is known."""
        return self._forms.characters_max

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Where the next secret begins and ends, the longest if several begin there; None: there is no more."""
        searched = self._searched
        if searched[0] is not text:  # whoever looks for the next one comes with the same text
            searched = self._searched = (text, self._pattern_of(text))
        pattern = searched[1]
        found = pattern.search(text, start) if pattern else None
        return found.span() if found else None

    def clean(self, data: T) -> T:
        """The same data without secrets; the same object if there were none."""
        if not self.form_characters_max or self._is_surely_clean(data):
            return data
        gathered = Gathering()
        gathered.add(data)
        pattern = self._pattern_of("\n".join(gathered.texts))
        if pattern is None and not gathered.has_sealed:
            return data
        cleaned: T = Cleaning(pattern or NOTHING).clean(data)
        return cleaned

    def _is_surely_clean(self, data: object) -> bool:
        """Whether no form is in some data, in any way, and the data is not deep. MessagePack has every text, and bytes,
        just as they are. Gathering all texts takes nearly three times as long for a page of ten rows."""
        try:
            packed = pack(data)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False
        containers_max = len(packed) - len(packed.translate(None, CONTAINERS))
        return containers_max <= DEPTH_MAX and not self._packed_forms.present(packed.decode("latin-1"))

    def clean_json(self, content: bytes) -> bytes:
        """JSON without secrets that still is JSON: ***4 in place of 1234564 is none, so numbers are left alone then."""
        cleaned = self.clean(content)
        if cleaned is content or _decoded(cleaned) is not msgspec.UNSET:
            return cleaned
        data = _decoded(content)
        return cleaned if data is msgspec.UNSET else msgspec.json.encode(self.clean(data))

    def _pattern_of(self, text: str) -> re.Pattern[str] | None:
        """Finds the secrets that are in this text; None: there are none."""
        present = self._forms.present(text)
        if not present:
            return None
        return re.compile("|".join(map(re.escape, sorted(present, key=lambda form: (-len(form), form)))))


class Gathering:
    """All texts of some data, and whether there are sealed ones as well."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.has_sealed = False

    def add(self, value: Any) -> None:
        self._add_all((value,), 0)

    def _add_all(self, values: Iterable[Any], depth: int) -> None:
        """Every event passes here: leaves are taken in this loop, since a call for each takes nearly twice as long
        (23 us against 14 for a page of ten rows)."""
        texts = self.texts
        for value in values:
            kind = type(value)
            if kind is str:
                texts.append(value)
            elif kind not in LEAVES:
                self._add_other(value, depth)

    def _add_other(self, value: Any, depth: int) -> None:
        inside: Iterable[Any] = ()
        if isinstance(value, dict):
            self._add_all(value, depth)
            inside = value.values()
        elif isinstance(value, list | tuple):
            inside = value
        elif isinstance(value, msgspec.Struct):
            inside = [getattr(value, name) for name in value.__struct_fields__]
        elif isinstance(value, str):
            self.texts.append(value)
        elif isinstance(value, bytes | bytearray):
            self.texts.append(value.decode(ENCODING, ERRORS))
        elif isinstance(value, Secret):
            self.has_sealed = True
        if inside:
            if depth >= DEPTH_MAX:
                raise TooDeep(f"data may be nested {DEPTH_MAX} levels deep")
            self._add_all(inside, depth + 1)


class Cleaning:
    """Takes what a pattern finds out of data that is known not to be too deep."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._clean_text(value)
        if isinstance(value, dict):
            return self._clean_mapping(value)
        if isinstance(value, list | tuple):
            return self._clean_items(value)
        if isinstance(value, bytes | bytearray):
            return self._clean_bytes(bytes(value))
        if isinstance(value, msgspec.Struct):
            return self._clean_struct(value)
        return MASK if isinstance(value, Secret) else value

    def _clean_text(self, text: str) -> str:
        cleaned, count = self._pattern.subn(MASK, text)
        return cleaned if count else text

    def _clean_bytes(self, content: bytes) -> bytes:
        text = content.decode(ENCODING, ERRORS)
        cleaned = self._clean_text(text)
        return content if cleaned is text else cleaned.encode(ENCODING, ERRORS)

    def _clean_mapping(self, mapping: dict[Any, Any]) -> dict[Any, Any]:
        cleaned = {self.clean(name): self.clean(value) for name, value in mapping.items()}
        is_same = all(map(_is_same_pair, mapping.items(), cleaned.items())) and len(mapping) == len(cleaned)
        return mapping if is_same else cleaned

    def _clean_items(self, items: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
        cleaned = [self.clean(item) for item in items]
        if all(before is after for before, after in zip(items, cleaned, strict=True)):
            return items
        return tuple(cleaned) if isinstance(items, tuple) else cleaned

    def _clean_struct(self, struct: msgspec.Struct) -> msgspec.Struct:
        """An Output, say: its fields."""
        changed = {}
        for name in struct.__struct_fields__:
            value = getattr(struct, name)
            cleaned = self.clean(value)
            if cleaned is not value:
                changed[name] = cleaned
        return msgspec.structs.replace(struct, **changed) if changed else struct


def packed_forms(forms: Iterable[str]) -> Iterator[str]:
    """Forms as they are found in MessagePack, byte by byte. What is no text at all cannot be packed either."""
    for form in forms:
        with suppress(UnicodeEncodeError):
            yield form.encode(ENCODING, ERRORS).decode("latin-1")


def _decoded(content: bytes) -> Any:
    """What JSON holds; UNSET: it is none."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.UNSET


def _is_same_pair(before: tuple[Any, Any], after: tuple[Any, Any]) -> bool:
    return before[0] is after[0] and before[1] is after[1]


def forms_of(secret: str) -> Iterator[str]:
    """A secret as it may be written; nothing of one that is too short."""
    if len(secret) < SECRET_CHARACTERS_MIN:
        return
    if secret != secret.strip():  # a line end at the end of a variable, which tasks cut off
        yield from forms_of(secret.strip())
    yield secret
    yield secret.lower()  # as a host name, or the name of a header, is written
    yield secret.upper()
    yield from _lines_of(secret)
    import json  # a run without secrets does without

    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    content = secret.encode("utf-8", "surrogatepass")
    for in_url in _url_forms(content):
        yield in_url
        yield _ESCAPE.sub(lambda match: match[0].lower(), in_url)
    yield content.hex()
    yield content.hex().upper()
    for alignment in range(3):
        for coded in _base64_forms(content, alignment):
            if len(coded) >= BASE64_CHARACTERS_MIN:
                yield coded


def _url_forms(content: bytes) -> Iterator[str]:
    """A secret in a URL, where a space is %20 or +."""
    for kept in _KEPT_IN_URLS:
        in_url = quote(content, safe=kept)
        yield in_url
        yield in_url.replace("%20", "+")


def _lines_of(secret: str) -> Iterator[str]:
    """The lines of a private key, say, that are secret by themselves; -----BEGIN … is none."""
    if "\n" in secret:
        for line in map(str.strip, secret.splitlines()):
            if len(line) >= LINE_CHARACTERS_MIN and not line.startswith("-----"):
                yield line


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
