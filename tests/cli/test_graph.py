"""noetl graph: formats, files, exit codes."""

import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import pytest

from noetl.cli import main

GOOD = """apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: good
workflow:
  - step: start
    tool: { kind: noop }
    next:
      arcs:
        - step: finish
          when: "{{ ctx.ready }}"
  - step: finish
    tool: { kind: noop }
"""
BAD = GOOD.replace("- step: finish\n          when", "- step: finnish\n          when")
ODD = GOOD.replace("kind: noop", "kind: nope", 1)


class Done(NamedTuple):
    returncode: int
    stdout: bytes
    stderr: bytes


class Graph:
    """`noetl graph` in this process, in a folder of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.capture = capture
        self.monkeypatch = monkeypatch

    def __call__(self, *words: str, stdin: bytes = b"") -> Done:
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["graph", *words])
        said = self.capture.readouterr()
        return Done(code, said.out, said.err)


@pytest.fixture
def graph(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.chdir(tmp_path)
    for name, text in (("good", GOOD), ("bad", BAD), ("odd", ODD)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Graph(tmp_path, capsysbinary, monkeypatch)


def test_it_is_a_verb_of_the_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "noetl", "graph", "-"]
    done = subprocess.run(command, input=GOOD.encode(), capture_output=True, cwd=tmp_path, timeout=60, check=True)

    assert done.stdout.startswith(b"flowchart TD\n")
    assert done.stderr == b""


def test_mermaid_is_what_one_gets_unasked(graph: Graph) -> None:
    done = graph("good.yaml")

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().startswith("flowchart TD\n")
    assert 's0 -->|"ctx.ready"| s1' in done.stdout.decode()


def test_svg_is_well_formed_and_shows_every_step(graph: Graph) -> None:
    done = graph("good.yaml", "--format", "svg")

    root = ElementTree.fromstring(done.stdout)  # noqa: S314  it is our own
    assert done.returncode == 0
    assert {"start", "finish", "ctx.ready"} <= {element.text for element in root.iter()}


def test_json_is_one_document_and_nothing_else(graph: Graph) -> None:
    done = graph("good.yaml", "--format", "json")

    drawn = json.loads(done.stdout)
    assert (done.returncode, drawn["entry"]) == (0, "start")
    assert [step["name"] for step in drawn["steps"]] == ["start", "finish"]
    assert [(arc["source"], arc["target"], arc["when"]) for arc in drawn["arcs"]] == [("start", "finish", "ctx.ready")]


@pytest.mark.parametrize(
    ("name", "beginning"), [("a.svg", "<svg"), ("a.mmd", "flowchart"), ("a.json", "{"), ("a", "flow")]
)
def test_output_goes_to_a_file_in_the_form_of_its_name(graph: Graph, name: str, beginning: str) -> None:
    done = graph("good.yaml", "-o", name)

    assert (done.returncode, done.stdout) == (0, b"")
    assert (graph.folder / name).read_text(encoding="utf-8").startswith(beginning)


def test_the_form_that_is_asked_for_wins_over_the_name(graph: Graph) -> None:
    assert graph("good.yaml", "-o", "a.svg", "--format", "json").returncode == 0
    assert json.loads((graph.folder / "a.svg").read_text(encoding="utf-8"))["name"] == "good"


def test_standard_input_is_drawn(graph: Graph) -> None:
    done = graph("-", stdin=GOOD.encode())

    assert (done.returncode, done.stdout) == (0, graph("good.yaml").stdout)


def test_arcs_that_lead_nowhere_are_findings_and_exit_code_2(graph: Graph) -> None:
    done = graph("bad.yaml", "-o", "bad.svg")

    assert (done.returncode, done.stdout) == (2, b"")
    assert 'bad.yaml:10:17: error NL501: "start" leads to "finnish"' in done.stderr.decode()
    assert "nothing drawn" in done.stderr.decode()
    assert not (graph.folder / "bad.svg").exists()


def test_where_data_was_asked_for_findings_are_data(graph: Graph) -> None:
    done = graph("bad.yaml", "--format", "json")

    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert (document["status"], [one["code"] for one in document["findings"]]) == ("invalid", ["NL501"])


def test_other_errors_do_not_keep_it_from_drawing(graph: Graph) -> None:
    done = graph("odd.yaml")

    assert done.returncode == 0
    assert done.stdout.decode().startswith("flowchart TD\n")
    assert "note: odd.yaml has 1 error, see: noetl check odd.yaml" in done.stderr.decode()


@pytest.mark.parametrize("text", [b"", b"a: [", b"\xff\xfe\x00", b"3", b"apiVersion: noetl.io/v2\nkind: Schedule\n"])
def test_what_is_no_playbook_is_exit_code_2(graph: Graph, text: bytes) -> None:
    done = graph("-", stdin=text)

    assert done.returncode == 2
    assert b"nothing drawn" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_missing_file_is_exit_code_2(graph: Graph) -> None:
    done = graph("nowhere.yaml")

    assert done.returncode == 2
    assert b'"nowhere.yaml": No such file' in done.stderr


def test_a_second_playbook_in_the_file_is_mentioned(graph: Graph) -> None:
    done = graph("-", stdin=f"{GOOD}---\n{GOOD}".encode())

    assert done.returncode == 0
    assert b"holds 2 playbooks; this is the first" in done.stderr


def test_a_net_too_large_for_a_picture_is_offered_as_text(graph: Graph) -> None:
    steps = "".join(
        f"  - {{ step: s{number}, next: {{ arcs: [{{ step: s{number + 1} }}] }} }}\n" for number in range(1100)
    )
    text = GOOD.split("  - step")[0] + steps + "  - { step: s1100, tool: { kind: noop } }\n"

    done = graph("-", "--format", "svg", stdin=text.encode())

    assert done.returncode == 2
    assert b"at most 1000 are drawn. Take --format mermaid or json" in done.stderr


def test_the_old_surface_is_drawn_when_it_is_allowed(graph: Graph) -> None:
    text = GOOD.replace(
        "      arcs:\n        - step: finish\n          when", "      - step: finish\n        when"
    ).encode()

    assert graph("-", stdin=text).returncode == 2
    assert graph("-", "--legacy", stdin=text).returncode == 0
