"""Known secrets out of a payload that comes in pieces: what is too large to be held is cleaned as it passes.

Pieces in, the same bytes without secrets out, in pieces of about the same size. However the payload is cut, the result
is that of cleaning it whole: the end of what has come is held back, as far as a secret could begin there and end in
what is still to come. No more than that and one piece is in memory. While no secret is known a piece passes as it is.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable

from noetl.keychain.redaction import ENCODING, ERRORS, Redactor
from noetl.secret import MASK


class StreamRedactor:
    """Cleans one payload. `current` gives the redactor of the moment, since a secret may become known on the way."""

    def __init__(self, current: Callable[[], Redactor]) -> None:
        self._current = current
        self._decoder = codecs.getincrementaldecoder(ENCODING)(ERRORS)
        self._held = ""  # may be the beginning of a secret
        self._is_searching = False

    def feed(self, piece: bytes) -> bytes:
        """What is surely clean, now that this piece has come."""
        redactor = self._current()
        if not self._is_searching and not redactor.form_characters_max:
            return piece
        self._is_searching = True
        return self._cleaned(redactor, self._decoder.decode(piece), is_last=False)

    def finish(self) -> bytes:
        """The rest, now that nothing more will come."""
        if not self._is_searching:
            return b""
        return self._cleaned(self._current(), self._decoder.decode(b"", True), is_last=True)

    def _cleaned(self, redactor: Redactor, more: str, *, is_last: bool) -> bytes:
        text = self._held + more
        # Only where the longest form would fit can it be said what begins there: the end may be half of a longer one.
        known_until = len(text) if is_last else max(0, len(text) - redactor.form_characters_max + 1)
        clean: list[str] = []
        place = 0
        while place < known_until and (span := redactor.find(text, place)) and span[0] < known_until:
            clean += (text[place : span[0]], MASK)
            place = span[1]
        until = max(place, known_until)
        clean.append(text[place:until])
        self._held = text[until:]
        return "".join(clean).encode(ENCODING, ERRORS)


async def cleaned(
    pieces: AsyncIterable[bytes] | Iterable[bytes], current: Callable[[], Redactor]
) -> AsyncIterator[bytes]:
    """A payload in pieces, without the secrets that are known while it passes."""
    redactor = StreamRedactor(current)
    async for piece in _each(pieces):
        if clean := redactor.feed(piece):
            yield clean
    if rest := redactor.finish():
        yield rest


async def _each(pieces: AsyncIterable[bytes] | Iterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(pieces, AsyncIterable):
        async for piece in pieces:
            yield piece
    else:
        for piece in pieces:
            yield piece
