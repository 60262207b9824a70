"""Server-sent events: what a server may send, and what none should."""

from io import BytesIO

import pytest

from noetl.remote.stream import LINE_BYTES_MAX, Message, messages


def read(data):
    return list(messages(BytesIO(data)))


def test_a_message_has_an_id_a_name_and_data():
    assert read(b'id: 7\nevent: step.done\ndata: {"a": 1}\n\n') == [Message("7", "step.done", b'{"a": 1}')]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"data: a\r\ndata: b\r\n\r\n", [Message("", "message", b"a\nb")]),
        (b"data:a\n\n", [Message("", "message", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Message("", "message", b"a")]),
        (b": still here\n\n", [None]),
        (b"retry: 2000\n\n", []),
        (b"id: 1\ndata: a\n\ndata: b\n\n", [Message("1", "message", b"a"), Message("1", "message", b"b")]),
        (b"event: x\n\n", []),
        (b"data\n\n", [Message("", "message", b"")]),
        (b"", []),
    ],
)
def test_lines_are_read_as_the_format_has_them(data, expected):
    assert read(data) == expected


@pytest.mark.parametrize("cut", range(1, 26))
def test_a_message_that_is_cut_off_is_left_out(cut):
    whole = b"id: 1\ndata: first\n\n"
    second = b"id: 2\ndata: the second\n\n"

    found = read(whole + second[: len(second) - cut])

    assert found == [Message("1", "message", b"first")]


def test_a_line_without_end_is_not_collected_for_ever():
    with pytest.raises(ValueError, match="longer than"):
        read(b"data: " + b"x" * LINE_BYTES_MAX)


def test_a_message_without_end_is_not_collected_for_ever():
    line = b"data: " + b"x" * (LINE_BYTES_MAX // 2) + b"\n"

    with pytest.raises(ValueError, match="longer than"):
        read(line * 5)
