"""`--fix` never makes a playbook worse: not through an alias, not by two repairs that do not get on."""

import pytest

from noetl.dsl.check import Checked, check
from noetl.dsl.fix import fix
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD


def fixed(body: str) -> tuple[str, Checked]:
    text, _ = fix(HEAD + body, checked)
    return text, checked(text)


def checked(text: str) -> Checked:
    return check(text, "t.yaml", declarations)


@pytest.mark.spec("TP-06")
def test_a_text_with_several_uses_is_not_repaired_for_one_of_them() -> None:
    body = """\
workload: {city: x}
workflow:
  - step: a
    loop: {in: [1], iterator: city}
    tool: &t {kind: http, url: "{{ city }}"}
    next: {arcs: [{step: b, when: "{{ event.name == 'loop.done' }}"}]}
  - {step: b, tool: *t}
"""
    text, result = fixed(body)

    assert text == HEAD + body
    assert result.is_valid


@pytest.mark.spec("DI-02")
def test_a_policy_shared_by_two_kinds_keeps_both_meanings() -> None:
    body = """\
workflow:
  - step: a
    tool:
      - {name: one, kind: http, url: "https://example.com", spec: &s {policy: {rules: [
          {when: "{{ outcome.result.data == 1 }}", then: {do: fail}}, {else: {then: {do: continue}}}]}}}
      - {name: two, kind: python, code: "result = 1", spec: *s}
"""

    assert fixed(body)[0] == HEAD + body


@pytest.mark.spec("PB-12")
def test_two_repairs_to_one_key_are_not_both_made() -> None:
    body = """\
workflow:
  - {step: a, tool: {kind: noop}, next: {arcs: [{step: b, if: "{{ ctx.x }}", condition: "{{ ctx.y }}"}]}}
  - {step: b, tool: {kind: noop}}
"""
    _, result = fixed(body)

    assert "NL104" not in {finding.code for finding in result.findings}
