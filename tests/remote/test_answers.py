"""Refusals of a server: the same errors, the same words, the same exit codes as on this machine."""

import msgspec
import pytest

from noetl import errors
from noetl.api.problems import KINDS, problem_of
from noetl.remote.answers import CLASSES, error_of

PROBLEM = "application/problem+json"
MADE = [
    errors.UnknownExecution(7, "sqlite:///x.db"),
    errors.UnknownPlaybook("a/b", 3),
    errors.WrongState("it has ended"),
    errors.Unauthenticated("who?"),
    errors.Forbidden("no"),
    errors.PayloadTooLarge("a payload", 2, 1),
    errors.Unreachable("gone"),
    errors.StoreBusy("sqlite:///x.db", "process 1"),
    errors.DiskFull("/x"),
    errors.MissingLibrary("kind: x needs more"),
    errors.RequestError("wrong"),
    errors.UnusableSql("bad", 3),
    errors.ReferenceMissing("x"),
]


def sent(error):
    problem = problem_of(error, "trace")
    return error_of(problem.status, PROBLEM, msgspec.json.encode(problem))


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_what_it_was(error):
    found = sent(error)

    wanted = type(error) if type(error) is not errors.UnusableSql else errors.PlaybookError
    assert (type(found), str(found), found.exit_code) == (wanted, str(error), error.exit_code)


def test_every_kind_of_problem_is_known_here():
    assert {kind.code for kind in KINDS.values()} - {"invalid-playbook"} == set(CLASSES)


def test_a_fault_of_the_server_tells_its_trace_and_nothing_of_what_broke():
    found = sent(ZeroDivisionError("secret"))

    assert type(found) is errors.InternalError
    assert "trace" in str(found)
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("status", "kind", "exit_code"), [(400, "brand-new", 2), (409, "brand-new", 2), (429, "rate", 3), (503, "new", 3)]
)
def test_a_problem_of_a_newer_server_is_judged_by_its_status(status, kind, exit_code):
    body = {"type": f"urn:noetl:problem:{kind}", "detail": "says so", "more": [1]}

    found = error_of(status, f"{PROBLEM}; charset=utf-8", msgspec.json.encode(body))

    assert (str(found), found.exit_code) == ("says so", exit_code)


@pytest.mark.parametrize(
    ("media", "body"), [("text/html", b"<h1>404</h1>"), (PROBLEM, b"<h1>"), (PROBLEM, b'{"a": 1}'), ("", b"")]
)
def test_what_no_server_of_ours_says_is_none_of_its_errors(media, body):
    assert error_of(404, media, body) is None
