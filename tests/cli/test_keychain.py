"""noetl keychain as whole processes: what it takes, what it keeps, and that no value is ever said."""

import json
import os
import pty
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from noetl.keychain.sealing import Key
from tests.cli.running import HEAD, document, noetl
from tests.stores.unpacked import unpacked

PLANTED = "planted-s3cret-value"
PROBE = (
    HEAD
    + """keychain: [{name: api, kind: bearer}]
workflow:
  - step: start
    tool:
      kind: python
      input: {token: "{{ keychain.api.token }}"}
      code: |
        def main(token):
            return {"length": len(token), "itself": token}
"""
)
DOCUMENT = """apiVersion: noetl.io/v2
kind: Credential
metadata: {name: mail}
spec:
  kind: basic
  fields: {username: robot, password: {file: secrets/mail}}
"""


def keychain(*words, home, stdin="", **environ):
    return noetl("keychain", *words, home=home, stdin=stdin.encode(), **environ)


def set_api(home, token=PLANTED, **environ):
    done = keychain("set", "api", "--kind", "bearer", "--field", "token=-", home=home, stdin=f"{token}\n", **environ)
    assert done.returncode == 0, done.stderr
    return done


def listed(home, **environ):
    return document(keychain("list", "--format", "json", home=home, **environ))


def said(done):
    return done.stdout + done.stderr


# --- set -------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-04", "KC-05")
def test_a_credential_from_standard_input_is_kept_encrypted_and_listed_without_its_value(tmp_path):
    done = set_api(tmp_path)

    assert done.stdout == "api  bearer, version 1: token\n"
    (row,) = listed(tmp_path)
    facts = ("name", "kind", "version", "origin", "fields", "shadowed_by")
    assert [row[fact] for fact in facts] == ["api", "bearer", 1, "stored", ["token"], None]
    files = list((tmp_path / ".noetl").iterdir())
    assert {path.name for path in files} == {"keychain.db", "keychain.keys", ".gitignore"}
    assert all(PLANTED.encode() not in unpacked(path) for path in files)


@pytest.mark.spec("KC-05")
def test_the_keys_of_a_home_made_by_hand_are_not_committed(tmp_path):
    (tmp_path / ".noetl").mkdir()

    set_api(tmp_path)

    assert (tmp_path / ".noetl" / ".gitignore").read_text() == "*\n"


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize(
    "words",
    [
        ("--from-json", json.dumps({"token": PLANTED})),
        ("--from-json", f'  ["{PLANTED}"]'),
        ("--from-json", PLANTED),
        ("--field", f"token={PLANTED}"),
        ("--field", PLANTED),
        ("--field", f"tokn={PLANTED}"),
        ("--field", f"token=@{PLANTED}"),
    ],
)
def test_a_value_as_an_argument_is_refused_and_not_repeated(tmp_path, words):
    done = keychain("set", "api", "--kind", "bearer", *words, home=tmp_path)

    assert done.returncode == 2
    assert PLANTED not in said(done)
    assert not (tmp_path / ".noetl").exists()


@pytest.mark.spec("KC-05")
def test_the_refusal_of_json_as_an_argument_says_why(tmp_path):
    done = keychain("set", "api", "--kind", "bearer", "--from-json", '{"token": "x"}', home=tmp_path)

    assert "stays in the shell's history and is seen in the list of processes" in " ".join(done.stderr.split())


def test_fields_come_from_files_lines_and_what_is_no_secret_from_arguments(tmp_path):
    (tmp_path / "user").write_text("etl\n")
    words = ("--field", "host=db.local", "--field", "user=@user", "--field", "password=-", "--field", "database=-")

    done = keychain("set", "db", "--kind", "postgres_credential", *words, home=tmp_path, stdin=f"{PLANTED}\nsales\n")

    assert done.stdout == "db  postgres_credential, version 1: database, host, password, user\n"


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("bearer", "{}", "a bearer needs token; it has: nothing"),
        ("bearer", '{"token": ""}', "a bearer needs token; it has: nothing"),
        ("basic", f'{{"password": "{PLANTED}"}}', "a basic needs username, password; it has: password"),
        (
            "basic",
            f'{{"usrname": "a", "password": "{PLANTED}"}}',
            'a basic has no field "usrname"; did you mean "username"?',
        ),
        ("bearer", f'{{"token": ["{PLANTED}"]}}', 'the field "token" must be a text or a number'),
        ("bearer", f'{{"token": {PLANTED}}}', "must be a JSON mapping"),
        ("bearer", f'"{PLANTED}"', "must be a JSON mapping"),
        ("bearer", "[" * 100_000, "may have 65536 bytes, but has more"),
        ("bearer", "[" * 60_000, "must be a JSON mapping"),
        ("postgres_credential", '{"host": "db"}', "needs dsn, or host, user, password, database; it has: host"),
    ],
)
def test_fields_that_do_not_fit_their_kind_are_refused_without_a_value(tmp_path, kind, text, words):
    done = keychain("set", "api", "--kind", kind, "--from-json", "-", home=tmp_path, stdin=text)

    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert PLANTED not in said(done)


def test_without_a_source_and_without_a_terminal_it_says_how(tmp_path):
    done = keychain("set", "api", "--kind", "bearer", home=tmp_path)

    assert (done.returncode, "--from-json - or FILE" in done.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.spec("KC-05")
def test_a_terminal_is_asked_and_shows_no_secret(tmp_path):
    command = [sys.executable, "-m", "noetl", "keychain", "set", "mail", "--kind", "basic"]
    environ = {**os.environ, "NOETL_HOME": str(tmp_path / ".noetl")}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
    ) as child:
        os.close(theirs)
        shown = answered(ours, [(b"username", b"robot\n"), (b"password", PLANTED.encode() + b"\n")])
    os.close(ours)

    assert child.returncode == 0, shown
    assert b"mail  basic, version 1: password, username" in shown
    assert b"robot" in shown
    assert PLANTED.encode() not in shown


def answered(terminal, answers):
    """Give each answer when its question is there; all that was shown."""
    shown, asked_from = b"", 0
    waiting = list(answers)
    while select.select([terminal], [], [], 30)[0]:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # Linux says so when the other end is closed
            break
        if waiting and waiting[0][0] in shown[asked_from:] and shown.rstrip(b" ").endswith(b":"):
            os.write(terminal, waiting.pop(0)[1])
            asked_from = len(shown)
    return shown


@pytest.mark.slow
@pytest.mark.spec("KC-05")
def test_two_first_uses_at_once_make_one_ring(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        words = [("set", f"n{number}", "--kind", "bearer", "--field", "token=-") for number in range(4)]
        done = list(pool.map(lambda one: keychain(*one, home=tmp_path, stdin=PLANTED), words))

    assert [one.returncode for one in done] == [0] * 4, [one.stderr for one in done]
    assert len({row["key_id"] for row in listed(tmp_path)}) == 1
    assert len(json.loads((tmp_path / ".noetl" / "keychain.keys").read_text())["keys"]) == 1


# --- using -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("KC-01", "KC-03", "KC-05")
def test_a_run_uses_what_is_stored_and_writes_it_nowhere(tmp_path):
    set_api(tmp_path)
    (tmp_path / "probe.yaml").write_text(PROBE)

    done = noetl("run", "probe.yaml", "--format", "json", home=tmp_path)

    assert document(done)["output"]["data"] == {"length": len(PLANTED), "itself": "***"}
    assert PLANTED not in said(done)
    files = [path for path in (tmp_path / ".noetl").rglob("*") if path.is_file()]
    assert len(files) > 2
    assert all(PLANTED.encode() not in unpacked(path) for path in files)


@pytest.mark.slow
@pytest.mark.spec("KC-01")
def test_a_run_whose_credential_does_not_open_starts_nothing(tmp_path):
    set_api(tmp_path)
    (tmp_path / ".noetl" / "keychain.keys").unlink()
    (tmp_path / "probe.yaml").write_text(PROBE)

    done = noetl("run", "probe.yaml", home=tmp_path)

    assert done.returncode == 2
    assert "keychain.keys that opens them is missing" in done.stderr
    assert document(noetl("list", "--format", "json", home=tmp_path)) == []


@pytest.mark.slow
@pytest.mark.spec("KC-04", "KC-05")
def test_a_document_is_applied_and_its_references_are_used(tmp_path):
    (tmp_path / "sub" / "secrets").mkdir(parents=True)
    (tmp_path / "sub" / "mail.yaml").write_text(DOCUMENT)

    applied = keychain("apply", "sub/mail.yaml", home=tmp_path)
    missing = keychain("test", "mail", home=tmp_path)
    (tmp_path / "sub" / "secrets" / "mail").write_text(PLANTED)
    found = keychain("test", "mail", home=tmp_path)

    assert applied.stdout == "mail  basic, version 1: password, username\n"
    assert missing.returncode == 1
    assert f"is taken from the file {tmp_path}/sub/secrets/mail, which cannot be read: No such file" in missing.stdout
    assert (found.returncode, found.stdout) == (0, "mail  basic, document: ok: read and complete\n")


@pytest.mark.spec("KC-05")
def test_a_document_with_a_secret_in_it_is_not_applied(tmp_path):
    (tmp_path / "mail.yaml").write_text(DOCUMENT.replace("{file: secrets/mail}", PLANTED))

    done = keychain("apply", "mail.yaml", home=tmp_path)

    assert done.returncode == 2
    assert "mail.yaml:6:29: error NL130" in done.stderr
    assert PLANTED not in said(done)
    assert not (tmp_path / ".noetl").exists()


def test_a_file_without_a_credential_is_refused(tmp_path):
    (tmp_path / "probe.yaml").write_text(PROBE)

    done = keychain("apply", "probe.yaml", home=tmp_path)

    assert (done.returncode, "has no document of kind: Credential" in done.stderr) == (2, True)


# --- list, remove, rotate, test --------------------------------------------------------------------------------------


@pytest.mark.spec("KC-05")
def test_variables_are_listed_by_name_and_win(tmp_path):
    set_api(tmp_path)

    rows = listed(tmp_path, NOETL_SECRET_API=PLANTED, NOETL_SECRET_ORDERS_DB=PLANTED)

    assert [(row["name"], row["origin"], row.get("shadowed_by")) for row in rows] == [
        ("api", "stored", "NOETL_SECRET_API"),
        ("orders_db", "NOETL_SECRET_ORDERS_DB", None),
    ]


def test_an_empty_keychain_says_what_to_do(tmp_path):
    done = keychain("list", home=tmp_path)

    assert (done.returncode, done.stdout) == (0, "")
    assert "noetl keychain set NAME --kind KIND" in done.stderr
    assert not (tmp_path / ".noetl").exists()


@pytest.mark.slow
def test_removing_needs_the_name_that_is_there(tmp_path):
    set_api(tmp_path)

    slip = keychain("remove", "apy", home=tmp_path)
    done = keychain("remove", "api", home=tmp_path)

    assert (slip.returncode, 'did you mean "api"?' in slip.stderr) == (2, True)
    assert (done.returncode, done.stdout) == (0, "api  removed\n")
    assert listed(tmp_path) == []


@pytest.mark.slow
@pytest.mark.spec("KC-05", "KC-06")
def test_rotating_changes_the_key_and_keeps_the_value(tmp_path):
    set_api(tmp_path)
    (before,) = listed(tmp_path)

    done = document(keychain("rotate", "--format", "json", home=tmp_path))

    (after,) = listed(tmp_path)
    assert (done["resealed"], done["dropped_key_ids"]) == (1, [before["key_id"]])
    assert after["key_id"] == done["key_id"] != before["key_id"]
    assert keychain("test", "api", home=tmp_path).stdout == "api  bearer, stored: ok: read and complete\n"


@pytest.mark.slow
@pytest.mark.spec("KC-05")
def test_a_key_in_a_variable_makes_no_key_file_and_a_wrong_one_is_told_by_its_id(tmp_path):
    first, second = Key.fresh(), Key.fresh()
    set_api(tmp_path, NOETL_MASTER_KEY=first.as_text())

    wrong = keychain("test", "api", home=tmp_path, NOETL_MASTER_KEY=second.as_text())

    assert not (tmp_path / ".noetl" / "keychain.keys").exists()
    assert wrong.returncode == 1
    assert f"sealed with the key {first.id}, which is not in NOETL_MASTER_KEY (there: {second.id})" in wrong.stdout
    assert not any(key.as_text() in said(wrong) for key in (first, second))


def test_what_is_nowhere_cannot_be_tested(tmp_path):
    done = keychain("test", "api", home=tmp_path)

    assert (done.returncode, "NOETL_SECRET_API is not set" in done.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.spec("KC-05")
def test_a_service_that_does_not_answer_is_exit_3_and_the_password_is_not_said(tmp_path):
    dsn = json.dumps({"dsn": f"postgresql://etl:{PLANTED}@127.0.0.1:1/sales"})
    keychain("set", "db", "--kind", "postgres_credential", "--from-json", "-", home=tmp_path, stdin=dsn)

    done = keychain("test", "db", home=tmp_path)
    only_read = keychain("test", "db", "--no-connect", home=tmp_path)

    assert done.returncode == 3
    assert "127.0.0.1:1/sales" in done.stdout
    assert PLANTED not in said(done)
    assert only_read.returncode == 0


@pytest.mark.spec("KC-05")
def test_no_command_shows_a_value(tmp_path):
    help_text = keychain("--help", home=tmp_path).stdout

    verbs = [line.split()[0] for line in help_text.partition("Commands:\n")[2].splitlines()]
    assert verbs == ["apply", "list", "remove", "rotate", "set", "test"]
