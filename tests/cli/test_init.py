"""noetl init, as whole processes: what it writes checks, runs and stays; what is there is never lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from noetl.cli import exits
from noetl.config import load
from noetl.projects import PROJECTS, project_files
from tests.cli.running import document, noetl, serving_api

ALWAYS = {"README.md", "noetl.toml", ".gitignore", "noetl.schema.json"}
QUOTE = {"items": ["book", "lamp", "chair"], "dearest": 100, "total": 175.9}
LARGE = {"orders": 3, "total": 77.0, "text": "a large total: 77.0 of 50 or more"}


def init(folder, *words):
    return noetl("init", *words, home=folder)


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def run(folder, template, *words):
    """Run a project's playbook in its folder."""
    return document(noetl("run", f"{PROJECTS[template].playbook}.yaml", "--format", "json", *words, home=folder))


@pytest.fixture
def shop(tmp_path):
    """The API of a project that brings one; its address."""
    assert init(tmp_path, "shop", "--template", "paging").returncode == exits.DONE
    with serving_api(tmp_path / "shop") as url:
        yield url


# --- what is written -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", PROJECTS)
def test_a_project_has_a_playbook_its_test_settings_and_a_schema(template, tmp_path):
    done = document(init(tmp_path, "new", "--template", template, "--format", "json"))

    playbook = PROJECTS[template].playbook
    assert done == {"dir": "new", "template": template, "files": done["files"], "kept": []}
    assert set(done["files"]) == files_below(tmp_path / "new")
    assert {f"{playbook}.yaml", f"tests/{playbook}.test.yaml", *ALWAYS} <= set(done["files"])
    assert (tmp_path / "new" / ".noetl").is_dir()


@pytest.mark.parametrize("template", PROJECTS)
def test_its_playbook_has_nothing_that_a_strict_check_or_the_layout_would_change(template, tmp_path):
    init(tmp_path, "--template", template)
    playbook = f"{PROJECTS[template].playbook}.yaml"

    checked = noetl("check", "--strict", "--format", "json", playbook, home=tmp_path)
    laid_out = noetl("fmt", "--check", ".", home=tmp_path)

    assert (checked.returncode, document(checked)) == (exits.DONE, [])
    assert laid_out.returncode == exits.DONE, laid_out.stderr


@pytest.mark.parametrize("template", PROJECTS)
def test_its_documents_name_the_schema_that_lies_beside_them(template, tmp_path):
    init(tmp_path, "--template", template)
    playbook = PROJECTS[template].playbook

    for name in (f"{playbook}.yaml", f"tests/{playbook}.test.yaml"):
        first = (tmp_path / name).read_text("utf-8").splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema=")
        assert ((tmp_path / name).parent / first.partition("=")[2]).resolve() == tmp_path / "noetl.schema.json"
    assert (tmp_path / "noetl.schema.json").read_text("utf-8") == noetl("schema", home=tmp_path).stdout


def test_its_settings_are_settings_and_keep_runs_in_the_project(tmp_path):
    init(tmp_path)

    settings = load(home=None, store=None, environ={}, folder=tmp_path / "tests", flags={})

    assert Path(settings.home) == tmp_path / ".noetl"


def test_the_same_file_is_written_wherever_a_path_has_its_folder(tmp_path):
    init(tmp_path, "a/b/c")

    assert files_below(tmp_path / "a" / "b" / "c") == {*project_files(PROJECTS["small"]), "noetl.schema.json"}


# --- that it runs ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("template", "output"), [("small", LARGE), ("fan-out", QUOTE)])
def test_what_needs_nothing_runs_as_written(template, output, tmp_path):
    init(tmp_path, "--template", template)

    found = run(tmp_path, template)

    assert (found["status"], found["output"]["data"]) == ("success", output)


@pytest.mark.slow
@pytest.mark.parametrize("template", PROJECTS)
def test_its_tests_pass_as_written_and_take_every_arc_and_rule(template, tmp_path):
    init(tmp_path, "--template", template)

    checked = noetl("check", "--strict", ".", home=tmp_path)
    tested = noetl("test", "--coverage-min", "100", home=tmp_path)

    assert (checked.returncode, tested.returncode) == (exits.DONE, exits.DONE), checked.stdout + tested.stdout
    assert "(100%)" in tested.stdout + tested.stderr
    assert checked.stderr == f"next: noetl run .{os.sep}{PROJECTS[template].playbook}.yaml\n"


@pytest.mark.slow
def test_its_test_fails_when_its_playbook_is_changed(tmp_path):
    init(tmp_path)
    playbook = tmp_path / "orders.yaml"
    playbook.write_text(playbook.read_text().replace("ctx.total >= workload", "ctx.total < workload"))

    done = noetl("test", home=tmp_path)

    assert done.returncode == exits.FAILED
    assert "a large total is reported as one" in done.stdout


@pytest.mark.slow
def test_the_small_one_takes_its_error_path_when_its_input_is_wrong(tmp_path):
    init(tmp_path)

    found = run(tmp_path, "small", "--set", "orders=[{item: sofa, pieces: 1}]")

    assert found["output"]["data"] == {"alarm": "ValueError: there is no price for a sofa (line 2 of the code)"}


@pytest.mark.slow
def test_paging_reads_every_page_of_the_api_it_brings(tmp_path, shop):
    init(tmp_path, "--template", "paging")

    found = run(tmp_path, "paging", "--set", f"api_url={shop}")

    assert found["output"]["data"] == {"rows": 17, "amount": 337.5, "missing": ["invoices"], "failed": 0}


@pytest.mark.slow
@pytest.mark.spec("ST-12")
def test_saga_gives_back_at_the_api_what_it_took(tmp_path, shop):
    init(tmp_path, "--template", "saga")

    good = run(tmp_path, "saga", "--set", f"api_url={shop}")
    undone = run(tmp_path, "saga", "--set", f"api_url={shop}", "--set", "city=Atlantis")

    assert (good["status"], good["output"]["data"]["shipment"]) == ("success", "S3")
    assert (undone["status"], undone["error"]["step"]) == ("failed", "ship")
    (tmp_path / "left.yaml").write_text(LEFT)
    left = document(noetl("run", "left.yaml", "--format", "json", "--set", f"api_url={shop}", home=tmp_path))
    assert [list(kept) for kept in left["output"]["data"]] == [["R1"], ["P2"], ["S3"]]


def test_a_port_that_is_taken_is_said_with_what_to_do(tmp_path, shop):
    port = shop.rpartition(":")[2]

    second = subprocess.run(
        [sys.executable, "api.py", "--port", port], cwd=tmp_path / "shop", capture_output=True, text=True, check=False
    )

    assert second.returncode == 1
    assert second.stderr.startswith(f"port {port} cannot be used (Address already in use); python api.py --port 0")


LEFT = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: left}
workload: {api_url: ""}
workflow:
  - step: look
    loop: {in: "{{ ['reservations', 'payments', 'shipments'] }}", iterator: what}
    tool: {kind: http, input: {url: "{{ workload.api_url }}/{{ iter.what }}"}}
"""


# --- what is there ---------------------------------------------------------------------------------------------------


def test_files_that_are_there_are_all_named_and_nothing_is_written(tmp_path):
    (tmp_path / "orders.yaml").write_text("mine")
    (tmp_path / "noetl.toml").write_text("# mine too")

    done = init(tmp_path)

    assert (done.returncode, done.stdout) == (exits.WRONG_INPUT, "")
    assert '"orders.yaml", "noetl.toml" are there already, and nothing was written' in done.stderr
    assert files_below(tmp_path) == {"orders.yaml", "noetl.toml"}
    assert (tmp_path / "orders.yaml").read_text() == "mine"


def test_force_writes_over_files_of_its_own_names_and_no_others(tmp_path):
    (tmp_path / "orders.yaml").write_text("mine")
    (tmp_path / "invoices.yaml").write_text("mine")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "mine.yaml").write_text("mine")

    done = init(tmp_path, "--force")

    assert done.returncode == exits.DONE
    assert (tmp_path / "orders.yaml").read_bytes() == project_files(PROJECTS["small"])["orders.yaml"]
    assert (tmp_path / "invoices.yaml").read_text() == (tmp_path / "tests" / "mine.yaml").read_text() == "mine"


@pytest.mark.parametrize("words", [(), ("--force",)])
def test_a_git_repository_keeps_its_readme_and_ignores_runs_too(words, tmp_path):
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "README.md").write_text("# Shop")
    (tmp_path / ".gitignore").write_bytes(b"*.log\n__pycache__/\r\n/build")

    done = init(tmp_path, *words)
    noetl("run", "orders.yaml", home=tmp_path)
    seen = subprocess.run(["git", "status", "--short", "-uall"], cwd=tmp_path, capture_output=True, text=True).stdout

    assert done.returncode == exits.DONE, done.stderr
    assert "README.md" in done.stdout.partition("was there")[0]
    assert (tmp_path / "README.md").read_text() == "# Shop"
    ignored = (tmp_path / ".gitignore").read_bytes()
    assert ignored.startswith(b"*.log\n__pycache__/\r\n/build\n.noetl/\n")
    assert ignored.count(b"__pycache__") == 1
    assert ".noetl/" not in seen


def test_a_second_time_is_refused_and_forced_leaves_everything_as_it_is(tmp_path):
    init(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in files_below(tmp_path)}

    again = init(tmp_path)
    forced = document(init(tmp_path, "--force", "--format", "json"))

    assert again.returncode == exits.WRONG_INPUT
    assert '"orders.yaml", "tests/orders.test.yaml"' in again.stderr
    assert forced["kept"] == ["README.md", ".gitignore"]
    assert {name: (tmp_path / name).read_bytes() for name in files_below(tmp_path)} == before


@pytest.mark.parametrize("name", ["new", "new/tests", "new/.noetl", "new/orders.yaml"])
def test_something_else_in_the_place_of_a_file_or_folder_is_refused_even_with_force(name, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if name.endswith(".yaml"):
        path.mkdir()
    else:
        path.write_text("mine")

    done = init(tmp_path, "new", "--force")

    assert done.returncode == exits.WRONG_INPUT
    assert name in done.stderr
    assert files_below(tmp_path) <= {name}


def test_a_disk_that_is_full_in_the_middle_leaves_everything_as_it_was(tmp_path):
    resource = pytest.importorskip("resource", reason="no limit of file sizes here")
    (tmp_path / "orders.yaml").write_text("mine")

    done = subprocess.run(
        [sys.executable, "-m", "noetl", "init", "--force"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),  # the schema is larger
    )

    assert done.returncode != exits.DONE
    assert "error:" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"orders.yaml"}
    assert (tmp_path / "orders.yaml").read_text() == "mine"


@pytest.mark.parametrize("name", ["a/b/" + "x" * 300, "a/file/sub", "a/b/../file/sub", ""])
def test_a_folder_that_cannot_be_is_refused_with_what_to_do_and_nothing_is_left_behind(name, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("mine")

    done = init(tmp_path, name)

    assert done.returncode not in (exits.DONE, exits.UNREACHABLE)
    assert "folder" in done.stderr.splitlines()[0]
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["a", "a/file"]


def test_a_folder_that_nobody_may_write_to_is_said_and_stays_as_it_is(tmp_path):
    (tmp_path / "kept").mkdir()
    read_only = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    command = f"mount --bind -o ro kept kept && {sys.executable} -m noetl init kept/new"
    if subprocess.run([*read_only, "mount --bind -o ro kept kept"], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("no folder can be made read-only for everybody here")

    done = subprocess.run([*read_only, command], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode != exits.DONE
    assert done.stderr.startswith('error: "kept/new": Read-only file system; nothing was written: make room')
    assert not any((tmp_path / "kept").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["my project", "проект 项目", "it's $HOME; `x`", "-dash"])
def test_what_it_says_to_do_next_works_when_pasted_whatever_the_folder_is_called(name, tmp_path):
    bin_folder = str(Path(sys.executable).parent)
    done = noetl("init", "--", name, home=tmp_path)

    lines = [line.removeprefix("next: ") for line in done.stderr.splitlines()]
    pasted = subprocess.run(
        ["sh", "-e"],
        input="\n".join(lines),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"},
    )

    assert (lines[0][:3], pasted.returncode) == ("cd ", exits.DONE), pasted.stdout + pasted.stderr
    assert "4 passed" in pasted.stdout + pasted.stderr
    assert (tmp_path / name / ".noetl" / "noetl.db").exists()


# --- what it says ----------------------------------------------------------------------------------------------------


NEXT = [f"next: noetl {words}" for words in ("check orders.yaml", "test", "run orders.yaml", "show last")]


def test_it_ends_with_the_commands_to_go_on_with_the_folder_first(tmp_path):
    here = init(tmp_path)
    elsewhere = init(tmp_path, "my project")
    with_needs = init(tmp_path, "shop", "--template", "saga")

    assert here.stderr.splitlines() == NEXT
    assert elsewhere.stderr.splitlines() == ["next: cd 'my project'", *NEXT]
    assert with_needs.stderr.startswith("note: python api.py, in another terminal,")


def test_the_list_names_every_template_and_writes_nothing(tmp_path):
    listed = init(tmp_path, "--list").stdout
    as_data = json.loads(init(tmp_path, "--list", "--format", "json").stdout)

    assert [name for name in PROJECTS if name not in listed] == []
    assert [row["template"] for row in as_data] == [*PROJECTS]
    assert not any(tmp_path.iterdir())


def test_a_template_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    done = init(tmp_path, "--template", "fanout")

    assert done.returncode == exits.WRONG_INPUT
    assert "'fan-out'" in done.stderr
