"""A share of what `make fuzz` tries at length: bodies of the API, messages of workers, references, exported files."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.targets import TARGETS, Target, input_of

SHARES = {"bodies": 400, "messages": 1000, "reports": 150, "references": 1000, "exports": 150}
TIMES = float(os.environ.get("NOETL_FUZZ_TIMES", "1"))
SEED = 1
REGRESSIONS = Path(__file__).parent / "regressions"


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    with TARGETS[request.param](tmp_path) as opened:
        yield opened


def test_every_target_has_its_share() -> None:
    assert SHARES.keys() == TARGETS.keys()


@pytest.mark.slow
@pytest.mark.spec("RO-03", "RS-02")
@pytest.mark.parametrize(("target", "name"), [(name, name) for name in TARGETS], indirect=["target"])
def test_nothing_that_is_sent_does_what_must_not_happen(target: Any, name: str) -> None:
    for number in range(round(SHARES[name] * TIMES)):
        data = input_of(target, SEED, number)
        try:
            target.attempt(data)
        except Exception as problem:
            problem.add_note(f"{name}, seed {SEED}, input {number}: {data!r}")
            raise


@pytest.mark.slow
def test_bodies_come_through_as_well_as_being_refused(tmp_path: Path) -> None:
    """Else nothing behind the front door would have been tried."""
    with TARGETS["bodies"](tmp_path) as target:
        for number in range(SHARES["bodies"]):
            target.attempt(input_of(target, SEED, number))
        statuses: dict[int, int] = target.statuses  # type: ignore[attr-defined]  # of this target

    assert {200, 400, 404, 422} <= set(statuses)


@pytest.mark.parametrize(
    ("target", "path"),
    [(path.parent.name, path) for path in sorted(REGRESSIONS.glob("*/*.json"))],
    indirect=["target"],
    ids=lambda value: value.stem if isinstance(value, Path) else value,
)
def test_what_once_went_wrong_does_not_go_wrong_again(target: Target, path: Path) -> None:
    target.attempt(path.read_bytes())
