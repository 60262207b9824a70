"""noetl diff: two executions, and the first place in which they part."""

from pathlib import Path

import pytest

from noetl.cli import exits
from tests.cli.running import HEAD, document, noetl

pytestmark = pytest.mark.slow

TEXT = (
    HEAD
    + """workload: {limit: 5, rows: 3}
workflow:
  - step: read
    tool: {name: one, kind: noop, input: {rows: "{{ workload.rows }}"}}
    set: {ctx.rows: "{{ output.data.rows }}"}
    next:
      spec: {mode: exclusive}
      arcs:
        - {step: many, when: "{{ ctx.rows > workload.limit }}"}
        - {step: few}
  - step: many
    tool: {kind: noop}
  - step: few
    tool: {kind: noop}
"""
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diff")
    (folder / "text.yaml").write_text(TEXT)
    (folder / "edited.yaml").write_text(
        TEXT.replace("step: few\n    tool: {kind: noop}", "step: few\n    tool: {kind: noop, input: {a: 1}}")
    )
    for words in ((), (), ("--set", "limit=1"), ("--set", "rows=9")):
        assert noetl("run", "text.yaml", *words, "--quiet", home=folder).returncode == exits.DONE
    assert noetl("run", "edited.yaml", "--quiet", home=folder).returncode == exits.DONE
    return folder


def line_of(words: str) -> int:
    return TEXT[: TEXT.index(words)].count("\n") + 1


def test_two_runs_that_did_the_same_are_the_same(home: Path) -> None:
    done = noetl("diff", "1", "2", home=home)

    assert done.returncode == exits.DONE, done.stderr
    assert "they tell the same story" in done.stdout


def test_the_arc_that_was_taken_is_named_with_its_lines(home: Path) -> None:
    found = document(noetl("diff", "1", "3", "--format", "json", home=home))
    said = noetl("diff", "1", "3", home=home)

    assert said.returncode == exits.FAILED
    assert [row["path"] for row in found["inputs"]] == ["workload.limit"]
    first = found["first"]
    assert (first["step"], first["what"], first["field"]) == ("read", "arcs", "fired")
    assert [side[0]["step"] for side in (first["before"], first["after"])] == ["few", "many"]
    assert first["lines"] == [line_of("{step: few}"), line_of("{step: many")]
    assert {row["step"] for row in found["steps"]} == {"read", "few", "many"}
    assert 'step "read" took other arcs' in said.stdout
    assert said.stderr == "next: noetl why 3 read\nnext: noetl show 3\n"


def test_another_output_is_told_before_the_arc_it_led_to(home: Path) -> None:
    found = document(noetl("diff", "1", "4", "--format", "json", home=home))

    assert (found["first"]["task"], found["first"]["field"]) == ("one", "output")
    assert found["first"]["differences"] == [{"path": "output.data.rows", "before": 3, "after": 9}]
    assert [row["path"] for row in found["ctx"]] == ["ctx.rows"]


def test_steps_whose_text_changed_are_named(home: Path) -> None:
    found = document(noetl("diff", "1", "5", "--format", "json", home=home))

    assert found["playbook"] == {"is_same": False, "steps": [{"step": "few", "change": "changed"}]}
    assert found["first"]["step"] == "few"


def test_what_is_not_there_is_wrong_input(home: Path) -> None:
    assert noetl("diff", "1", "99", home=home).returncode == exits.WRONG_INPUT
