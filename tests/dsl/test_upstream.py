"""Habits of playbooks for the public NoETL, accepted with --compat upstream (UP-03 to UP-08)."""

import textwrap

import pytest

from noetl.dsl.check import check
from noetl.dsl.migrate import KEPT, migrate, remaining
from noetl.dsl.nodes import plain
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD
from tests.dsl.meaning import meaning

pytestmark = pytest.mark.spec("UP-04")


def read_as(body: str) -> dict:
    text = HEAD + textwrap.dedent(body).lstrip("\n")
    return plain(check(text, "t.yaml", declarations, is_upstream=True).drafts[0].root)


def task_of(fields: str) -> dict:
    return read_as(f"workflow: [{{ step: a, tool: {{ {fields} }} }}]")["workflow"][0]["tool"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind: http, endpoint: 'https://x.y'", {"kind": "http", "url": "https://x.y"}),
        ("kind: http, input: { endpoint: 'https://x.y' }", {"kind": "http", "input": {"url": "https://x.y"}}),
        ("kind: http, url: x, payload: { a: 1 }", {"kind": "http", "url": "x", "json": {"a": 1}}),
        ("kind: playbook, path: p, payload: { a: 1 }", {"kind": "playbook", "path": "p", "input": {"a": 1}}),
        ("kind: python, code: c, args: { a: 1 }", {"kind": "python", "code": "c", "input": {"a": 1}}),
        (
            "kind: playbook, path: p, payload: { a: 1, b: 2 }, input: { b: 3 }",
            {"kind": "playbook", "path": "p", "input": {"b": 3, "a": 1}},
        ),
        (
            "kind: noop, set: { a: 1, ctx.b: 2, iter.c: 3 }",
            {"kind": "noop", "set": {"step.a": 1, "ctx.b": 2, "iter.c": 3}},
        ),
        ("kind: noop, set_ctx: { a: 1 }, set: { b: 2 }", {"kind": "noop", "set": {"step.b": 2, "ctx.a": 1}}),
        (
            "kind: noop, output: { select: [a], store: { kind: files } }",
            {"kind": "noop", "spec": {"result": {"select": ["a"], "store": {"kind": "files"}}}},
        ),
        (
            "kind: noop, output: { select: [a], store: { kind: auto } }",
            {"kind": "noop", "spec": {"result": {"select": ["a"]}}},
        ),
        ("kind: noop, spec: { result: { ttl: 60, store: kv } }", {"kind": "noop", "spec": {"result": {"ttl": 60}}}),
    ],
)
def test_fields_with_another_name_are_understood(old, new):
    assert task_of(old) == new


@pytest.mark.spec("UP-03")
@pytest.mark.parametrize("kind", ["postgres", "duckdb"])
def test_credential_is_auth(kind):
    assert task_of(f"kind: {kind}, credential: pg, command: x") == {"kind": kind, "auth": "pg", "command": "x"}


@pytest.mark.spec("UP-03")
@pytest.mark.parametrize(
    ("kind", "pool", "spec"),
    [
        ("postgres", "pool: { min_size: 1, max_size: 4 }", {"spec": {"pool": {"max": 4}}}),
        ("postgres", "pool: { max_size: 4 }, spec: { pool: { max: 9 } }", {"spec": {"pool": {"max": 9}}}),
        ("postgres", "pool: { max_size: 4 }, spec: { timeout: 9 }", {"spec": {"timeout": 9, "pool": {"max": 4}}}),
        ("postgres", "pool: { timeout: 4 }", {}),
        ("duckdb", "pool: { max_size: 4 }", {}),
    ],
)
def test_of_a_pool_its_size_is_kept_where_the_kind_has_one(kind, pool, spec):
    assert task_of(f"kind: {kind}, auth: pg, command: x, {pool}") == {
        "kind": kind,
        "auth": "pg",
        "command": "x",
        **spec,
    }


MIGRATED_TASK = """
    workflow:
      - step: a
        output:
          store: { kind: auto }  # by size
          select: [total]
        tool:
          kind: postgres
          credential: pg  # who
          command: SELECT 1
          pool: { min_size: 1, max_size: 4 }
    keychain: [{ name: pg, kind: postgres_credential }]
    """


@pytest.mark.spec("UP-03", "PB-11")
def test_results_and_pools_are_migrated_and_mean_the_same():
    text = HEAD + textwrap.dedent(MIGRATED_TASK).lstrip("\n")

    done = migrate(text, "t.yaml", declarations)

    assert remaining(text, done, "t.yaml", declarations).findings == []
    new = meaning(check(done.text, "t.yaml", declarations, is_strict=True))
    assert new == meaning(check(text, "t.yaml", declarations, is_upstream=True))
    assert "pool: { max: 4 }" in done.text
    assert "auto" not in done.text
    assert "credential: pg" not in done.text


@pytest.mark.spec("UP-07")
@pytest.mark.parametrize("field", ["action: get, ref: r", "input: { action: get, result_ref: r }"])
def test_an_artifact_that_is_got_is_resolved(field):
    task = task_of(f"kind: artifact, {field}")

    assert task["kind"] == "resolve"
    assert (task.get("ref") or task["input"]["ref"]) == "r"
    assert "action" not in str(task)


def test_a_workbook_may_be_a_list():
    root = read_as(
        """
        workbook:
          - { name: one, tool: { kind: noop }, desc: first }
          - { name: two, tool: http, endpoint: "https://x.y" }
        workflow:
          - { step: a, tool: { kind: workbook, name: two } }
        """
    )

    assert root["workbook"] == {"one": {"kind": "noop", "desc": "first"}, "two": {"kind": "http", "url": "https://x.y"}}
    assert root["workflow"][0]["tool"]["task"] == "two"


def test_rules_may_say_else_do_and_fixed():
    rules = task_of(
        "kind: noop, spec: { policy: { rules: ["
        "{ when: '{{ true }}', then: { do: retry, backoff: fixed, set: { a: 1 } } }, { else: { do: continue } }] } }"
    )["spec"]["policy"]["rules"]

    assert rules == [
        {"when": "{{ true }}", "then": {"do": "retry", "backoff": "none", "set": {"step.a": 1}}},
        {"else": {"then": {"do": "continue"}}},
    ]


@pytest.mark.spec("UP-08")
def test_rules_without_else_fail_on_error_and_go_on_otherwise():
    rules = task_of("kind: http, url: x, spec: { policy: { rules: [{ when: '{{ true }}', then: { do: retry } }] } }")

    assert rules["spec"]["policy"]["rules"][1:] == [
        {"when": "{{ output.status == 'error' }}", "then": {"do": "fail"}},
        {"else": {"then": {"do": "continue"}}},
    ]


@pytest.mark.spec("UP-08", "TK-16")
def test_rules_that_say_what_happens_unmatched_are_left_alone():
    policy = "{ on_unmatched: continue, rules: [{ when: '{{ true }}', then: { do: retry } }] }"

    assert len(task_of(f"kind: http, url: x, spec: {{ policy: {policy} }}")["spec"]["policy"]["rules"]) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{{ loop_index }}", "{{ iter.index }}"),
        ("{{ iter._index }} of {{ iter._total }}", "{{ iter.index }} of {{ iter._total }}"),
        ("{{ iter._first }}", "{{ (iter.index == 0) }}"),
        ("{{ not iter._last }}", "{{ not (iter.index + 1 == iter._total) }}"),
        ("{{ iter.parent._index }}", "{{ iter.parent.index }}"),
    ],
)
def test_loop_names_are_those_of_iter(old, new):
    root = read_as(
        f'workflow: [{{ step: a, loop: {{ in: "{{{{ [1] }}}}", iterator: i }}, tool: {{ kind: http, url: "{old}" }} }}]'
    )

    assert root["workflow"][0]["tool"]["url"] == new


def test_a_workload_key_named_loop_index_stays_one():
    root = read_as(
        'workload: { loop_index: 1 }\nworkflow: [{ step: a, tool: { kind: http, url: "{{ loop_index }}" } }]'
    )

    assert root["workflow"][0]["tool"]["url"] == "{{ loop_index }}"


@pytest.mark.parametrize(
    ("loop", "done"), [("", "step.done"), ('loop: { in: "{{ [1] }}", iterator: i },', "loop.done")]
)
def test_event_names_in_guards_are_ours(loop, done):
    root = read_as(
        f"""
        workflow:
          - {{ step: a, {loop} tool: {{ kind: noop }}, next: {{ arcs: [
              {{ step: b, when: "{{{{ event.name in ['call.done', 'step.exit'] }}}}", set: {{ x: "call.done" }} }},
              {{ step: b, when: "{{{{ event.name == 'call.error' }}}}" }}] }} }}
          - {{ step: b, tool: {{ kind: noop }} }}
        """
    )

    one, other = root["workflow"][0]["next"]["arcs"]
    assert one["when"] == f"{{{{ event.name in ['{done}', '{done}'] }}}}"
    assert one["set"] == {"ctx.x": "call.done"}
    assert other["when"] == "{{ event.name == 'step.failed' }}"


FAN_OUT = """
    workflow:
      - step: start
        tool: {{ kind: noop }}
        next: {{ spec: {{ mode: {mode} }}, arcs: [{{ step: a{guard_a} }}, {{ step: b{guard_b} }}] }}
      - {{ step: a, tool: {{ kind: noop }}, next: {{ arcs: [{{ step: meet }}] }} }}
      - {{ step: b, tool: {{ kind: noop }}, next: {{ arcs: [{{ step: meet }}] }} }}
      - {{ step: meet, tool: {{ kind: noop }}, next: {{ arcs: [{{ step: end }}] }} }}
      - {{ step: end, tool: {{ kind: noop }} }}
    """


def joins(body: str) -> list[str]:
    steps = read_as(body)["workflow"]
    return [
        step["step"] for step in steps if step.get("spec", {}).get("policy", {}).get("admit", {}).get("join") == "all"
    ]


@pytest.mark.spec("UP-05", "ST-11")
def test_the_step_where_two_branches_meet_joins_and_no_other():
    assert joins(FAN_OUT.format(mode="inclusive", guard_a="", guard_b="")) == ["meet"]


@pytest.mark.spec("UP-05")
def test_branches_of_which_only_one_can_be_taken_do_not_join():
    assert joins(FAN_OUT.format(mode="exclusive", guard_a="", guard_b="")) == []
    done, failed = (f", when: \"{{{{ event.name == '{name}' }}}}\"" for name in ("call.done", "call.error"))
    assert joins(FAN_OUT.format(mode="inclusive", guard_a=done, guard_b=failed)) == []


def test_a_playbook_may_ask_for_it_itself():
    text = (
        HEAD
        + "executor: { spec: { compat: upstream } }\n"
        + "workflow: [{ step: a, tool: { kind: http, endpoint: 'https://x.y' } }]"
    )

    assert check(text, "t.yaml", declarations).is_valid


def test_nothing_of_it_is_read_unless_it_is_asked_for(front):
    assert "NL304" in front.codes("workflow: [{ step: a, tool: { kind: http, endpoint: 'https://x.y' } }]")


MIGRATED = """
    workbook:
      - name: ping  # is it there?
        tool:
          kind: http
          endpoint: "{{ workload.url }}"  # where
    workload: { url: "https://x.y" }
    workflow:
      - step: start
        tool:
          kind: http
          endpoint: "{{ workload.url }}"
          method: POST
          payload: { a: 1 }
          spec:
            policy:
              rules:
                # try again
                - when: "{{ outcome.status == 'error' }}"
                  then: { do: retry, backoff: fixed }
        set_ctx: { last: "{{ start.data }}" }
        next:
          spec: { mode: inclusive }
          arcs:
            - step: a
              when: "{{ event.name == 'call.done' }}"
            - step: b
      - { step: a, tool: { kind: workbook, name: ping }, next: { arcs: [{ step: end }] } }
      - { step: b, tool: { kind: noop }, next: { arcs: [{ step: end }] } }
      - step: end  # together
        tool: { kind: noop }
    """


@pytest.mark.spec("UP-05", "UP-08", "PB-11")
def test_what_can_be_rewritten_is_and_means_the_same():
    text = HEAD + textwrap.dedent(MIGRATED).lstrip("\n")

    done = migrate(text, "t.yaml", declarations)

    assert done.surface == "upstream"
    assert remaining(text, done, "t.yaml", declarations).findings == []
    new = meaning(check(done.text, "t.yaml", declarations, is_strict=True))
    assert new == meaning(check(text, "t.yaml", declarations, is_upstream=True))
    assert done.text.removeprefix(HEAD) == textwrap.dedent(
        """\
        executor:
          spec: { compat: upstream }
        workbook:
          # is it there?
          ping:
            kind: http
            url: "{{ workload.url }}"  # where
        workload: { url: "https://x.y" }
        workflow:
          - step: start
            tool:
              kind: http
              url: "{{ workload.url }}"
              method: POST
              json: { a: 1 }
              spec:
                policy:
                  rules:
                    # try again
                    - when: "{{ output.status == 'error' }}"
                      then: { do: retry, backoff: none }
                    - when: "{{ output.status == 'error' }}"
                      then: { do: fail }
                    - else:
                        then: { do: continue }
            set: { ctx.last: "{{ start.data }}" }
            next:
              spec: { mode: inclusive }
              arcs:
                - step: a
                  when: "{{ event.name == 'step.done' }}"
                - step: b
          - { step: a, tool: { kind: workbook, name: ping, task: ping }, next: { arcs: [{ step: end }] } }
          - { step: b, tool: { kind: noop }, next: { arcs: [{ step: end }] } }
          - step: end  # together
            spec:
              policy:
                admit: { join: all }
            tool: { kind: noop }
        """
    )


FIELD = """
    metadata: { name: weather, path: examples/weather }
    keychain:
      - { name: google_oauth, kind: secrets, map: { client: projects/1/secrets/client } }
      - name: token
        kind: oauth2_client_credentials
        endpoint: https://auth.example.com/token
        data: { client_id: "{{ keychain.google_oauth.client }}" }
    # what the request may change
    workload:
      base: https://api.example.com
    workflow:
      - step: start
        desc: List the cities
        tool:
          kind: http
          method: GET
          endpoint: "{{ workload.base }}/cities"
          assert: { status: 200 }
        next:
          arcs:
            - step: each_city
              when: "{{ event.name == 'call.done' }}"
              set: { total: "{{ start.cities | length }}" }
      - step: each_city
        loop: { in: "{{ start.cities }}", iterator: city }
        tool:
          - fetch:
              kind: python
              args: { name: "{{ iter.city.name }}", number: "{{ iter._index }}", of: "{{ iter._total }}" }
              code: |
                result = {"name": name, "of": of}
              set: { fetch_result: "{{ output.data }}" }
          - show:
              kind: python
              input: { seen: "{{ fetch_result.name }}", all: "{{ total }}" }
              code: |
                result = seen
          - report:
              kind: playbook
              path: examples/report
              task: report
    """


@pytest.mark.spec("UP-01", "UP-02", "PB-11")
def test_a_playbook_of_the_field_runs_unchanged_and_still_means_it_when_migrated():
    text = HEAD.replace("metadata: {name: t}\n", "") + textwrap.dedent(FIELD).lstrip("\n")

    done = migrate(text, "t.yaml", declarations, "upstream")

    assert remaining(text, done, "t.yaml", declarations).findings == []
    strict = check(done.text, "t.yaml", declarations, is_strict=True)
    assert meaning(strict) == meaning(check(text, "t.yaml", declarations, is_upstream=True))
    assert {finding.code for finding in strict.findings} == {"NL118", "NL304"}
    assert "executor:\n  spec: { compat: upstream }\n# what the request" in done.text
    assert [change.new for change in done.changes if change.name == "upstream-compat"] == [KEPT]
    assert 'seen: "{{ step.fetch_result.name }}", all: "{{ ctx.total }}"' in done.text
    again = migrate(done.text, "t.yaml", declarations)
    assert (again.text, again.changes) == (done.text, ())


@pytest.mark.parametrize(
    ("executor", "wanted"),
    [
        ("executor: { profile: local }", "executor: { profile: local, spec: { compat: upstream } }"),
        ("executor: { spec: { final_step: a } }", "executor: { spec: { final_step: a, compat: upstream } }"),
        ("executor: { spec: { compat: upstream } }", "executor: { spec: { compat: upstream } }"),
    ],
)
def test_what_was_read_as_upstream_asks_for_it_when_migrated(executor, wanted):
    body = "\nworkflow: [{ step: a, tool: { kind: http, url: x, set: { a: 1 } } }]\n"

    done = migrate(HEAD + executor + body, "t.yaml", declarations, "upstream")

    assert done.text == HEAD + wanted + body.replace("a: 1", "step.a: 1")
    assert KEPT in [change.new for change in done.changes]


def test_a_name_that_only_the_request_may_bring_is_no_error_once_migrated():
    text = HEAD + 'workflow: [{ step: a, tool: { kind: http, endpoint: "{{ other_name }}" } }]\n'

    done = migrate(text, "t.yaml", declarations)

    assert remaining(text, done, "t.yaml", declarations).findings == []
    found = check(done.text, "t.yaml", declarations, is_strict=True).findings
    assert [(one.code, one.severity) for one in found] == [("NL606", "warning")]


def test_what_a_step_sets_without_a_scope_is_read_so_in_it_and_nowhere_else():
    root = read_as(
        """
        workload: { known: 1 }
        workflow:
          - step: a
            loop: { in: "{{ found }}", iterator: one }
            tool:
              - { name: t, kind: http, url: "{{ found }}", set: { found: 1, known: 2, t: 3, one: 4 } }
              - { name: u, kind: http, url: "{{ found.x ~ known ~ t ~ one ~ passed }}" }
            next: { arcs: [{ step: b, when: "{{ found }}", set: { passed: "{{ found }}" } }] }
          - step: b
            tool: { kind: http, url: "{{ found ~ passed }}" }
        """
    )

    a, b = root["workflow"]
    assert a["loop"]["in"] == "{{ found }}"
    assert [task["url"] for task in a["tool"]] == [
        "{{ step.found }}",
        "{{ step.found.x ~ known ~ t ~ one ~ ctx.passed }}",
    ]
    assert a["next"]["arcs"][0]["when"] == "{{ step.found }}"
    assert a["next"]["arcs"][0]["set"] == {"ctx.passed": "{{ step.found }}"}
    assert b["tool"]["url"] == "{{ found ~ ctx.passed }}"


def test_a_workbook_task_reads_what_it_sets():
    root = read_as(
        "workbook: [{ name: w, tool: { kind: http, url: '{{ x }}', set: { x: 1 } } }]\n"
        "workflow: [{ step: a, tool: [{ go: { kind: workbook, name: w } }] }]"
    )

    assert root["workbook"]["w"]["url"] == "{{ step.x }}"
    assert root["workflow"][0]["tool"] == [{"kind": "workbook", "name": "go", "task": "w"}]


@pytest.mark.spec("KC-04")
def test_the_near_miss_of_a_longer_word_is_the_one_it_begins_with(front):
    found = front.check(
        "keychain: [{ name: a, kind: oauth2_client_credentials }]\nworkflow: [{ step: a, tool: { kind: noop } }]"
    ).findings

    assert [(one.code, one.severity) for one in found] == [("NL118", "error")]
    assert found[0].fix == 'did you mean "oauth2"?'
