"""A Secret shows nothing, and nothing can write it down."""

import copy
import json
import logging
import pickle
import pprint
import traceback

import msgspec
import pytest

from noetl.expressions.values import MISSING, member
from noetl.secret import Secret, has_secret, revealed, sealed
from tests.keychain.parts import PLANTED

SHOWN = {
    "str": str,
    "repr": repr,
    "ascii": ascii,
    "f-string": lambda secret: f"{secret}",
    "f-string with a width": lambda secret: f"{secret:>40}",
    "f-string of its repr": lambda secret: f"{secret!r}",
    "percent": lambda secret: "%s" % secret,  # noqa: UP031 - one of the ways
    "format": "{0} {0!a}".format,
    "in a list": lambda secret: f"{[secret]} {(secret,)} { {'a': secret} }",
    "pprint": pprint.pformat,
    "json as text": lambda secret: json.dumps({"a": secret}, default=str),
    "dir": lambda secret: str(dir(secret)),
}
WRITTEN = {
    "json": json.dumps,
    "msgspec json": msgspec.json.encode,
    "msgspec msgpack": msgspec.msgpack.encode,
    "msgspec builtins": msgspec.to_builtins,
    "in a mapping": lambda secret: msgspec.json.encode({"a": [secret]}),
    "pickle": pickle.dumps,
    "oldest pickle": lambda secret: pickle.dumps(secret, 0),
    "copy": copy.copy,
    "deep copy": lambda secret: copy.deepcopy([secret]),
    "state": lambda secret: secret.__getstate__(),
    "vars": vars,
    "joined": "".join,
    "added": lambda secret: "Bearer " + secret,
    "iterated": list,
    "measured": len,
    "indexed": lambda secret: secret[0],
    "searched": lambda secret: "p" in secret,
    "ordered": lambda secret: secret < "q",
    "bytes": bytes,
    "number": int,
}


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("way", SHOWN)
def test_a_secret_is_shown_as_a_mask(way):
    shown = SHOWN[way](Secret(PLANTED))

    assert PLANTED not in shown


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("way", WRITTEN)
def test_a_secret_cannot_be_written_or_taken_apart(way):
    with pytest.raises(TypeError) as raised:
        WRITTEN[way](Secret(PLANTED))

    assert PLANTED not in str(raised.value)


def test_a_secret_is_not_in_a_traceback_with_its_locals_or_in_a_log_line(caplog):
    secret = Secret(PLANTED)

    try:
        raise ValueError(secret)
    except ValueError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    logging.getLogger("noetl.test").warning("with %s", secret, extra={"credential": secret})

    assert "***" in shown
    assert PLANTED not in shown.replace("PLANTED", "")
    assert PLANTED not in caplog.text


def test_a_secret_equals_the_same_secret_and_never_a_text():
    assert Secret(PLANTED) == Secret(PLANTED)
    assert Secret(PLANTED) != Secret("another")
    assert Secret(PLANTED) != PLANTED
    assert len({Secret(PLANTED), Secret(PLANTED), Secret("\ud800")}) == 2


def test_a_secret_has_no_subclasses_that_might_show_it():
    with pytest.raises(TypeError):
        type("Shown", (Secret,), {"__str__": Secret.reveal})


@pytest.mark.parametrize("name", ["reveal", "_text", "text"])
def test_a_template_cannot_open_a_secret(name):
    assert member(Secret(PLANTED), name) is MISSING


def test_secrets_in_data_are_opened_for_a_call():
    data = {"headers": {"X-Key": Secret(PLANTED)}, "list": [Secret("other1"), 1]}

    assert revealed(data) == {"headers": {"X-Key": PLANTED}, "list": ["other1", 1]}
    assert revealed(sealed({"a": ["b", 2]})) == {"a": ["b", 2]}


@pytest.mark.parametrize(("data", "expected"), [({"a": [1, {"b": Secret("x")}]}, True), ({"a": ["x"]}, False)])
def test_data_knows_whether_it_has_a_secret(data, expected):
    assert has_secret(data) is expected
