"""AC-1, policy validation: a policy that is no object is refused, and so is a rule whose then has no do."""

import pytest

from tests.acceptance.noetl import Noetl

NOT_AN_OBJECT = {
    "a list of rules": "[{else: {then: {do: continue}}}]",
    "a text": "retry",
    "a number": "3",
    "true": "true",
    "no rules": "{mode: exclusive}",
    "rules that are no list": "{rules: {else: {then: {do: continue}}}}",
}
NO_DO = {
    "then without do": "{rules: [{when: '{{ true }}', then: {attempts: 3}}]}",
    "empty then": "{rules: [{when: '{{ true }}', then: {}}]}",
    "no then": "{rules: [{when: '{{ true }}'}]}",
    "else without do": "{rules: [{else: {then: {set: {ctx.a: 1}}}}]}",
    "do beside then": "{rules: [{when: '{{ true }}', do: continue}]}",
}

POLICY_LINE = 10


def playbook(policy: str) -> str:
    return f"""
        workflow:
          - step: start
            tool:
              - name: call
                kind: noop
                spec:
                  policy: {policy}
        """


def errors_by_file(noetl: Noetl, policies: dict[str, str]) -> dict[str, list[tuple[int, str]]]:
    """Check a playbook with each of the policies: line and message of every error, by file."""
    files = {noetl.write(playbook(policy), f"{name.replace(' ', '-')}.yaml"): [] for name, policy in policies.items()}
    ended = noetl("check", "--format", "json", *files)
    assert ended.code == 1
    for finding in ended.document:
        if finding["severity"] == "error":
            files[finding["path"]].append((finding["line"], finding["message"]))
    return files


@pytest.mark.spec("AC-1", "TK-05")
def test_every_policy_that_is_not_an_object_with_rules_is_refused_where_it_stands(noetl: Noetl) -> None:
    errors = errors_by_file(noetl, NOT_AN_OBJECT)

    assert all({line for line, _ in found} == {POLICY_LINE} for found in errors.values()), errors
    assert all("polic" in found[0][1] or "rules" in found[0][1] for found in errors.values()), errors


@pytest.mark.spec("AC-1", "TK-05")
def test_every_rule_without_then_do_is_refused_where_it_stands(noetl: Noetl) -> None:
    errors = errors_by_file(noetl, NO_DO)

    assert all({line for line, _ in found} == {POLICY_LINE} for found in errors.values()), errors
    assert all("do" in found[0][1].split() or "then" in found[0][1] for found in errors.values()), errors


@pytest.mark.spec("AC-1", "TK-05")
@pytest.mark.parametrize("policy", [NOT_AN_OBJECT["a list of rules"], NO_DO["then without do"]])
def test_a_run_of_such_a_playbook_starts_nothing(noetl: Noetl, policy: str) -> None:
    ended = noetl.run(playbook(policy))

    assert (ended.code, ended.document["status"]) == (2, "invalid")
    assert "error" in {finding["severity"] for finding in ended.document["findings"]}
    assert noetl("list", "--format", "json").document == []


@pytest.mark.spec("AC-1", "TK-05", "TK-06")
def test_the_same_pipeline_with_a_whole_policy_runs(noetl: Noetl) -> None:
    found = noetl.succeed(playbook("{rules: [{else: {then: {do: continue}}}]}"))

    assert found["status"] == "success"
