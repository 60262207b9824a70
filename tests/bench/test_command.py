"""python -m bench: what is chosen, and what is refused."""

import pytest

from bench.__main__ import PARTS, chosen, parser


def test_a_part_that_does_not_exist_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["--only", "embedded,milion"])

    assert ended.value.code == 2
    assert "milion: there is no such part" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], list(PARTS)),
        (["--only", "cluster,limits"], ["limits", "cluster"]),
        (["--peers", "dbos"], [*PARTS, "peers"]),
        (["--only", "peers", "--peers", "dbos"], ["peers"]),
    ],
)
def test_parts_are_measured_in_their_own_order(words: list[str], names: list[str]) -> None:
    arguments = parser().parse_args(words)

    assert chosen(arguments) == names
