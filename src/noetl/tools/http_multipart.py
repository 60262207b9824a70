"""A multipart body out of `files` and `form`: bytes, or an upload if a part is a reference (http_body.py).

Its boundary comes from what is in it, so that a retry sends the same bytes. Names are written as browsers write them:
UTF-8 between quotes. RFC 7578 forbids the other spelling, filename*, in forms.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from noetl.references import Reference, reference_of
from noetl.tools.contract import Results
from noetl.tools.http_pairs import mapping, pairs
from noetl.web.guard import Refused
from noetl.web.messages import Upload, checked_header

PARTS_MAX = 10_000
LINE_END = b"\r\n"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part: its head, and what it holds."""

    head: bytes
    content: bytes | Reference

    @property
    def mark(self) -> bytes:
        """What tells its content from any other."""
        if isinstance(self.content, Reference):
            return (self.content.sha256 or self.content.locator).encode()
        return self.content


def multipart(files: object, form: object, results: Results) -> tuple[str, bytes | Upload]:
    """Content type and body."""
    parts = [_part(name, {"content": text}) for name, text in pairs("form", form)]
    parts += [_part(name, part) for name, part in _named_parts(files)]
    if len(parts) > PARTS_MAX:
        raise Refused(f'"files" and "form" may have {PARTS_MAX} parts, but have {len(parts)}')
    marks = b"".join(piece for part in parts for piece in (part.head, part.mark))
    boundary = f"noetl-{hashlib.sha256(marks).hexdigest()[:32]}"
    line = f"--{boundary}".encode()
    content_type = f"multipart/form-data; boundary={boundary}"
    if not any(isinstance(part.content, Reference) for part in parts):
        return content_type, b"".join(piece for piece in _framed(parts, line) if isinstance(piece, bytes))
    return content_type, Upload(open=lambda: _read(parts, line, results), length=_length(parts, line))


def _framed(parts: Sequence[Part], line: bytes) -> Iterator[bytes | Reference]:
    """What is sent, in order; a reference stands for its payload."""
    for part in parts:
        yield line + LINE_END + part.head + LINE_END * 2
        yield part.content
        yield LINE_END
    yield line + b"--" + LINE_END


async def _read(parts: Sequence[Part], line: bytes, results: Results) -> AsyncIterator[bytes]:
    for piece in _framed(parts, line):
        if isinstance(piece, Reference):
            async for chunk in results.stream(piece):
                yield chunk
        else:
            yield piece


def _length(parts: Sequence[Part], line: bytes) -> int | None:
    length = 0
    for piece in _framed(parts, line):
        piece_bytes = piece.bytes if isinstance(piece, Reference) else len(piece)
        if piece_bytes is None:
            return None
        length += piece_bytes
    return length


def _named_parts(files: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each name and its part: of a list of parts with names, or of a mapping, where a list repeats its name."""
    if isinstance(files, list):
        for part in files:
            if not isinstance(part, Mapping) or not isinstance(part.get("name"), str):
                raise Refused('"files" as a list must be of {name, content} or {name, ref}, with a filename if need be')
            yield part["name"], _checked_part(part["name"], part)
        return
    for name, value in mapping("files", files).items():
        for part in value if isinstance(value, list) else (value,):
            yield str(name), _checked_part(str(name), part)


def _checked_part(name: str, part: object) -> Mapping[str, Any]:
    if isinstance(part, str) or referred(part):
        return {"content": part, "filename": name}
    if isinstance(part, Mapping) and ("content" in part) != ("ref" in part):
        content = part["content"] if "content" in part else part["ref"]
        if "ref" in part and referred(content) is None:
            raise Refused(f'"files.{name}.ref" must be a reference, such as {{{{ fetch.ref }}}}')
        return {"filename": name, **part, "content": content}
    raise Refused(f'"files.{name}" must be text, a reference, or {{content, filename, content_type}}')


def _part(name: str, part: Mapping[str, Any]) -> Part:
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    reference = referred(part["content"])
    if "filename" in part:
        default = reference.content_type if reference else "application/octet-stream"
        content_type = checked_header("Content-Type", str(part.get("content_type") or default))
        head += f'; filename="{_quoted(str(part["filename"]))}"\r\nContent-Type: {content_type}'
    return Part(head=head.encode(), content=reference or content_of(f"files.{name}", part["content"]))


def _quoted(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def referred(value: object) -> Reference | None:
    """The reference that a value is, or that it holds under `ref`, as the output of a task does."""
    if isinstance(value, Mapping) and set(value) == {"ref"}:
        value = value["ref"]
    return reference_of(value)


def content_of(where: str, content: object) -> bytes:
    """Text as UTF-8; {base64: …}, as an answer gives bytes, as those bytes; null as nothing; other data as JSON."""
    if content is None:
        return b""
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, Mapping) and isinstance(content.get("base64"), str):
        try:
            return base64.b64decode(content["base64"], validate=True)
        except binascii.Error:
            raise Refused(f'"{where}" has a base64 that is none') from None
    return msgspec.json.encode(content)
