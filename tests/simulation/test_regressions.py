"""Cases that once failed never fail again, and still would with the fault that they met."""

from pathlib import Path

import pytest

from noetl.testing.simulator.mutants import fixed, planted
from noetl.testing.simulator.regressions import UNEXPLAINED, kept, read
from noetl.testing.simulator.runs import run

FILES = kept(Path(__file__).parent / "regressions")


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_case_that_once_failed_passes(file):
    verdict = run(read(file).case)

    assert verdict.violation is None


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_kept_case_fails_again_with_the_fault_that_it_met(file):
    regression = read(file)

    with planted(regression.mutant):
        verdict = run(regression.case)

    assert verdict.violation is not None
    assert verdict.violation.invariant == regression.invariant


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_kept_case_says_what_was_wrong(file):
    regression = read(file)

    assert file.stem == regression.id
    assert regression.why != UNEXPLAINED


def test_every_fault_that_was_fixed_has_its_case():
    assert {mutant.name for mutant in fixed.MUTANTS} == {read(file).mutant for file in FILES}
