"""Block 7: references and the names that hold them."""

import pytest

from tests.dsl.front import Front


def written(sets: str, *, after: str = "") -> str:
    """A playbook whose first step fetches and writes, and whose second reads."""
    return f"""
        workload: {{git_ref: main}}
        workflow:
          - step: fetch
            tool: [{{name: page, kind: http, url: https://x}}]
            set: {{{sets}}}
            next: {{arcs: [{{step: show}}]}}
          - step: show
            tool: {{kind: noop, input: {{a: 1{after}}}}}
        """


def codes(front: Front, body: str) -> list[str]:
    return [finding.code for finding in front.check(body).findings if finding.code.startswith("NL7")]


@pytest.mark.spec("RS-03", "DI-04")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"{{ output.data }}"', ["NL701"]),
        ('"{{ output.data.rows }}"', ["NL701"]),
        ('"{{- output.data -}}"', ["NL701"]),
        ('"{{ page.data }}"', ["NL701"]),
        ('"{{ fetch.data }}"', ["NL701"]),
        ("text", ["NL701"]),
        ("5", ["NL701"]),
        ("[1]", ["NL701"]),
        ("{rows: 5}", ["NL701"]),
        ('"{{ output.ref }}"', []),
        ('"{{ page.ref }}"', []),
        ('"{{ ctx.other_ref }}"', []),
        ('"{{ output.data.records_ref }}"', []),
        ('"{{ output.data.ref }}"', []),
        ('"{{ output.data | first }}"', []),
        ('"{{ output.ref or output.data }}"', []),
        ('"{{ output.data if ctx.a else output.ref }}"', []),
        ("null", []),
        ("{type: blob, locator: {}}", []),
        ("{store: files, key: a}", []),
    ],
)
def test_a_name_that_ends_in_ref_gets_a_reference(front: Front, value: str, expected: list[str]) -> None:
    assert codes(front, written(f"ctx.a_ref: {value}")) == expected
    assert codes(front, written(f"ctx: {{a_ref: {value}}}")) == expected


@pytest.mark.spec("RS-03", "DI-04")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"{{ output.ref }}"', ["NL702"]),
        ('"{{ page.ref }}"', ["NL702"]),
        ('"{{ ctx.records_ref }}"', ["NL702"]),
        ("\"{{ ctx['records_ref'] }}\"", ["NL702"]),
        ('"{{ output.data }}"', []),
        ('"{{ output.ref.meta.bytes }}"', []),
        ('"{{ output.ref is defined }}"', []),
        ('"{{ output.ref | tojson }}"', []),
        ('"{{ workload.git_ref }}"', []),
        ('"at {{ output.ref }}"', []),
    ],
)
def test_any_other_name_gets_none(front: Front, value: str, expected: list[str]) -> None:
    assert codes(front, written(f"ctx.a: {value}")) == expected


@pytest.mark.spec("RS-03")
def test_writes_of_arcs_tasks_and_rules_are_checked_alike(front: Front) -> None:
    body = """
        workflow:
          - step: start
            tool:
              kind: http
              url: https://x
              set: {step.a: "{{ output.ref }}"}
              spec:
                policy:
                  rules:
                    - when: "{{ output.status == 'error' }}"
                      then: {do: fail, set: {step.b_ref: "{{ output.data }}"}}
                    - else: {then: {do: continue}}
            next: {arcs: [{step: end, set: {ctx.c: "{{ output.ref }}"}}]}
          - step: end
            tool: {kind: noop}
        """

    assert codes(front, body) == ["NL702", "NL701", "NL702"]


@pytest.mark.spec("RS-02", "RS-04")
@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("ctx.a_ref.rows", ["NL703"]),
        ("ctx.a_ref[0]", ["NL703"]),
        ("ctx.deep.a_ref.rows | length", ["NL703"]),
        ("input.a_ref.data", ["NL703"]),
        ("fetch.ref.rows", ["NL703"]),
        ("ctx.a_ref.type", []),
        ("ctx.a_ref.locator.path", []),
        ("ctx.a_ref.meta.bytes", []),
        ("ctx.a_ref.auth_reference", []),
        ("ctx.a_ref.checksum", []),
        ("ctx.a_ref", []),
        ("fetch.ref.meta", []),
        ("fetch.data.a_ref.rows", []),
        ("workload.git_ref.name", []),
        ("ctx.reference.rows", []),
    ],
)
def test_payload_is_not_read_off_a_reference(front: Front, read: str, expected: list[str]) -> None:
    assert codes(front, written("ctx.x: 1", after=f', b: "{{{{ {read} }}}}"')) == expected


@pytest.mark.spec("RS-04")
def test_the_message_names_resolve_and_points_at_the_path(front: Front) -> None:
    (finding,) = (
        one for one in front.check(written('ctx.count: "{{ output.ref.rows }}"')).findings if one.code == "NL703"
    )

    assert 'kind: resolve, ref: "{{ output.ref }}"' in finding.fix
    assert finding.place.end_column - finding.place.column == len("output.ref.rows")


@pytest.mark.spec("RS-06")
@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("files", []),
        ("postgres", []),
        ("{kind: nats_object, bucket: b}", []),
        ("{kind: s3, bucket: b}", []),
        ("disk", ["NL704"]),
        ("{bucket: b}", ["NL704"]),
        ("{kind: }", ["NL704"]),
        ("[files]", ["NL704"]),
        ("5", ["NL704"]),
        ("", ["NL704"]),
    ],
)
@pytest.mark.parametrize("place", ["result: {{store: {}}}", "policy: {{results: {{store: {}}}}}"])
def test_a_store_for_results_is_one_that_exists(front: Front, place: str, store: str, expected: list[str]) -> None:
    found = front.check(
        f"executor: {{spec: {{{place.format(store)}}}}}\n" + "workflow: [{step: a, tool: {kind: noop}}]"
    )

    assert [finding.code for finding in found.findings] == expected
    assert {finding.severity for finding in found.findings} <= {"warning"}


@pytest.mark.spec("KC-07", "RS-06")
@pytest.mark.parametrize(("auth", "expected"), [("bucket", []), ("buckte", ["NL323"])])
@pytest.mark.parametrize("place", ["executor", "step", "task"])
def test_a_store_signs_in_with_a_declared_credential(front: Front, place: str, auth: str, expected: list[str]) -> None:
    store = f"spec: {{result: {{store: {{kind: s3, bucket: b, auth: {auth}}}}}}}"
    at = {name: f", {store}" if name == place else "" for name in ("step", "task")}
    found = front.check(
        (f"executor: {{{store}}}\n" if place == "executor" else "")
        + "keychain: [{name: bucket, kind: secret_manager}]\n"
        + f"workflow: [{{step: a, tool: {{kind: noop{at['task']}}}{at['step']}}}]"
    )

    assert [finding.code for finding in found.findings] == expected


@pytest.mark.spec("RS-03")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('["{{ output.ref }}"]', ["ctx.e"]),
        ('{x: "{{ output.ref }}"}', ["ctx.e.x"]),
        ('{x: [1, {y: "{{ output.ref }}"}]}', ["ctx.e.x.y"]),
        ('{x_ref: "{{ output.ref }}", y: "{{ output.data }}"}', []),
        ('{x_ref: ["{{ output.ref }}"]}', []),
        ('["{{ output.ref.key }}", "{{ output.data }}"]', []),
    ],
)
def test_a_reference_inside_a_value_needs_a_name_that_says_so(front: Front, value: str, expected: list[str]) -> None:
    found = [one for one in front.check(written(f"ctx.e: {value}")).findings if one.code == "NL702"]

    assert [one.message.split(" ")[0] for one in found] == expected
