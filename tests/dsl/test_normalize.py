"""A Draft becomes one model: defaults filled in, specs layered, surfaces forgotten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.dsl.layers import effective_spec, merge
from noetl.dsl.normalize import normalize
from noetl.tools.registry import declarations
from tests.dsl.front import Front
from tests.dsl.meaning import without_places


@pytest.mark.spec("DI-03")
def test_v10_and_2026_become_the_same_model(front: Front) -> None:
    v10 = """
        workflow:
          - step: start
            loop: {in: "{{ [1] }}", iterator: item}
            tool:
              - call:
                  kind: http
                  url: https://example.com
                  spec:
                    policy:
                      rules:
                        - when: "{{ outcome.status == 'error' }}"
                          then: {do: retry, attempts: 2, set_iter: {last: "{{ outcome.result.data.code }}"}}
                        - else:
                            then: {do: continue, set_ctx: {count: 1}, set_iter: {size: "{{ outcome.result_ref }}"}}
        """
    modern = """
        workflow:
          - step: start
            loop: {in: "{{ [1] }}", iterator: item}
            tool:
              - name: call
                kind: http
                input:
                  url: https://example.com
                spec:
                  policy:
                    rules:
                      - when: "{{ output.status == 'error' }}"
                        then: {do: retry, attempts: 2, set: {iter.last: "{{ output.data.code }}"}}
                      - else:
                          then: {do: continue, set: {ctx.count: 1, iter.size: "{{ output.ref }}"}}
        """

    one = front.check(v10).drafts[0]
    other = front.check(modern).drafts[0]

    assert without_places(normalize(one)) == without_places(normalize(other))


@pytest.mark.spec("DI-03", "PB-10")
def test_the_oldest_surface_becomes_the_same_model(front: Front) -> None:
    old = """
        workload: {ready: true}
        workflow:
          - step: start
            when: "{{ workload.ready }}"
            spec: {next_mode: inclusive}
            tool:
              - call:
                  kind: http
                  url: https://example.com
                  eval:
                    - expr: "{{ outcome.status == 'error' }}"
                      do: fail
                    - else:
                        do: continue
                        set_vars: {seen: true}
            next:
              - step: end
                when: "{{ vars.seen }}"
          - step: end
            tool: {kind: noop}
        """
    modern = """
        workload: {ready: true}
        workflow:
          - step: start
            spec:
              policy:
                admit:
                  rules:
                    - when: "{{ workload.ready }}"
                      then: {allow: true}
                    - else: {then: {allow: false}}
            tool:
              - name: call
                kind: http
                url: https://example.com
                spec:
                  policy:
                    rules:
                      - when: "{{ output.status == 'error' }}"
                        then: {do: fail}
                      - else: {then: {do: continue, set: {step.seen: true}}}
            next:
              spec: {mode: inclusive}
              arcs:
                - step: end
                  when: "{{ step.seen }}"
          - step: end
            tool: {kind: noop}
        """

    assert without_places(front.playbook(old, is_legacy=True)) == without_places(front.playbook(modern))


@pytest.mark.spec("TK-01")
def test_tasks_without_names_get_stable_labels(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: one
            tool: {kind: noop}
          - step: many
            tool:
              - kind: noop
              - name: middle
                kind: noop
              - kind: noop
        """)

    assert [task.label for task in playbook.steps["one"].tasks] == ["one_task"]
    assert [task.label for task in playbook.steps["many"].tasks] == ["task_0", "middle", "task_2"]


@pytest.mark.spec("TK-03", "TK-18")
def test_the_effective_spec_is_layered_from_kind_to_task(front: Front) -> None:
    playbook = front.playbook("""
        executor:
          spec:
            pool: outer
            http: {timeout: {read: 20}, verify: false}
            policy: {defaults: {timeouts: {total: 99}}}
        workflow:
          - step: start
            spec: {pool: inner, http: {timeout: {read: 30}}}
            tool:
              - name: slow
                kind: http
                url: https://example.com
                spec: {timeout: {connect: 1}}
              - name: other
                kind: noop
        """)
    slow, other = playbook.steps["start"].tasks

    assert (slow.timeout.connect, slow.timeout.read, slow.timeout.total) == (1, 30, 99)
    assert slow.spec == {"pool": "inner", "verify": False}
    assert other.spec == {"pool": "inner"}
    assert other.timeout.total == 99
    assert playbook.steps["start"].pool == "inner"


@pytest.mark.spec("TK-03")
def test_lists_replace_and_policies_stay_with_their_scope() -> None:
    specs = [{"libs": [1, 2], "policy": {"failure": {"mode": "best_effort"}}}, {"libs": [3]}]

    assert effective_spec(declarations["noop"], specs, declarations) == {"libs": [3]}  # type: ignore[arg-type]


@pytest.mark.spec("TK-03", "RS-06")
def test_a_result_store_replaces_the_one_below_as_a_whole(front: Front) -> None:
    playbook = front.playbook("""
        keychain: [{name: aws, kind: secret_manager}]
        executor: {spec: {policy: {results: {store: {kind: s3, bucket: acme, auth: aws}}}}}
        workflow:
          - step: start
            tool:
              - {name: one, kind: noop}
              - {name: two, kind: noop, spec: {result: {store: {kind: sqlite}}}}
        """)

    stores = [task.spec["result"]["store"] for task in playbook.steps["start"].tasks]  # type: ignore[index, call-overload]

    assert stores == [{"kind": "s3", "bucket": "acme", "auth": "aws"}, {"kind": "sqlite"}]


NESTED = st.recursive(
    st.integers() | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
SPECS = st.dictionaries(st.sampled_from("abc"), NESTED, max_size=3)


@pytest.mark.spec("TK-03")
@given(SPECS, SPECS)
def test_merging_keeps_what_only_one_side_has_and_the_inner_side_wins(one: dict, two: dict) -> None:  # type: ignore[type-arg]
    assert merge(one, one) == one
    assert merge(merge(one, two), two) == merge(one, two)
    assert set(merge(one, two)) == set(one) | set(two)
    assert all(merge(one, two)[key] == value for key, value in two.items() if not isinstance(value, dict))


@pytest.mark.spec("RT-01", "RT-11")
def test_an_arc_handles_failures_when_its_guard_reads_what_tells_them(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool: {kind: noop}
            next:
              arcs:
                - {step: end, when: "{{ ctx.x == 1 }}"}
                - {step: end, when: "{{ output.error.kind == 'timeout' }}"}
                - {step: end, when: "{{ output.data == 2 }}"}
                - {step: end, when: "{{ event.status == 'error' }}"}
                - {step: end}
          - step: end
            tool: {kind: noop}
        """)

    assert [arc.handles_failure for arc in playbook.steps["start"].router.arcs] == [False, True, False, True, False]


@pytest.mark.spec("RT-11")
def test_the_letter_of_000_can_be_asked_for(front: Front) -> None:
    playbook = front.playbook("""
        executor: {spec: {policy: {routing: {unguarded_on_failure: true}}}}
        workflow:
          - step: start
            tool: {kind: noop}
            next: {arcs: [{step: end}]}
          - step: end
            tool: {kind: noop}
        """)

    assert playbook.steps["start"].router.arcs[0].handles_failure


@pytest.mark.spec("TK-11")
def test_fields_on_the_task_and_under_input_are_the_same_thing(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              - {name: one, kind: http, url: "https://example.com", input: {extra: 1}}
              - {name: two, kind: http, input: {url: "https://example.com", extra: 1}}
        """)
    one, two = playbook.steps["start"].tasks

    assert {key: value.parts for key, value in one.input.items()} == {
        key: value.parts for key, value in two.input.items()
    }


@pytest.mark.spec("LP-09", "SC-12", "LP-05")
def test_nested_loops_keep_their_order_and_share_reducers(front: Front) -> None:
    playbook = front.playbook("""
        executor: {profile: local}
        workflow:
          - step: start
            loop:
              in: "{{ [[1], [2]] }}"
              iterator: row
              spec: {mode: parallel, max_in_flight: 2, policy: {reducers: {ctx.total: sum}}}
              loop:
                in: "{{ iter.row }}"
                iterator: cell
                spec: {policy: {exec: distributed}}
            tool:
              kind: noop
              set: {ctx.total: "{{ iter.cell }}"}
        """)
    outer = playbook.steps["start"].loop
    assert outer is not None
    assert outer.inner is not None

    assert (outer.iterator, outer.is_parallel, outer.max_in_flight, outer.is_distributed) == ("row", True, 2, False)
    assert (outer.inner.iterator, outer.inner.is_parallel, outer.inner.is_distributed) == ("cell", False, True)
    assert outer.reducers == outer.inner.reducers == {"ctx.total": "sum"}


@pytest.mark.spec("RT-06")
@pytest.mark.parametrize(
    ("executor", "names", "entry"),
    [("", "[b, start]", "start"), ("", "[b, c]", "b"), ("executor: {spec: {entry_step: c}}", "[b, c]", "c")],
)
def test_the_entry_step_is_named_or_start_or_the_first(front: Front, executor: str, names: str, entry: str) -> None:
    steps = "\n".join(f"  - {{step: {name}, tool: {{kind: noop}}}}" for name in names.strip("[]").split(", "))

    assert front.playbook(f"{executor}\nworkflow:\n{steps}\n").entry == entry


@pytest.mark.spec("TK-10")
def test_a_skip_rule_that_needs_no_output_is_asked_before_the_tool(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              kind: http
              url: https://example.com
              spec:
                policy:
                  rules:
                    - {when: "{{ ctx.done }}", then: {do: skip}}
                    - {when: "{{ output.status == 'error' }}", then: {do: skip}}
                    - {else: {then: {do: continue}}}
        """)
    policy = playbook.steps["start"].tasks[0].policy
    assert policy is not None

    assert [rule.is_before_tool for rule in policy.rules] == [True, False, False]


@pytest.mark.spec("TK-08")
def test_a_retry_has_the_documented_defaults(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              kind: http
              url: https://example.com
              spec:
                policy:
                  rules:
                    - {when: "{{ output.status == 'error' }}", then: {do: retry}}
                    - {else: {then: {do: continue}}}
        """)
    policy = playbook.steps["start"].tasks[0].policy
    assert policy is not None
    rule = policy.rules[0]

    assert (rule.attempts, rule.backoff, rule.delay) == (3, "none", 1.0)


@pytest.mark.spec("RS-03")
def test_a_task_knows_that_its_output_is_wanted_as_a_reference(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              - {name: fetch, kind: http, url: "https://example.com", set: {ctx.page_ref: "{{ output.ref }}"}}
              - {name: rest, kind: noop}
            next: {arcs: [{step: end}]}
          - step: end
            tool: {kind: resolve, input: {ref: "{{ output.ref }}"}}
        """)

    assert [task.wants_reference for task in playbook.steps["start"].tasks] == [True, True]
    assert playbook.steps["start"].wants_reference
    assert not playbook.steps["end"].tasks[0].wants_reference


def test_code_is_never_a_template(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              kind: python
              code: |
                result = f"{{literal}}"
        """)
    code = playbook.steps["start"].tasks[0].input["code"]

    assert code.parts == 'result = f"{{literal}}"\n'
    assert code.is_constant


def test_places_survive_into_the_model(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              - name: one
                kind: noop
                set: {ctx.a: "{{ _prev }}"}
        """)
    task = playbook.steps["start"].tasks[0]

    assert (task.place.file, task.place.line, task.place.column) == ("t.yaml", 8, 9)
    assert (task.set[0].place.line, task.set[0].place.column) == (10, 15)


def test_a_value_keeps_the_names_it_reads(front: Front) -> None:
    playbook = front.playbook("""
        workload: {a: 1}
        workflow:
          - step: start
            tool:
              kind: noop
              input: {x: ["{{ workload.a }}", {y: "{{ ctx.b }}-{{ execution_id }}"}], z: plain}
        """)
    values = playbook.steps["start"].tasks[0].input

    assert values["x"].reads == {"workload", "ctx", "execution_id"}
    assert values["z"].is_constant


@pytest.mark.spec("DI-02")
def test_code_is_left_as_it_is_wherever_its_task_stands(front: Front) -> None:
    code = 'result = f"{{outcome}} {{args}}"'
    playbook = front.playbook(f"""
        workflow:
          - step: start
            spec:
              policy:
                compensation: {{tool: {{kind: python, code: '{code}'}}}}
            tool:
              - while:
                  when: "{{{{ outcome.status == 'ok' and step.more }}}}"
                  tool: [{{name: inner, kind: python, code: '{code}', set: {{step.more: false}}}}]
        """)
    step = playbook.steps["start"]

    assert step.compensation[0].input["code"].parts == code
    assert next(task for task in step.tasks if task.label == "inner").input["code"].parts == code
    assert [read.name for read in step.tasks[0].policy.rules[0].when.template.reads] == ["output", "step"]  # type: ignore[union-attr]


@pytest.mark.spec("TK-03", "TK-18")
def test_default_timeouts_of_the_executor_stand_above_those_of_a_kind_and_below_its_spec(front: Front) -> None:
    body = """
        executor: {spec: {SPEC policy: {defaults: {timeouts: {connect: 1, read: 5}}}}}
        workflow: [{step: start, tool: {kind: http, url: "https://example.com"}}]
        """
    plain = front.playbook(body.replace("SPEC", "")).steps["start"].tasks[0].timeout
    over = (
        front.playbook(body.replace("SPEC", "timeout: 30, http: {timeout: {read: 7}},")).steps["start"].tasks[0].timeout
    )

    assert (plain.connect, plain.read, plain.total) == (1, 5, None)
    assert (over.connect, over.read, over.total) == (1, 7, 30)


@pytest.mark.spec("TK-18")
def test_what_a_spec_says_of_one_kind_stands_above_what_it_says_of_all(front: Front) -> None:
    playbook = front.playbook("""
        executor: {spec: {timeout: 3, http: {timeout: 7}}}
        workflow: [{step: start, tool: [{kind: http, url: "https://example.com"}, {kind: noop}]}]
        """)

    assert [task.timeout.total for task in playbook.steps["start"].tasks] == [7, 3]


@pytest.mark.spec("TK-10")
@pytest.mark.parametrize(
    "rule",
    [
        "{else: {then: {do: skip}}}",
        '{when: "{{ f.data.empty }}", then: {do: skip}}',
        '{when: "{{ output.data == 1 }}", then: {do: skip}}',
    ],
)
def test_a_skip_that_needs_the_tools_answer_is_not_asked_before_the_tool(front: Front, rule: str) -> None:
    playbook = front.playbook(f"""
        workflow:
          - step: start
            tool: [{{name: f, kind: http, url: "https://example.com", spec: {{policy: {{rules: [{rule}]}}}}}}]
        """)
    policy = playbook.steps["start"].tasks[0].policy
    assert policy is not None

    assert not policy.rules[-1].is_before_tool


@pytest.mark.spec("RS-03")
def test_tasks_of_the_workbook_and_of_a_compensation_know_that_a_reference_is_wanted(front: Front) -> None:
    task = '{kind: http, url: "https://example.com", set: {ctx.page_ref: "{{ output.ref }}"}}'
    playbook = front.playbook(f"""
        workbook: {{shared: {task}}}
        workflow:
          - step: start
            spec: {{policy: {{compensation: {{tool: {task.replace("{kind", "{name: undo, kind", 1)}}}}}}}
            tool: {{kind: workbook, task: shared}}
        """)

    assert playbook.workbook["shared"].wants_reference
    assert playbook.steps["start"].compensation[0].wants_reference
    assert not playbook.steps["start"].tasks[0].wants_reference


@pytest.mark.spec("ST-10", "RT-03")
def test_an_event_of_the_authors_own_is_added_where_its_step_ends(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - {step: a, spec: {policy: {emit: {events: [{name: done}]}}}, tool: {kind: noop}, next: {arcs: [{step: b}]}}
          - step: b
            spec: {policy: {emit: {events: [{name: done}]}}}
            loop: {in: [1], iterator: n}
            tool: {kind: noop}
        """)

    assert [step.emissions[0].on for step in playbook.steps.values()] == ["step.done", "loop.done"]
