"""A payload in pieces loses the same secrets as a whole one, however it is cut."""

import base64
import itertools
import tracemalloc
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.keychain.redaction import Redactor
from noetl.keychain.stream_redaction import StreamRedactor, cleaned

SECRETS = ("s3cr3t", "s3cr3t-and-longer", "pä$$wörd/ü", "aaaaaa", "aaaaaab")
PARTS = (
    *SECRETS,
    *(quote(secret) for secret in SECRETS),
    *(base64.b64encode(b"user:" + secret.encode()).decode() for secret in SECRETS),
    *("s3c", "r3t", "-and-", "a", "aaa", "ab", "plain text ", "ä", "€", "\n"),
)
REDACTOR = Redactor(SECRETS)


def in_pieces(payload: bytes, cuts: list[int], redactor: Redactor = REDACTOR) -> bytes:
    stream = StreamRedactor(lambda: redactor)
    places = sorted({0, len(payload), *(cut % (len(payload) + 1) for cut in cuts)})
    pieces = [payload[start:end] for start, end in itertools.pairwise(places)]
    return b"".join([*map(stream.feed, pieces), stream.finish()])


payloads = st.lists(st.sampled_from(PARTS).map(str.encode) | st.binary(max_size=6), max_size=12).map(b"".join)


@pytest.mark.spec("KC-05")
@given(payload=payloads, cuts=st.lists(st.integers(0, 10_000), max_size=12))
def test_any_cut_gives_what_cleaning_the_whole_gives(payload: bytes, cuts: list[int]) -> None:
    assert in_pieces(payload, cuts) == REDACTOR.clean(payload)


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_that_comes_byte_by_byte_is_found(secret: str) -> None:
    payload = f"before {secret} after".encode()

    found = in_pieces(payload, list(range(len(payload))))

    assert found == b"before *** after"


def test_the_longer_of_two_secrets_is_taken_though_the_shorter_came_first() -> None:
    stream = StreamRedactor(lambda: REDACTOR)

    found = stream.feed(b"s3cr3t") + stream.feed(b"-and-longer.") + stream.finish()

    assert found == b"***."


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    payload = bytes(range(256)) * 3

    assert in_pieces(payload, [100, 200, 300, 301]) == payload


def test_while_no_secret_is_known_a_piece_passes_as_the_object_it_is() -> None:
    stream = StreamRedactor(lambda: Redactor(()))
    piece = b"x" * 1000

    assert stream.feed(piece) is piece
    assert stream.finish() == b""


def test_a_secret_that_becomes_known_on_the_way_is_taken_out_from_then_on() -> None:
    known: list[Redactor] = [Redactor(())]
    stream = StreamRedactor(lambda: known[-1])

    first = stream.feed(b"s3cr3t s3c")
    known.append(REDACTOR)
    rest = stream.feed(b" s3cr") + stream.feed(b"3t end") + stream.finish()

    assert first + rest == b"s3cr3t s3c *** end"


@pytest.mark.spec("KC-05", "RS-01")
async def test_a_long_stream_is_cleaned_in_bounded_memory() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b"0123456789abcdef" * 16 * 1024

    tracemalloc.start()
    try:
        passed = 0
        async for piece in cleaned(pieces(), lambda: REDACTOR):
            passed += len(piece)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert passed == 16 * 1024 * 1024
    assert peak_bytes < 4 * 1024 * 1024
