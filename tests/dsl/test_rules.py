"""Every rule has a page, a playbook that shows the fault with the exact text it prints, and one that is right."""

import inspect
import re
from types import ModuleType

import pytest

from noetl.dsl.rules import MODULES, by_code, module
from tests.dsl.front import PLAYBOOKS, checked, printed

RULES = [module(name) for name in MODULES]


def name_of(rule: ModuleType) -> str:
    return str(rule.RULE.name)


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_bad_playbook_prints_exactly_its_findings(rule: ModuleType) -> None:
    result = checked(PLAYBOOKS / "bad" / f"{rule.RULE.name}.yaml")

    assert rule.RULE.code in {finding.code for finding in result.findings}
    assert printed(result) == (PLAYBOOKS / "bad" / f"{rule.RULE.name}.out").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_good_playbook_has_no_such_finding(rule: ModuleType) -> None:
    result = checked(PLAYBOOKS / "good" / f"{rule.RULE.name}.yaml")

    assert [finding.message for finding in result.findings if finding.severity == "error"] == []
    assert rule.RULE.code not in {finding.code for finding in result.findings}


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_findings_have_a_severity_that_the_page_of_their_rule_names(rule: ModuleType) -> None:
    path = PLAYBOOKS / "bad" / f"{rule.RULE.name}.yaml"
    if "--strict" in path.read_text(encoding="utf-8", errors="replace").split("\n", 1)[0]:
        return  # there every warning is an error

    for finding in checked(path).findings:
        declared = by_code(finding.code)
        assert declared is not None
        assert finding.severity in (declared.RULE.severity, *declared.RULE.also)


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_a_rule_that_sets_a_severity_of_its_own_says_so(rule: ModuleType) -> None:
    code = inspect.getsource(rule).partition("RULE = ")[2].partition("\n\n")[2]
    said = {
        word
        for part in re.findall(r"severity=([^,\n)]+)", code)
        for word in ("ERROR", "WARNING", "INFO")
        if word in part
    }

    assert {word.lower() for word in said} <= {rule.RULE.severity, *rule.RULE.also}


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_rule_is_named_for_its_fault_and_documents_itself(rule: ModuleType) -> None:
    file_name = rule.__name__.rsplit(".", 1)[1]

    assert file_name == f"{rule.RULE.code.lower()}_{rule.RULE.name.replace('-', '_')}"
    assert by_code(rule.RULE.code) is rule
    assert by_code(rule.RULE.name) is rule
    for section in ("Wrong:", "Right:", "Spec: "):
        assert section in (rule.__doc__ or "")
    assert all(requirement in (rule.__doc__ or "") for requirement in rule.RULE.spec)


def test_codes_are_unique_and_in_order() -> None:
    codes = [rule.RULE.code for rule in RULES]

    assert codes == sorted(set(codes))
