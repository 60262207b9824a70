"""Known secrets are taken out of whatever is to be written."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.output import failure
from noetl.keychain.redaction import DEPTH_MAX, Redactor, TooDeep

SECRET = 'pl@nted/s3cret+"ü"\n='


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


WRITTEN = {
    "as it is": SECRET,
    "in JSON": json.dumps(SECRET)[1:-1],
    "in JSON with its own characters": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "in a path": quote(SECRET),
    "in a query": quote(SECRET, safe=""),
    "in a form": quote_plus(SECRET),
    "in a query in small letters": quote_plus(SECRET).replace("%2B", "%2b").replace("%2F", "%2f").lower(),
    "in base64": in_base64(SECRET),
    "in URL base64": base64.urlsafe_b64encode(SECRET.encode()).decode(),
}
SMALL = "pl@nted/s3cret+"


@pytest.mark.parametrize("way", WRITTEN)
def test_a_secret_is_found_however_it_is_written(way):
    redactor = Redactor([SECRET.lower() if way.endswith("small letters") else SECRET])

    cleaned = redactor.clean(f"before {WRITTEN[way]} after")

    assert cleaned == "before *** after"


@pytest.mark.parametrize("user", ["u", "us", "use", "user"])
def test_a_password_is_found_in_a_basic_header_whatever_the_user(user):
    header = in_base64(f"{user}:{SMALL}")
    redactor = Redactor([SMALL])

    cleaned = redactor.clean(f"Basic {header}")

    assert cleaned != f"Basic {header}"
    assert in_base64(SMALL)[4:-4] not in cleaned
    left = cleaned.replace("Basic ", "").replace("***", "")
    assert len(left) <= len(user) * 2 + 6


@pytest.mark.parametrize("before", range(4))
@given(after=st.text(max_size=4))
def test_base64_of_a_text_with_a_secret_never_gives_it_away(before, after):
    coded = in_base64("x" * before + SMALL + after)

    assert "***" in Redactor([SMALL]).clean(coded)


def test_secrets_are_found_in_names_lists_tuples_bytes_and_outputs():
    redactor = Redactor(["planted-s3cret"])
    output = failure("auth", "no planted-s3cret", data={"planted-s3cret": ["planted-s3cret", ("planted-s3cret",)]})

    cleaned = redactor.clean(output)

    assert cleaned.error.message == "no ***"
    assert cleaned.data == {"***": ["***", ("***",)]}
    assert redactor.clean(b"\xff planted-s3cret") == b"\xff ***"


def test_data_without_secrets_is_the_same_object():
    data = {"a": [1, 2.5, None, True, "text"], "b": {"c": b"bytes"}}

    assert Redactor(["planted-s3cret"]).clean(data) is data
    assert Redactor([]).clean(data) is data


def test_short_values_are_left_alone():
    assert Redactor(["12345"]).clean("12345 of 12345") == "12345 of 12345"


def test_of_two_secrets_the_longer_is_taken_first():
    redactor = Redactor(["secret", "secret-and-more"])

    assert redactor.clean("secret-and-more, secret") == "***, ***"


def test_data_too_deep_to_search_is_not_let_through():
    data: list[object] = ["planted-s3cret"]
    for _ in range(DEPTH_MAX + 1):
        data = [data]

    with pytest.raises(TooDeep):
        Redactor(["planted-s3cret"]).clean(data)


@given(st.text(min_size=6, max_size=30), st.text(max_size=20), st.text(max_size=20))
def test_no_secret_survives_in_any_text(secret, before, after):
    cleaned = Redactor([secret]).clean(before + secret + after)

    assert secret not in cleaned.replace("***", "\0") or secret in (before + "\0" + after)
