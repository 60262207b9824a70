"""Every example the five documents print checks as its document says (AC-10)."""

from pathlib import Path

import pytest

from noetl.dsl.check import check
from noetl.dsl.normalize import normalize
from noetl.tools.registry import declarations
from tests.dsl.front import FLAGS, PLAYBOOKS, checked

DOCUMENTS = sorted((PLAYBOOKS / "documents").glob("*.yaml"))
LEGACY = [path for path in DOCUMENTS if path.name.startswith("003")]
V10 = [path for path in DOCUMENTS if path.name < "003"]


@pytest.mark.spec("AC-10", "DI-01")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_an_example_of_the_documents_is_valid(path: Path) -> None:
    result = checked(path)

    assert [finding.message for finding in result.findings if finding.severity == "error"] == []
    assert normalize(result.drafts[0]).entry


@pytest.mark.spec("DI-02")
@pytest.mark.parametrize("path", V10, ids=lambda path: path.stem)
def test_strict_refuses_only_the_deprecated_spellings_of_v10(path: Path) -> None:
    result = check(path.read_bytes(), path.name, declarations, is_strict=True)

    assert {finding.code[:3] for finding in result.findings if finding.severity == "error"} <= {"NL9"}


@pytest.mark.spec("PB-09", "PB-10")
@pytest.mark.parametrize("path", LEGACY, ids=lambda path: path.stem)
def test_the_oldest_surface_is_refused_unless_it_is_asked_for(path: Path) -> None:
    result = check(path.read_bytes(), path.name, declarations)

    assert not result.is_valid


def test_flags_of_examples_are_known() -> None:
    assert set(FLAGS) >= {"--legacy", "--strict"}
