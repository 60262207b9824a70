"""Rules of the document (NL111 to NL129): further shapes of each fault, and what is no fault."""

import pytest

from noetl.dsl.check import check
from noetl.dsl.findings import apply_edits
from noetl.tools.registry import declarations
from tests.dsl.front import Front

START = "workflow:\n  - step: start\n    tool: { kind: noop }\n"


def told(front: Front, body: str, code: str, **flags: bool) -> list[str]:
    return [finding.message for finding in front.check(body, **flags).findings if finding.code == code]


def codes_of(text: str) -> list[str]:
    return [finding.code for finding in check(text, "t.yaml", declarations).findings]


@pytest.mark.spec("PB-01")
@pytest.mark.parametrize("version", ["noetl.io/v1", "v2", "2", "[noetl.io/v2]", "", "noetl.io/V2", '"noetl.io/v2 "'])
def test_another_api_version_is_refused(front: Front, version: str) -> None:
    result = front.check(START)
    text = result.source.text.replace("noetl.io/v2", version, 1)

    assert "NL111" in codes_of(text)


@pytest.mark.spec("PB-01")
@pytest.mark.parametrize("kind", ["playbook", "Workflow", "1", "[Playbook]", ""])
def test_another_kind_is_refused(front: Front, kind: str) -> None:
    text = front.check(START).source.text.replace("kind: Playbook", f"kind: {kind}", 1)

    assert "NL112" in codes_of(text)


@pytest.mark.spec("PB-01")
def test_the_missing_head_is_added_as_lines_of_its_own() -> None:
    text = "# first\nmetadata: { name: t }\r\n" + START
    for _ in range(3):
        text, _count = apply_edits(text, check(text, "t.yaml", declarations).findings)

    assert codes_of(text) == []
    assert text.startswith("# first\n")


@pytest.mark.spec("PB-02", "PB-03")
@pytest.mark.parametrize(
    ("body", "code", "hint"),
    [
        ("vars: { a: 1 }\n", "NL113", "workload"),
        ("steps: []\n", "NL114", "workflow"),
        ("Workload: {}\n", "NL114", '"workload"'),
        ("name: x\n", "NL114", "metadata.name"),
        ("x-team: billing\n", "NL114", "delete it"),
    ],
)
def test_an_unknown_root_key_is_refused_with_what_was_meant(front: Front, body: str, code: str, hint: str) -> None:
    found = [finding for finding in front.check(body + START).findings if finding.code.startswith("NL11")]

    assert [finding.code for finding in found] == [code]
    assert hint in found[0].fix + found[0].why


@pytest.mark.spec("PB-04")
def test_a_misspelt_workflow_is_told_once() -> None:
    text = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { nam: t }\nsteps:\n  - step: start\n"

    assert codes_of(text) == ["NL115", "NL114"]


@pytest.mark.spec("PB-04")
@pytest.mark.parametrize("body", ["workflow: []\n", "workflow:\n", "workflow: ~\n"])
def test_a_workflow_without_steps_is_refused(front: Front, body: str) -> None:
    assert front.codes(body) == ["NL121"]


@pytest.mark.spec("PB-04")
def test_a_playbook_without_workflow_or_name_is_refused() -> None:
    assert codes_of("apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {}\n") == ["NL116", "NL116"]


@pytest.mark.spec("PB-04")
def test_all_that_the_documents_allow_is_accepted(front: Front) -> None:
    body = """
        keychain: [{ name: a, kind: secret_manager, provider: env, path: "{{ workload.path }}" }]
        executor:
          profile: distributed
          version: noetl-runtime/2
          spec:
            timeout: { connect: 1, read: 2.5, total: 10 }
            result: { store: { kind: nats_object, bucket: noetl-results } }
            http: { timeout: { connect: 10, read: 60 }, verify: false, retry: 1 }
            postgres: { autocommit: true }
            entry_step: start
            output: start
            policy:
              defaults: { timeouts: 5, resources: { cpu: 1 } }
              results: { reference_first: true }
              limits: { max_payload_bytes: 4096 }
              failure: { mode: best_effort }
              routing: { unguarded_on_failure: true }
              placement: { anything: goes }
        workload:
        workbook:
        workflow:
          - step: start
            spec:
              timeout: 5
              pool: fast
              priority: -5
              http: { follow_redirects: false }
              policy:
                admit: { mode: exclusive, on_deny: wait, join: all, rules: [{ else: { then: { allow: true } } }] }
                lifecycle: { timeout_s: 60, deadline_s: 90 }
                failure: { mode: fail_fast }
                emit: { events: [{ name: my.event, on: loop.done }] }
                tracing: { on: true }
                quotas: [1]
                plan: false
            loop:
              in: [1, 2]
              iterator: n
              spec:
                mode: parallel
                max_in_flight: 2
                http: { timeout: 3 }
                policy: { exec: local, ordering: x, backpressure: y, partitioning: z }
            tool:
              - name: call
                kind: http
                url: https://example.com
                spec:
                  timeout: 3
                  verify: /etc/ca.pem
                  isolation: process
                  durability: async
                  resources: { memory: 1 }
                  policy:
                    mode: exclusive
                    before: []
                    after: []
                    finally: []
                    on_unmatched: fail
                    rules:
                      - when: "{{ output.status == 'error' }}"
                        then: { do: retry, attempts: 2, backoff: linear, delay: "{{ 1 }}", max_delay: 9, jitter: true }
                      - else: { then: { do: continue } }
            next:
              spec: { mode: inclusive, policy: { priority: 1, dedupe: 2, partitioning: 3 } }
              arcs: [{ step: end, spec: { priority: 1, dedupe: "{{ ctx.a }}", partition: x } }]
          - step: end
            tool: { kind: noop }
    """

    found = front.check(body).findings

    assert [f"{finding.code} {finding.message}" for finding in found if finding.code[:3] in ("NL1", "NL2")] == []


@pytest.mark.spec("PB-13")
@pytest.mark.parametrize(
    ("body", "fix"),
    [
        ("executor: { spec: { timout: 3 } }\n", '"timeout"'),
        ("executor: { spec: { http: { verfy: true } } }\n", '"verify"'),
        ("executor: { spec: { follow_redirects: true } }\n", "http: { follow_redirects: … }"),
        ("executor: { spec: { policy: { limts: {} } } }\n", '"limits"'),
        ("executor: { spec: { timeout: { conect: 1 } } }\n", '"connect"'),
    ],
)
def test_an_unknown_key_under_spec_is_a_warning_with_its_near_miss(front: Front, body: str, fix: str) -> None:
    found = front.check(body + START).findings

    assert [(finding.code, finding.severity) for finding in found] == [("NL120", "warning")]
    assert fix in found[0].fix


@pytest.mark.spec("PB-13", "ST-07")
def test_a_policy_of_the_step_that_stands_below_its_loop_is_told_where_it_belongs(front: Front) -> None:
    loop = "{ in: [1], iterator: n, spec: { policy: { failure: { mode: best_effort } } } }"

    (found,) = front.check(f"workflow: [{{ step: start, loop: {loop}, tool: {{ kind: noop }} }}]\n").findings

    assert (found.code, found.fix) == (
        "NL120",
        "it is a policy of the step: write it under spec.policy of the step, beside loop",
    )


@pytest.mark.spec("PB-13", "TK-18")
def test_the_knobs_of_an_unknown_kind_are_not_judged(front: Front) -> None:
    body = "workflow:\n  - step: start\n    tool: { kind: quantum, qubits: 3, timeout: 1, spec: { depth: 3 } }\n"

    assert [code for code in front.codes(body) if code[:3] in ("NL1", "NL2")] == []


@pytest.mark.spec("TK-18")
def test_a_knob_of_a_kind_is_checked_like_any_other_value(front: Front) -> None:
    body = "executor: { spec: { http: { max_response_bytes: 0, follow_redirects: maybe } } }\n" + START

    assert sorted(front.codes(body)) == ["NL117", "NL119"]


@pytest.mark.spec("PB-05")
@pytest.mark.parametrize(
    "body",
    [
        "executor: { auth: x }\n",
        "executor: { keychain: [] }\n",
        "executor: { spec: { credentials: { a: 1 } } }\n",
        "executor: { spec: { http: { headers: [{ Token: a }] } } }\n",
        "executor: { spec: { policy: { placement: { password: a } } } }\n",
    ],
)
def test_credentials_under_the_executor_are_refused_at_any_depth(front: Front, body: str) -> None:
    assert "NL122" in front.codes(body + START)


@pytest.mark.spec("SC-01")
def test_templates_in_the_workload_are_data_at_any_depth(front: Front) -> None:
    body = 'workload: { a: "{{ x }}", b: [{ c: "{% if x %}" }], d: "plain { }", 1: 2 }\n' + START

    assert told(front, body, "NL124") == [
        "the template in workload.a is not rendered",
        "the template in workload.b[0].c is not rendered",
    ]


@pytest.mark.spec("TP-01", "TP-02")
def test_templates_are_only_missed_where_nothing_renders_them(front: Front) -> None:
    body = """
        workflow:
          - step: start
            spec: { pool: "{{ a }}", policy: { lifecycle: { timeout_s: 3 }, tracing: { tag: "{{ b }}" } } }
            loop: { in: "{{ workload.l }}", iterator: n, spec: { mode: sequential, resources: { a: "{{ c }}" } } }
            input: { a: "{{ workload.a }}" }
            tool:
              - name: one
                kind: python
                code: "x = '{{ not a template }}'"
                input: { a: "{{ iter.n }}" }
                set: { iter.a: "{{ output.data }}" }
                spec:
                  policy:
                    rules:
                      - when: "{{ output.status == 'error' }}"
                        then: { do: retry, delay: "{{ _attempt }}", set: { iter.b: "{{ _attempt }}" } }
                      - else: { then: { do: continue } }
            next:
              arcs: [{ step: end, when: "{{ output.loop }}", set: { ctx.a: "{{ output.ref }}" } }]
          - step: end
            tool: { kind: noop }
    """

    assert told(front, body, "NL125") == [
        'the template in spec.pool of step "start" is not rendered',
        'the template in spec.policy.tracing.tag of step "start" is not rendered',
        'the template in loop.spec.resources.a of step "start" is not rendered',
    ]


@pytest.mark.spec("PB-12")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("loop: { in: [1], iterator: n, mode: parallel }", "loop.spec.mode"),
        ("loop: { in: [1], iterator: n, max_in_flight: 3 }", "loop.spec.max_in_flight"),
        ("loop: { in: [1], iterator: n, concurrency: 3 }", "loop.spec.max_in_flight"),
        ("loop: { in: [1], iterator: n, exec: local }", "loop.spec.policy.exec"),
        ("loop: { in: [1], iterator: n, reducers: { ctx.a: sum } }", "loop.spec.policy.reducers"),
        ("timeout: 3", "spec.timeout"),
        ("pool: fast", "spec.pool"),
        ("policy: { admit: {} }", "spec.policy"),
        ("admit: { rules: [] }", "spec.policy.admit"),
        ("join: all", "spec.policy.admit.join"),
        ("deadline_s: 5", "spec.policy.lifecycle.deadline_s"),
        ("max_in_flight: 5", "loop.spec.max_in_flight"),
        ("mode: inclusive", "next.spec.mode"),
        ("next_mode: inclusive", "next.spec.mode"),
        ("attempts: 5", "do: retry, attempts: 5"),
        ("next: { mode: inclusive, arcs: [{ step: start }] }", "next.spec.mode"),
        ("next: { policy: {}, arcs: [{ step: start }] }", "next.spec.policy"),
        ("next: { arcs: [{ step: start, dedupe: a }] }", "spec.dedupe"),
        ("next: { arcs: [{ step: start, mode: exclusive }] }", "next.spec.mode"),
    ],
)
def test_a_knob_beside_spec_is_refused_with_the_path_where_it_belongs(front: Front, body: str, path: str) -> None:
    found = front.check(f"workflow:\n  - step: start\n    tool: {{ kind: noop }}\n    {body}\n").findings

    assert [finding.code for finding in found if finding.severity == "error"] == ["NL126"]
    assert path in next(finding.fix for finding in found if finding.code == "NL126")


@pytest.mark.spec("PB-12")
@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("timeout: 3", "spec.timeout"),
        ("verify: false", "spec.verify"),
        ("policy: { rules: [] }", "spec.policy"),
        ("retry: 4", "do: retry, attempts: 4"),
        ("retry: { attempts: 4 }", "do: retry, attempts: 3"),
        ("backoff: linear", "do: retry, backoff: linear"),
        ("isolation: process", "spec.isolation"),
        ("max_in_flight: 3", "loop.spec.max_in_flight"),
        ("timeout_s: 3", "spec.policy.lifecycle.timeout_s"),
    ],
)
def test_a_knob_on_a_task_is_refused_with_the_path_where_it_belongs(front: Front, field: str, path: str) -> None:
    body = f"workflow:\n  - step: start\n    tool: {{ kind: http, url: https://example.com, {field} }}\n"

    found = front.check(body).findings

    assert [finding.code for finding in found] == ["NL126"]
    assert path in found[0].fix


@pytest.mark.spec("PB-12")
def test_a_field_that_a_kind_declares_is_no_knob(front: Front) -> None:
    body = """
        workflow:
          - step: start
            tool: { kind: transfer, mode: append, source: { kind: file }, target: { kind: file } }
    """

    assert "NL126" not in front.codes(body)


@pytest.mark.spec("PB-12")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "loop:\n  in: [1]\n  iterator: n\n  mode: parallel\n",
            "loop:\n  in: [1]\n  iterator: n\n  spec: { mode: parallel }\n",
        ),
        (
            "loop:\n  in: [1]\n  iterator: n\n  mode: parallel\n  spec: { max_in_flight: 3 }\n",
            "loop:\n  in: [1]\n  iterator: n\n  spec: { mode: parallel, max_in_flight: 3 }\n",
        ),
        (
            "loop:\n  in: [1]\n  iterator: n\n  spec:\n    max_in_flight: 3\n  mode: parallel\n",
            "loop:\n  in: [1]\n  iterator: n\n  spec:\n    mode: parallel\n    max_in_flight: 3\n",
        ),
        (
            "loop:\n  in: [1]\n  iterator: n\n  mode: parallel\n  max_in_flight: 3\n",
            "loop:\n  in: [1]\n  iterator: n\n  spec: { max_in_flight: 3, mode: parallel }\n",
        ),
        (
            "loop: { in: [1], iterator: n, mode: parallel }\n",
            "loop: { in: [1], iterator: n, spec: { mode: parallel } }\n",
        ),
    ],
)
def test_a_knob_is_moved_into_spec_by_the_fix(front: Front, before: str, after: str) -> None:
    head = "workflow:\n  - step: start\n    tool: { kind: noop }\n"
    indented = ["".join(f"    {line}\n" for line in body.splitlines()) for body in (before, after)]
    body = head + indented[0]
    for _ in range(3):
        result = front.check(body)
        body, _count = apply_edits(result.source.text, [one for one in result.findings if one.code == "NL126"])
        body = body.split("metadata: {name: t}\n", 1)[1]

    assert body == head + indented[1]


@pytest.mark.spec("PB-12", "PB-09", "TP-04")
@pytest.mark.parametrize("word", ["if", "unless", "condition", "cond", "expr"])
@pytest.mark.parametrize(
    "where",
    [
        "tool: { kind: noop }\n    WORD: '{{ workload.a }}'",
        "tool: { kind: noop, WORD: '{{ workload.a }}' }",
        "tool: { kind: noop, spec: { policy: { rules: [{ WORD: x, then: { do: fail } }, DO] } } }",
        "tool: { kind: noop, spec: { policy: { rules: [{ else: { then: { do: fail, WORD: x } } }] } } }",
        "tool: { kind: noop }\n    loop: { in: [1], iterator: n, WORD: x }",
        "tool: { kind: noop }\n    next: { arcs: [{ step: start, WORD: x }] }",
        "tool: { kind: noop }\n    spec: { policy: { admit: { rules: [{ WORD: x, then: { allow: true } }, ALLOW] } } }",
    ],
    ids=["step", "task", "rule", "then", "loop", "arc", "admission"],
)
def test_another_word_for_a_condition_is_refused_everywhere(front: Front, word: str, where: str) -> None:
    written = where.replace("WORD", word).replace("DO", "{ else: { then: { do: break } } }")
    body = f"workflow:\n  - step: start\n    {written.replace('ALLOW', '{ else: { then: { allow: true } } }')}\n"

    errors = [finding.code for finding in front.check(body).findings if finding.severity == "error"]

    assert errors == ["NL127"]


@pytest.mark.spec("PB-12")
def test_the_same_words_in_data_are_data(front: Front) -> None:
    body = """
        workload: { if: 1, expr: 2, condition: 3, timeout: 4, password: 5, do: 6 }
        workflow:
          - step: start
            input: { if: 1, mode: 2 }
            tool: { kind: http, url: https://example.com, params: { if: 1, do: 3 }, json: { expr: 1, set: 2 } }
            set: { ctx.if: 1 }
    """

    assert front.codes(body) == []


@pytest.mark.spec("RT-06", "RT-13")
def test_the_entry_and_the_output_must_be_steps(front: Front) -> None:
    body = "executor: { spec: { entry_step: begin, output: end } }\n" + START

    assert [code for code in front.codes(body) if code[:3] == "NL1"] == ["NL128", "NL129"]


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("loop: { in: [1], iterator: n, spec: { max_in_flight: '3' } }", "max_in_flight: 3 "),
        ("desc: 12", 'desc: "12"'),
        ("spec: { policy: { admit: { rules: [{ else: { then: { allow: 'true' } } }] } } }", "allow: true }"),
        ("spec: { policy: { admit: { rules: [{ else: { then: { allow: no } } }] } } }", "allow: false }"),
        ("next: { spec: { mode: Inclusive }, arcs: [{ step: start }] }", "mode: inclusive }"),
    ],
)
def test_a_value_in_the_wrong_dress_is_repaired(front: Front, body: str, after: str) -> None:
    result = front.check(f"{START}    {body}\n")

    repaired, _ = apply_edits(result.source.text, result.findings)

    assert after in repaired


@pytest.mark.parametrize("body", ["loop: { in: [1], iterator: n, spec: { max_in_flight: ten } }", "desc: [a]"])
def test_a_value_that_could_mean_anything_is_not_repaired(front: Front, body: str) -> None:
    found = [one for one in front.check(f"{START}    {body}\n").findings if one.code == "NL117"]

    assert [one.edits for one in found] == [()]


@pytest.mark.spec("KC-01")
def test_credentials_are_named_once(front: Front) -> None:
    body = (
        "keychain: [{ name: a, kind: basic }, { name: a, kind: basic }, { name: a, kind: basic }, { kind: basic }, 3]\n"
    )

    codes = [code for code in front.codes(body + START) if code[:3] == "NL1"]

    assert codes == ["NL123", "NL123", "NL116", "NL117"]


@pytest.mark.spec("TP-01", "TP-02")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('x = "{{ workload.day }}"', ["{{ workload.day }}"]),
        ("x = '{{ctx.a.b | default(1)}} {{ iter.x }}'", ["{{ctx.a.b | default(1)}}"]),
        ("x = {{ _prev.rows }}", ["{{ _prev.rows }}"]),
        ('x = f"{{literal}}"', []),
        ('x = f"{{{input}}}"', []),
        ('x = f"{input["a"]}"', []),
        ("x = {{1, 2}}", []),
        ("x = {'workload.day': {'ctx.a': 1}}", []),
        ('x = "{{ workloads.day }} {{ workload }} {{ day }}"', []),
    ],
)
def test_code_that_reads_a_scope_like_a_template_is_told_once(front: Front, code: str, expected: list[str]) -> None:
    body = f"workflow:\n  - step: start\n    tool:\n      kind: python\n      code: |\n        {code}\n"
    result = front.check(body)

    lines = result.source.text.split("\n")
    found = [one for one in result.findings if one.code == "NL125"]
    assert [lines[one.place.line - 1][one.place.column - 1 : one.place.end_column - 1] for one in found] == expected
    assert {one.severity for one in result.findings} <= {"warning"}


@pytest.mark.spec("PB-05", "PB-06")
def test_an_optional_section_with_nothing_in_it_counts_as_not_written(front: Front) -> None:
    body = """
        keychain:
        executor:
        workload:
        workbook:
        workflow:
          - step: a
            desc:
            spec:
            input:
            set:
            loop: {in: [1], iterator: x, spec: }
            tool: {kind: noop, desc: , input: , set: , spec: }
            next: {spec: , arcs: [{step: b, set: , spec: }]}
          - step: b
            tool: {kind: noop}
        """

    assert front.codes(body) == []
    assert front.codes(body.replace("executor:", "executor: {spec: }")) == []
    assert list(front.playbook(body).steps) == ["a", "b"]


@pytest.mark.parametrize("body", ["url:", "headers:"])
def test_a_tool_field_with_nothing_in_it_is_not_accepted_for_that(front: Front, body: str) -> None:
    assert front.codes(f"workflow: [{{step: a, tool: {{kind: http, {body} }}}}]") != []
