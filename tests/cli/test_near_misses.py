"""What somebody may have meant is said: files, options, commands; and what is missing is called by its own name."""

import pytest

from noetl.cli.main import main
from tests.cli.running import GREET


@pytest.fixture
def said(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / ".noetl"))
    (tmp_path / "greet.yaml").write_text(GREET)
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "orders.yaml").write_text(GREET)
    (tmp_path / "broken.yaml").write_text("a: [1\n")

    main(["catalog", "register", "greet.yaml"])

    def run(*words):
        code = main(words)
        return code, capfd.readouterr().err

    return run


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("run greet.yml", 'fix: did you mean "greet.yaml"?'),
        ("run books/order.yaml", 'fix: did you mean "books/orders.yaml"?'),
        ("catalog register gret.yaml", 'fix: did you mean "greet.yaml"?'),
        ("run greet.yaml --payload @gret.yaml", 'fix: did you mean "greet.yaml"?'),
        ("graph gret.yaml", 'fix: did you mean "greet.yaml"?'),
        ("run greet.yaml --sett a=1", "; did you mean "),
        ("catalog lst", "did you mean 'list'?\n"),
        ("run greet.yaml --set", "next: noetl run --help"),
        ("graph greet.yaml -o no/such/x.svg", "no/such"),
        ("graph broken.yaml", "next: noetl explain NL101"),
        ("check nothing.yaml", "next: noetl check FILE"),
        ("schedule show nightly", "next: noetl schedule list"),
        ("trigger show hooked", "next: noetl trigger list"),
        ("token revoke abcd", "next: noetl token list"),
    ],
)
def test_a_mistake_is_met_with_what_was_meant_or_what_to_do(said, line, says):
    code, told = said(*line.split())

    assert code == 2
    assert says in told
    assert ".noetl-" not in told  # no name of a temporary file


def test_a_name_that_nothing_is_like_is_met_with_no_guess(said):
    assert "did you mean" not in said("run", "zebra.yaml")[1]
