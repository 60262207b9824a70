"""`kind: Schedule` and `kind: Trigger` documents: what is refused, where, and what becomes of those that check."""

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.dsl.check import check
from noetl.dsl.cron import cron_fault
from noetl.dsl.findings import as_text
from noetl.dsl.nodes import plain
from noetl.dsl.read import read
from noetl.dsl.schedule_documents import every_seconds, moment_of, schedules_of
from noetl.dsl.schema import schema
from noetl.dsl.time_zones import advice, is_time_zone
from noetl.dsl.trigger_documents import SUBJECT, triggers_of
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD, PLAYBOOKS

PLAYBOOK = HEAD + "workflow: [{step: start, tool: {kind: noop}}]\n"
EXAMPLES = sorted((PLAYBOOKS.parent.parent / "examples" / "schedules").glob("*.yaml"))
VALIDATOR = jsonschema_rs.Draft202012Validator(schema(declarations))


def document(kind, spec, metadata="{name: one}"):
    return f"apiVersion: noetl.io/v2\nkind: {kind}\nmetadata: {metadata}\nspec:\n  playbook: {{path: a/b}}\n{spec}"


def found(text):
    return [(one.code, one.place.line, one.message) for one in check(text, "t.yaml", declarations).findings]


def test_a_schedule_has_its_usual_values():
    (one,) = schedules_of(document("Schedule", '  cron: "0 1 * * *"\n'), "t.yaml")

    assert (one.timezone, one.overlap, one.catch_up, one.catch_up_max) == ("UTC", "skip", "last", 10)
    assert (one.path, one.version, one.payload, one.paused) == ("a/b", None, {}, None)


def test_a_trigger_has_its_usual_values():
    texts = [
        document("Trigger", "  webhook: {auth: token, credential: c}\n"),
        document("Trigger", "  webhook: {auth: hmac, credential: c}\n"),
        document("Trigger", "  nats: {subject: a.b}\n", "{name: my.trigger}"),
    ]
    token, signed, subject = [triggers_of(text, "t.yaml")[0] for text in texts]

    assert [found(text) for text in texts] == [[], [], []]
    assert (token.webhook.header, signed.webhook.header) == ("X-NoETL-Token", "X-NoETL-Signature")
    assert (signed.webhook.timestamp_header, signed.webhook.tolerance_seconds) == ("X-NoETL-Timestamp", 300)
    assert (subject.nats.queue, subject.nats.stream, subject.event_key) == ("noetl-my_trigger", None, "event")


def test_a_file_may_hold_playbooks_schedules_and_triggers():
    schedule, trigger = document("Schedule", "  every: 5m\n"), document("Trigger", "  nats: {subject: a}\n")
    text = f"{PLAYBOOK}---\n{schedule}---\n{trigger}"

    assert found(text) == []
    assert [one.every_seconds for one in schedules_of(text, "t.yaml")] == [300]
    assert [one.name for one in triggers_of(text, "t.yaml")] == ["one"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("kind: Schedule\n", "NL132", 1),
        ("kind: Trigger\n", "NL133", 1),
        (document("Schedule", "  every: 1h\n").replace("noetl.io/v2", "v1"), "NL132", 1),
        (document("Schedule", "  every: 0\n"), "NL132", 6),
        (document("Schedule", "  every: 5 fortnights\n"), "NL132", 6),
        (document("Schedule", "  every: 1h\n  end_at: yesterday\n"), "NL132", 7),
        (document("Schedule", "  every: 1h\n  start_at: 9999-12-31\n"), "NL132", 7),
        (document("Schedule", "  every: 1h\n  payload: []\n"), "NL132", 7),
        (document("Schedule", "  every: 1h\n", "{name: a/b}"), "NL132", 3),
        (document("Schedule", "  every: 1h\n", "{name: 7}"), "NL132", 3),
        (document("Schedule", "  cron: 5\n"), "NL132", 6),
        (document("Schedule", '  cron: "* * * * 1-9"\n'), "NL134", 6),
        (document("Schedule", "  every: 1h\n  timezone: CEST\n"), "NL135", 7),
        (document("Schedule", "  every: 1h\n  timezone: ../../etc/passwd\n"), "NL135", 7),
        (document("Trigger", "  webhook: {auth: basic, credential: c}\n"), "NL133", 6),
        (document("Trigger", "  webhook: {auth: token, credential: c, headers: [x-noetl-TOKEN]}\n"), "NL133", 6),
        (document("Trigger", "  webhook: {auth: token, credential: c, header: X-T, headers: [X-T]}\n"), "NL133", 6),
        (document("Trigger", "  webhook: {auth: hmac, credential: c, headers: [Authorization]}\n"), "NL133", 6),
        (document("Trigger", "  nats: {subject: a}\n  dedupe: {}\n"), "NL133", 7),
        (document("Trigger", "  nats: {subject: a b}\n"), "NL133", 6),
        (document("Trigger", "  nats: {subject: a, format: text}\n  dedupe: {field: x}\n"), "NL133", 7),
    ],
)
def test_a_fault_is_found_where_it_stands(text, code, line):
    assert (code, line) in [(one[0], one[1]) for one in found(text)]


def test_a_token_in_a_document_is_refused_and_not_shown():
    text = document("Trigger", "  webhook: {auth: token, credential: c, token: planted-s3cret}\n")
    result = check(text, "t.yaml", declarations)
    said = "".join(as_text(finding, result.source) for finding in result.findings)

    assert not result.is_valid
    assert "planted-s3cret" not in said


@pytest.mark.parametrize("name", ["schedule-document-shape", "trigger-document-shape"])
def test_the_schema_takes_what_is_right_and_refuses_what_is_wrong(name):
    good = [plain(one) for one in read((PLAYBOOKS / "good" / f"{name}.yaml").read_bytes(), "t").documents]
    bad = plain(read((PLAYBOOKS / "bad" / f"{name}.yaml").read_bytes(), "t").documents[0])

    assert [error.message for one in good for error in VALIDATOR.iter_errors(one)] == []
    assert list(VALIDATOR.iter_errors(bad))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_checks_and_validates(path):
    data = path.read_bytes()

    assert check(data, path.name, declarations, is_strict=True).findings == []
    for one in read(data, path.name).documents:
        assert [error.message for error in VALIDATOR.iter_errors(plain(one))] == []


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(30, 30), ("30s", 30), ("5m", 300), ("2 h", 7200), ("1d", 86400), (0, None), (-1, None), (True, None), (1.5, None)]
    + [(text, None) for text in ("", "5", "m", "0m", "1.5h", "367d", "999999999d", "５m", "5m\n")],
)
def test_every_is_read_as_it_is_written(written, seconds):
    assert every_seconds(written) == seconds


@pytest.mark.parametrize(
    "text", ["2026-03-01", "2026-03-01T08:00", "2026-03-01T08:00:00Z", "2026-03-01T08:00:00+02:00"]
)
def test_a_time_is_read_with_an_offset_and_without(text):
    assert moment_of(text) is not None


def test_a_city_alone_is_no_time_zone_and_its_zone_is_guessed():
    assert is_time_zone("America/New_York")
    assert not is_time_zone("New York")
    assert advice("New York") == 'did you mean "America/New_York"?'
    assert advice("Europe/Belin") == 'did you mean "Europe/Berlin"?'


@pytest.mark.parametrize("subject", ["a", "a.b", "a.*.c", "a.>", ">", "*", "ord-ers.Ünicode"])
def test_subjects_of_nats_are_taken(subject):
    assert SUBJECT.match(subject)


@given(st.text(alphabet="0123456789*/,-LW#MONJAN ²\t", max_size=60))
def test_no_expression_breaks_the_reader(text):
    fault = cron_fault(text)

    assert fault is None or fault.message
