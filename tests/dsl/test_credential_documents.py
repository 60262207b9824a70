"""`kind: Credential` documents: what is refused, where, and that no form of a report shows a secret."""

import msgspec
import pytest

from noetl.dsl.check import check
from noetl.dsl.credential_documents import credentials_of
from noetl.dsl.reports import as_github, as_json, as_sarif
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD, printed

PLANTED = "planted-s3cret"
PLAYBOOK = HEAD + "workflow: [{step: start, tool: {kind: noop}}]\n"


def credential(spec, metadata="{name: api}"):
    return f"apiVersion: noetl.io/v2\nkind: Credential\nmetadata: {metadata}\nspec:\n{spec}"


def bearer(token):
    return credential(f"  kind: bearer\n  fields:\n    token: {token}\n")


def found(text):
    return [
        (finding.code, finding.place.line, finding.message) for finding in check(text, "t.yaml", declarations).findings
    ]


def everything_said(text):
    result = check(text, "t.yaml", declarations)
    documents = [as_json(result.findings), as_sarif(result.findings, "0")]
    return printed(result) + as_github(result.findings) + msgspec.json.encode(documents).decode()


@pytest.mark.spec("KC-04")
@pytest.mark.parametrize("token", ["{env: API_TOKEN}", "{file: /run/secrets/api}", "{file: relative/api}"])
def test_a_reference_is_fine(token):
    assert found(bearer(token)) == []


@pytest.mark.spec("KC-04")
def test_a_file_may_hold_playbooks_and_credentials():
    text = f"{PLAYBOOK}---\n{bearer('{env: A}')}---\n{credential('  kind: basic', '{name: b}')}"

    assert [(code, line) for code, line, _ in found(text)] == [("NL131", 15)]
    assert [one.name for one in credentials_of(f"{PLAYBOOK}---\n{bearer('{env: A}')}", "t.yaml")] == ["api"]


@pytest.mark.spec("KC-05", "PB-05")
@pytest.mark.parametrize(
    "text",
    [
        bearer(PLANTED),
        bearer(f"'{PLANTED}'"),
        bearer(f"|\n      {PLANTED}\n      more"),
        bearer(f"&anchor {PLANTED}"),
        bearer(f"{{ environment: {PLANTED} }}"),
        bearer(f"{{ env: {PLANTED}! }}"),
        bearer(f"{{ env: A, file: {PLANTED} }}"),
        bearer(f"[{PLANTED}]"),
        bearer(f"{{ env: [{PLANTED}] }}"),
        bearer(f"{{ env: A }}\n    tokne: {PLANTED}"),
        bearer(f"{{ env: A }}\n  token: {PLANTED}"),
        bearer(f"{{ env: A }}\ntoken: {PLANTED}"),
        credential(f"  kind: nope\n  fields: {{ x: {PLANTED} }}"),
        credential(f"  fields: {{ x: {PLANTED} }}"),
        credential(f"  kind: oauth2\n  fields: {{ token_url: 'https://u:{PLANTED}@h/t' }}"),
        credential(f"  {{ kind: bearr, fields: {{ token: {PLANTED} }} }}"),
        credential(f"  {{ fields: {{ dsn: 'postgresql://u:{PLANTED}@h/d', pasword: x }}, kind: postgres_credential }}"),
        credential(f"  {{ fields: {{ dsn: {PLANTED}, x: {{ env: 5 }} }}, kind: postgres_credential }}"),
        credential(f"  kind: bearer\n  fields: {{ token: {PLANTED} }}", "{}"),
        f"{{ kind: Credential, spec: {{ kind: bearer, fields: {{ token: {PLANTED} }} }} }}",
        f"{{ spec: {{ kind: bearer, fields: {{ x: {PLANTED} }} }}, kind: Credential }}",
    ],
)
def test_a_secret_in_a_document_is_an_error_that_no_report_shows(text):
    result = check(text, "t.yaml", declarations)

    assert not result.is_valid
    assert PLANTED not in everything_said(text)


@pytest.mark.spec("KC-05")
def test_the_finding_names_the_field_and_its_place():
    assert found(bearer(PLANTED)) == [("NL130", 7, 'the field "token" holds its secret in the document itself')]


def test_secrets_on_one_line_are_one_finding_so_that_none_is_shown():
    text = credential(f"  {{ kind: postgres_credential, fields: {{ dsn: {PLANTED}, password: {PLANTED} }} }}")

    assert found(text) == [("NL130", 5, 'the fields "dsn", "password" hold their secrets in the document itself')]


def test_public_fields_may_be_written_down():
    fields = "{ host: db.local, port: 5432, user: etl, database: sales, password: { env: A } }"

    assert found(credential(f"  kind: postgres_credential\n  fields: {fields}")) == []


@pytest.mark.spec("KC-04")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bearer("{env: A}").replace("v2", "v1"), "the credential has no apiVersion: noetl.io/v2"),
        (credential("  kind: bearer\n  fields: {token: {env: A}}", "{}"), "the credential has no name"),
        (credential("  fields: {}"), "the credential does not say its kind"),
        (credential("  kind: bearer"), "the credential has no fields"),
        (credential("  kind: berer\n  fields: {}"), 'there is no kind of credential "berer"'),
        (bearer("{env: A}") + "    extra: {env: B}\n", 'a bearer has no field "extra"'),
        (bearer(""), "a bearer needs token; it has: nothing"),
        (
            bearer("{env: 1A}"),
            'the field "token" refers to a variable whose name is none: letters, digits and _, no digit first',
        ),
        (bearer("{env: }"), 'the field "token" refers to env without saying which'),
        (bearer("{env: A, file: b}"), 'the field "token" must be one reference, and says more'),
        (bearer("{vault: a}"), 'the field "token" is neither a plain value nor a reference by env or file'),
        (bearer("{env: A}") + "more: 1\n", 'a Credential has no "more"'),
        (
            f"{bearer('{env: A}')}---\n{bearer('{env: B}')}",
            'this file has the credential "api" twice; the first is on line 3',
        ),
    ],
)
def test_what_is_not_written_as_a_credential_is_said(text, message):
    assert message in [said for code, _, said in found(text) if code == "NL131"]


def test_credentials_are_plain_data_with_their_references():
    (one,) = credentials_of(bearer("{env: A}"), "t.yaml")

    assert (one.name, one.kind, one.fields) == ("api", "bearer", {"token": {"env": "A"}})
