"""An execution with large results as one file that opens anywhere: whole processes, from one home into an empty one."""

import base64
import json
import re
import shutil

import pytest

from noetl.cli import exits
from noetl.cli.main import main
from noetl.control import exported_payloads
from tests.cli.remote_server import serving
from tests.cli.running import HEAD, document, noetl

pytestmark = pytest.mark.slow  # several processes each

LARGE = (
    HEAD
    + """keychain:
  - {name: api, kind: bearer}
workflow:
  - step: make
    tool:
      kind: python
      input: {token: "{{ keychain.api.token }}"}
      code: 'return [{"n": n, "said": input["token"]} for n in range(5000)]'
    set: {ctx.rows_ref: "{{ output.ref }}"}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: "{{ range(3) }}", iterator: i, spec: {mode: sequential}}
    tool:
      kind: python
      input: {i: "{{ iter.i }}"}
      code: return [input["i"]] * 40000
    next: {arcs: [{step: read}]}
  - step: read
    tool:
      - {name: fetch, kind: resolve, ref: "{{ ctx.rows_ref }}"}
      - {name: count, kind: python, input: {rows: "{{ fetch.data }}"}, code: "return len(input['rows'])"}
"""
)
CANARY = "canary-51c7d2e90a"
SECRET = json.dumps({"token": CANARY})
PAYLOAD = re.compile(r'^\{"payload":"([0-9a-f]{64})"', re.MULTILINE)


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "large.yaml").write_text(LARGE)
    done = noetl("run", "large.yaml", "--format", "json", home=folder, NOETL_SECRET_API=SECRET)
    assert document(done)["output"]["data"] == 5000, done.stderr
    return folder


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def exported(home, *words, name="run.noetl"):
    done = noetl("export", "last", "-o", name, "--force", "--format", "json", *words, home=home)
    assert done.returncode == exits.DONE, done.stderr
    return document(done), (home / name).read_text()


def events_of(text):
    """The log of a file, without what only its store knows."""
    header, *lines = map(json.loads, text.splitlines())
    events = lines[: header["events"]]
    return [{key: value for key, value in event.items() if key not in ("version", "lease")} for event in events]


# --- the file --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RS-01", "EV-05")
def test_payloads_come_along_each_once_and_without_secrets(home):
    row, text = exported(home)

    shas = PAYLOAD.findall(text)
    assert len(shas) == len(set(shas)) == row["payloads"] == 5  # rows, three iterations, the loop's list
    counts = {"payloads": 5, "left_out": 0, "not_looked_for": 0}
    assert (row["left_out"], json.loads(text.splitlines()[-1])) == ([], {"end": counts})
    pieces = [json.loads(line) for line in text.splitlines() if line.startswith('"')]
    assert CANARY not in text
    assert CANARY.encode() not in b"".join(map(base64.b64decode, pieces))


def test_without_payloads_the_file_is_the_log_alone(home):
    row, text = exported(home, "--no-payloads")

    header = json.loads(text.splitlines()[0])
    assert (row["payloads"], header["has_payloads"]) == (0, False)
    assert len(text.splitlines()) == 1 + header["events"]


def test_what_has_no_room_is_left_out_and_named(home):
    row, _ = exported(home, "--payloads-mb-max", "0")

    said = noetl("export", "last", "-o", "again.noetl", "--payloads-mb-max", "0", home=home)

    assert (row["payloads"], len(row["left_out"])) == (0, 5)
    assert "may have 0 bytes" in row["left_out"][0]["why"]
    assert said.stderr.count("left out: ") == 5
    assert "do: allow more with --payloads-mb-max, up to 1024" in said.stderr


def test_more_payloads_than_a_file_may_have_are_said_with_what_to_do(home, elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(exported_payloads, "PAYLOADS_MAX", 3)
    monkeypatch.setenv("NOETL_HOME", str(home / ".noetl"))
    file = str(elsewhere / "run.noetl")

    assert main(["export", "last", "-o", file]) == exits.DONE
    said = capsys.readouterr().err
    assert main(["export", "last", "-o", file, "--force", "--format", "json"]) == exits.DONE
    row = json.loads(capsys.readouterr().out)
    imported = noetl("import", file, home=elsewhere)

    assert "left out: 3 further names of payloads, for one file may not have so many" in said
    assert "do: to have all of it elsewhere, copy the home" in said
    assert (row["payloads"], row["left_out"], row["not_looked_for"]) == (3, [], 3)
    assert "3 further names of payloads, for one file may not have so many, did not come along" in imported.stderr


def test_a_payload_that_is_gone_is_left_out_and_the_rest_is_good(home, elsewhere):
    sha = PAYLOAD.findall(exported(home)[1])[0]
    (home / ".noetl" / "noetl.results" / sha[:2] / sha[2:]).unlink()

    row, _ = exported(home)
    imported = document(noetl("import", str(home / "run.noetl"), "--format", "json", home=elsewhere))

    assert [one["sha256"] for one in row["left_out"]] == [sha]
    assert [one["sha256"] for one in imported["left_out"]] == [sha]


# --- elsewhere -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RS-02", "EV-05")
def test_an_imported_execution_works_in_an_empty_home_as_where_it_came_from(home, elsewhere):
    row, text = exported(home)

    imported = document(noetl("import", str(home / "run.noetl"), "--format", "json", home=elsewhere))
    again = exported(elsewhere)[1]

    assert (imported["payloads"], imported["left_out"], imported["status"]) == (row["payloads"], [], "success")
    assert events_of(again) == events_of(text)
    assert sorted(PAYLOAD.findall(again)) == sorted(PAYLOAD.findall(text))
    for words in (("show", "last"), ("events", "last"), ("replay", "last", "--verify"), ("why", "last", "read")):
        assert noetl(*words, home=elsewhere).returncode == exits.DONE, words
    assert read_again(elsewhere) == 5000


def read_again(home, **environ):
    """What a rerun of the imported execution reads of what came along."""
    words = ("rerun", "last", "--from", "read", "--format", "json")
    done = noetl(*words, home=home, NOETL_SECRET_API=SECRET, **environ)
    return document(done)["output"]["data"]


def test_the_same_file_again_brings_payloads_back_that_have_gone(home, elsewhere):
    exported(home)
    first = document(noetl("import", str(home / "run.noetl"), "--format", "json", home=elsewhere))
    shutil.rmtree(elsewhere / ".noetl" / "noetl.results")

    again = document(noetl("import", str(home / "run.noetl"), "--format", "json", home=elsewhere))

    assert (again["execution_id"], again["is_new"], again["payloads"]) == (first["execution_id"], False, 5)
    assert read_again(elsewhere) == 5000


FAILING = (
    HEAD
    + """workload: {limit: 2}
workflow:
  - step: each
    loop: {in: "{{ range(4) }}", iterator: i, spec: {mode: sequential}}
    tool:
      kind: python
      input: {i: "{{ iter.i }}", limit: "{{ workload.limit }}"}
      code: |
        if input["i"] >= input["limit"]:
            raise ValueError("too many")
        return [input["i"]] * 40000
    next: {arcs: [{step: report}]}
  - step: report
    tool: {kind: noop}
"""
)


@pytest.mark.spec("EV-05")
def test_an_imported_failure_is_explained_compared_and_gone_on_with_as_where_it_came_from(home, elsewhere):
    (home / "failing.yaml").write_text(FAILING)
    failed = document(noetl("run", "failing.yaml", "--format", "json", home=home))
    exported(home)
    document(noetl("import", str(home / "run.noetl"), "--format", "json", home=elsewhere))

    words = ("why", "last", "report", "--format", "json")
    there, here = (document(noetl(*words, home=folder)) for folder in (elsewhere, home))
    again = noetl("rerun", "last", "--from", "each", "--set", "limit=9", "--format", "json", home=elsewhere)
    listed = document(noetl("list", "--format", "json", home=elsewhere))
    compared = noetl("diff", listed[1]["execution_id"], listed[0]["execution_id"], "--format", "json", home=elsewhere)

    assert failed["status"] == "failed"
    assert {key: there[key] for key in there if "id" not in key} == {key: here[key] for key in here if "id" not in key}
    assert (again.returncode, document(again)["status"]) == (exits.DONE, "success")
    assert document(compared)["is_same"] is False


def test_a_store_of_another_kind_takes_them_too(home, elsewhere):
    exported(home)

    done = noetl("import", str(home / "run.noetl"), home=elsewhere, NOETL_RESULTS_STORES="sqlite")

    assert done.returncode == exits.DONE, done.stderr
    assert read_again(elsewhere, NOETL_RESULTS_STORES="sqlite") == 5000


def test_what_another_kind_of_store_kept_is_found_by_its_sha256(tmp_path, elsewhere):
    folder = tmp_path / "sqlite"
    folder.mkdir()
    (folder / "large.yaml").write_text(LARGE)
    noetl("run", "large.yaml", home=folder, NOETL_SECRET_API=SECRET, NOETL_RESULTS_STORES="sqlite")
    noetl("export", "last", "-o", "run.noetl", home=folder, NOETL_RESULTS_STORES="sqlite")

    done = noetl("import", str(folder / "run.noetl"), home=elsewhere)

    assert done.returncode == exits.DONE, done.stderr
    assert noetl("eval", "last", "ctx.rows_ref.locator", home=elsewhere).stdout.startswith("sha256:")
    assert noetl("replay", "last", "--verify", home=elsewhere).returncode == exits.DONE
    assert read_again(elsewhere) == 5000


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda lines: lines[:-1], "it ends here, before its payloads do"),
        (lambda lines: [*lines[:-2], lines[-2][:8] + b"AAAA" + lines[-2][12:], lines[-1]], "has not the sha256"),
        (lambda lines: [*lines, b"{}"], "nothing may follow the end"),
        (
            lambda lines: [*lines[:-1], lines[-1].replace(b'"payloads":5', b'"payloads":4')],
            "the end counts other payloads",
        ),
        (lambda lines: [*lines[:-2], b'"?"', lines[-1]], "must be base64"),
    ],
)
def test_a_damaged_payload_is_refused_with_its_line_and_no_execution_is_kept(home, elsewhere, damage, why):
    exported(home)
    lines = (home / "run.noetl").read_bytes().splitlines()
    (elsewhere / "bad.noetl").write_bytes(b"\n".join(damage(lines)) + b"\n")

    done = noetl("import", "bad.noetl", home=elsewhere)

    assert done.returncode == exits.WRONG_INPUT
    assert why in done.stderr
    assert re.search(r"line \d+ of the exported execution", done.stderr)
    assert document(noetl("list", "--format", "json", home=elsewhere)) == []


# --- over a server ---------------------------------------------------------------------------------------------------


@pytest.mark.xdist_group("remote")
def test_a_server_exports_payloads_and_shows_them_in_a_viewing(home, elsewhere):
    with serving(home / ".noetl", NOETL_SECRET_API=SECRET) as server:
        ask = ("--server", server.url, "--token-file", str(home / ".noetl" / "server.token"))
        local = exported(home, name="local.noetl")[1]
        there = noetl("export", "last", "-o", "there.noetl", "--format", "json", *ask, home=elsewhere)
        assert document(there)["payloads"] == 5, there.stderr
        fetched = (elsewhere / "there.noetl").read_text()

    assert sorted(PAYLOAD.findall(fetched)) == sorted(PAYLOAD.findall(local))
    assert CANARY not in fetched
