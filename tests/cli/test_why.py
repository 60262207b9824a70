"""noetl why and noetl eval, as whole processes over one home."""

import pytest

from noetl.cli import exits
from tests.cli.running import GREET, document, noetl


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("why")
    (folder / "greet.yaml").write_text(GREET)
    assert noetl("run", "greet.yaml", home=folder).returncode == 0
    return folder


def test_why_names_the_arc_its_line_and_the_values_it_saw(home):
    done = noetl("why", "last", "never", home=home)

    assert done.returncode == exits.DONE
    lines = done.stdout.splitlines()
    assert lines[0].startswith('"never"')
    assert "{{ ctx.text == 'never' }} was false (ctx.text = \"hello\")" in lines[2]
    assert 'It went to "end" instead.' in lines[2]
    (arc,) = [line for line in lines if "arc 1: never" in line]
    number = next(n for n, line in enumerate(GREET.splitlines(), 1) if "- step: never" in line)
    assert arc.split()[-6:] == [f"{number}", "{{", "ctx.text", "==", "'never'", "}}", "false"][-6:]
    assert '      ctx.text = "hello"' in lines


def test_why_as_json_is_the_document_of_the_api(home):
    found = document(noetl("why", "last", "end", "--format", "json", home=home))

    assert (found["step"], found["status"]) == ("end", "success")
    assert found["visits"][0]["verdicts"][0]["note"] == ""


def test_why_of_a_step_that_is_not_there_is_wrong_input(home):
    done = noetl("why", "last", "nevr", home=home)

    assert done.returncode == exits.WRONG_INPUT
    assert 'did you mean "never"?' in done.stderr


@pytest.mark.parametrize("words", [("why", "77", "start"), ("eval", "77", "1")])
def test_an_execution_that_is_not_there_is_wrong_input(home, words):
    assert noetl(*words, home=home).returncode == exits.WRONG_INPUT


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ctx.text | upper",), "HELLO"),
        (("{{ workload.place }}",), '{\n  "city": "Rome"\n}'),
        (("ctx.text is defined", "--at", "3"), "false"),
        (("output.data.city", "--run", "1", "--at", "8"), "Rome"),
        (("start.status", "--step", "never"), "ok"),
    ],
)
def test_eval_prints_the_value(home, words, said):
    done = noetl("eval", "last", *words, home=home)

    assert (done.returncode, done.stdout.strip()) == (exits.DONE, said)


def test_an_expression_with_a_mistake_shows_where_it_is(home):
    done = noetl("eval", "last", "ctx.text | upperr", home=home)

    assert (done.returncode, done.stdout) == (exits.WRONG_INPUT, "")
    message, shown, mark = done.stderr.splitlines()
    assert message.startswith("error: there is no filter 'upperr'")
    assert shown[mark.index("^") :].startswith("upperr")


def test_eval_as_json_has_the_error_in_the_document(home):
    done = noetl("eval", "last", "1 +", "--format", "json", home=home)

    assert done.returncode == exits.WRONG_INPUT
    assert document(done)["error"] == {"message": "the expression is not finished", "column": 4}
