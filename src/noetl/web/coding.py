"""The bytes of an answer as they come off the wire, decoded under a cap.

Pieces in, decoded pieces out, none of them kept. What a server sends is from a stranger: the decoded size is capped,
and so is the ratio by which a compressed body grows, so that a few bytes cannot fill a worker's memory or disk.
Decoding is done here and not by the HTTP library because only here both sizes are known while it happens.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

RATIO_MAX = 100
RATIO_BYTES_FREE = 1024 * 1024  # a body this small may have any ratio
PIECE_BYTES_MAX = 64 * 1024
ACCEPTED = "gzip, deflate"

_WINDOW_ANY = 32 + zlib.MAX_WBITS  # gzip or zlib, as the first bytes say
_WINDOW_RAW = -zlib.MAX_WBITS
_MEMBER_START = b"\x1f"


class OverLimit(Exception):
    """The answer is larger than it may be."""


class Undecodable(Exception):
    """The answer is not coded as its headers say."""


class BodyDecoder:
    """Decodes one body: every piece through `decoded`, then `finish`."""

    def __init__(self, coding: str, bytes_max: int) -> None:
        self.is_coded = bool(coding) and _is_compressed(coding)
        self._bytes_max = bytes_max
        self._decoded_bytes = 0
        self._coded_bytes = 0
        if self.is_coded:
            self._inflater = zlib.decompressobj(_WINDOW_ANY)
            self._is_first = True

    def expect(self, content_bytes: int | None) -> None:
        """Refuse at once what says of itself that it is too large."""
        if content_bytes is not None and not self.is_coded:
            self._check_size(content_bytes)

    def decoded(self, piece: bytes) -> Iterator[bytes]:
        """What a piece comes to, in steps of at most PIECE_BYTES_MAX if it was compressed."""
        if not self.is_coded:
            yield self.counted(piece)
            return
        self._coded_bytes += len(piece)
        try:
            for inflated in self._inflate(piece):
                yield self.counted(inflated)
        except zlib.error:
            raise Undecodable("the answer says that it is compressed, but cannot be decompressed") from None

    def finish(self) -> None:
        """Refuse a body that ended too early."""
        if self._coded_bytes and not self._inflater.eof:
            raise Undecodable("the answer ended in the middle of its compressed body")

    def _inflate(self, piece: bytes) -> Iterator[bytes]:
        """Decode one piece in bounded steps; a gzip body may have several members, and padding after the last."""
        is_more = bool(piece)
        while is_more:
            if self._inflater.eof:
                if not piece.startswith(_MEMBER_START):
                    return
                self._inflater = zlib.decompressobj(_WINDOW_ANY)
            decoded = self._step(piece)
            yield decoded
            piece = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
            is_held_back = len(decoded) == PIECE_BYTES_MAX and not self._inflater.eof
            is_more = bool(piece) or is_held_back

    def _step(self, piece: bytes) -> bytes:
        is_first, self._is_first = self._is_first, False
        try:
            return self._inflater.decompress(piece, PIECE_BYTES_MAX)
        except zlib.error:
            if not is_first:
                raise
        self._inflater = zlib.decompressobj(_WINDOW_RAW)  # "deflate" without its header, as some servers send it
        return self._inflater.decompress(piece, PIECE_BYTES_MAX)

    def counted(self, piece: bytes) -> bytes:
        """A piece of a body that is not compressed, or not any more."""
        self._decoded_bytes += len(piece)
        self._check_size(self._decoded_bytes)
        if self.is_coded and self._decoded_bytes > max(RATIO_BYTES_FREE, RATIO_MAX * self._coded_bytes):
            raise OverLimit(f"the answer grew to more than {RATIO_MAX} times its compressed size; it was not read on")
        return piece

    def _check_size(self, found_bytes: int) -> None:
        if found_bytes > self._bytes_max:
            raise OverLimit(
                f"the answer may have {self._bytes_max} bytes, but has more; raise spec.max_response_bytes, "
                "ask for less at a time, or store the body unread with spec.stream"
            )


def _is_compressed(coding: str) -> bool:
    """Whether a Content-Encoding is one that has to be undone; raises Undecodable for one that nobody here can undo."""
    words = [word for word in coding.lower().replace(" ", "").split(",") if word not in ("", "identity")]
    if len(words) > 1 or not set(words) <= {"gzip", "x-gzip", "deflate"}:
        raise Undecodable(f"the answer is coded as {coding[:40]}; understood are {ACCEPTED}")
    return bool(words)
