"""A secret that stands in a playbook, or is read from the keychain, does not come out of the front end."""

import pytest

from tests.dsl.front import Front, printed


@pytest.mark.spec("PB-05", "KC-05")
def test_a_secret_written_under_executor_is_not_printed(front: Front) -> None:
    result = front.check("""
        executor: {spec: {http: {password: hunter2-canary}}}
        workflow: [{step: start, tool: {kind: noop}}]
        """)

    assert [finding.code for finding in result.findings] == ["NL122"]
    assert "hunter2-canary" not in printed(result)


@pytest.mark.spec("KC-07", "KC-05")
def test_a_secret_may_not_become_the_output_of_a_noop(front: Front) -> None:
    body = """
        keychain: [{name: api, kind: bearer}]
        workflow:
          - step: start
            tool: {kind: KIND, input: {url: "https://example.com", token: "{{ keychain.api.token }}"}}
        """

    assert front.codes(body.replace("KIND", "noop")) == ["NL615"]
    assert front.codes(body.replace("KIND", "http")) == []


@pytest.mark.spec("KC-07", "KC-05")
@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ('{kind: playbook, path: p, input: {t: "{{ keychain.k.token }}"}}', ["NL615"]),
        ('{kind: playbook, path: p, input: {a: {t: ["{{ keychain.k.token }}"]}}}', ["NL615"]),
        ('{kind: noop, input: {t: "{{ keychain.k.token }}"}}', ["NL615"]),
        ('{kind: http, url: "https://x", input: {headers: {a: "{{ keychain.k.token }}"}}}', []),
    ],
)
def test_a_secret_is_not_handed_to_what_records_its_input(front: Front, tool: str, expected: list[str]) -> None:
    body = f"keychain: [{{name: k, kind: bearer}}]\nworkflow: [{{step: a, tool: {tool}}}]\n"

    assert [one.code for one in front.check(body).findings if one.severity == "error"] == expected
