"""--payload and --set: what is read, what is refused, and in which words."""

import io
import json

import click
import pytest

from noetl.cli import payloads
from noetl.cli.payloads import context_patches, payload_of, typed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-2.5", -2.5),
        ("0x1f", 31),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("2026-03-01", "2026-03-01"),
        ("99999999999999999999", "99999999999999999999"),
        (".inf", ".inf"),
        ('"1"', "1"),
        ("'it''s'", "it's"),
        ('"a\\nb"', "a\nb"),
        ("[1, two, {a: true}]", [1, "two", {"a": True}]),
        ("{a: 1, b: [x]}", {"a": 1, "b": ["x"]}),
        ("[]", []),
        ("hello world", "hello world"),
        (" padded ", " padded "),
        ("a: b", "a: b"),
        ("- x", "- x"),
        ("a #b", "a #b"),
        ("#b", "#b"),
        ("*a", "*a"),
        ("!tag x", "!tag x"),
        ("https://h:80/p?q=1#f", "https://h:80/p?q=1#f"),
        ("{{ workload.a }}", "{{ workload.a }}"),
        ("[a-z]+", "[a-z]+"),
        ("[1, 2", "[1, 2"),
        ("{a: 1, a: 2}", "{a: 1, a: 2}"),
        ('"', '"'),
        ("@file", "@file"),
    ],
)
def test_a_value_is_read_as_yaml_reads_a_scalar_else_as_text(text, value):
    found = typed(text)

    assert found == value
    assert type(found) is type(value)


def test_set_lays_values_over_the_payload():
    found = payload_of('{"a": {"b": 1, "c": 2}, "d": 3}', ["a.b=9", "e.f.g=x=y", "d=[1]"])

    assert found == {"a": {"b": 9, "c": 2}, "d": [1], "e": {"f": {"g": "x=y"}}}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("name", 'has no "=": write --set name=value'),
        ("=1", "is no path"),
        ("a..b=1", '"a..b" is no path'),
        (".a=1", "is no path"),
        ("a.=1", "is no path"),
        ("a\x1b[2J=1", "is no path"),
        (".".join("a" * 65) + "=1", "a path may have 64 names, but has 65"),
    ],
)
def test_a_wrong_assignment_is_refused(assignment, message):
    with pytest.raises(click.UsageError) as caught:
        payload_of(None, [assignment])

    assert message in caught.value.message
    assert "\x1b" not in caught.value.message


def test_nothing_can_be_set_below_a_value_that_is_no_mapping():
    with pytest.raises(click.UsageError, match=r'"a\.b" is a list, so nothing can be set below it'):
        payload_of('{"a": {"b": [1]}}', ["a.b.c=1"])


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ("[1]", "--payload must be a JSON mapping, but is a list"),
        ("3", "--payload must be a JSON mapping, but is a number"),
        ("{a: 1}", "--payload is not JSON"),
        ("", "--payload is not JSON"),
        ('{"a": NaN}', "--payload is not JSON"),
        ('{"a": 99999999999999999999}', "a number that does not fit into 64 bits"),
        ('{"a":' + "[" * 64 + "]" * 64 + "}", "nested deeper than 64 levels"),
        ('{"a":' + "[" * 500_000, "nested deeper than 64 levels"),
        ('{"a": "' + "x" * 1024 * 1024 + '"}', "may have 1,048,576 bytes, but has more"),
        ("@", "--payload @ names no file"),
    ],
)
def test_a_wrong_payload_is_refused(payload, message):
    with pytest.raises(click.UsageError) as caught:
        payload_of(payload, [])

    assert message in caught.value.message


def test_a_payload_of_64_levels_is_fine():
    text = '{"a":' + "[" * 63 + "]" * 63 + "}"

    assert payload_of(text, []) == json.loads(text)


def test_a_payload_comes_from_a_file_or_from_standard_input(tmp_path, monkeypatch):
    file = tmp_path / "p.json"
    file.write_text('{"a": 1}')
    monkeypatch.setattr(payloads.sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 2}')))

    assert payload_of(f"@{file}", []) == {"a": 1}
    assert payload_of("-", []) == {"a": 2}


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nope"):
        payload_of(f"@{tmp_path}/nope.json", [])


@pytest.mark.spec("SC-02")
def test_a_signal_writes_to_ctx():
    assert context_patches(["ctx.a.b=1", "ctx.go=true"]) == {"ctx.a.b": 1, "ctx.go": True}


@pytest.mark.spec("SC-09")
@pytest.mark.parametrize("assignment", ["a=1", "ctx=1", "workload.a=1", "step.a=1"])
def test_a_signal_writes_to_nothing_else(assignment):
    with pytest.raises(click.UsageError, match=r"a signal writes to ctx only; write --set ctx\.\w+=value"):
        context_patches([assignment])
