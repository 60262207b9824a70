"""Which names can be read and written where: the table of scopes.py, place by place (NL605-NL612, NL615, NL616)."""

import pytest

from noetl.dsl.check import Checked
from noetl.dsl.draft import Site
from noetl.dsl.scopes import RESERVED, SITES
from tests.dsl.front import Front

PLAYBOOK = """
keychain:
  - {{name: db, kind: basic, hint: {credential}}}
workload:
  api_url: https://example.com
  items: []
workflow:
  - step: before
    tool: {{kind: noop}}
    next: {{arcs: [{{step: main}}]}}
  - step: main
    spec:
      policy:
        admit:
          rules:
            - when: {admission}
              then: {{allow: true}}
            - else: {{then: {{allow: false}}}}
        compensation:
          tool: {{name: undo, kind: shell, command: "true", input: {{x: {compensation}}}}}
    {loop}
    input: {{x: {step_input}}}
    tool:
      - name: first
        kind: shell
        command: "true"
        input: {{x: {field}}}
        set: {{step.x: {task_set}}}
        spec:
          policy:
            rules:
              - when: {rule}
                then: {{do: retry, delay: {delay}}}
              - when: "{{{{ output.status == 'error' }}}}"
                then: {{do: fail}}
              - else: {{then: {{do: continue, set: {{step.y: {rule_set}}}}}}}
      - name: second
        kind: noop
    set: {{step.z: {step_set}}}
    next:
      arcs:
        - step: after
          when: {arc}
          set: {{ctx.x: {arc_set}}}
          spec: {{dedupe: {arc_spec}}}
  - step: after
    tool: {{kind: noop}}
workbook:
  shared: {{kind: shell, command: "true", input: {{x: {workbook}}}}}
"""
PLACES = {
    "credential": Site.CREDENTIAL,
    "admission": Site.ADMIT,
    "step_input": Site.STEP_INPUT,
    "field": Site.TASK_FIELD,
    "task_set": Site.TASK_SET,
    "rule": Site.RULE_WHEN,
    "delay": Site.RULE_DELAY,
    "rule_set": Site.RULE_SET,
    "step_set": Site.STEP_SET,
    "arc": Site.ARC_WHEN,
    "arc_set": Site.ARC_SET,
    "arc_spec": Site.ARC_SPEC,
}
PIPELINE = ("field", "task_set", "rule", "delay", "rule_set")
ARCS = ("arc", "arc_set", "arc_spec")
NO_LOOP = "desc: no loop"
LOOP = 'loop: {in: "{{ workload.items }}", iterator: item}'
NESTED = 'loop: {in: "{{ workload.items }}", iterator: outer, loop: {in: "{{ iter.outer.parts }}", iterator: item}}'


def with_template(place: str, expression: str, loop: str = NO_LOOP) -> str:
    """The playbook with one template in one place."""
    blank = dict.fromkeys((*PLACES, "compensation", "workbook"), "true")
    return PLAYBOOK.format(**{**blank, place: f'"{{{{ {expression} }}}}"', "loop": loop})


def codes(result: Checked) -> set[str]:
    return {finding.code for finding in result.findings if finding.code.startswith("NL6")}


@pytest.mark.spec("TP-02", "ST-05", "SC-03", "SC-05", "SC-06", "KC-07", "RT-12")
@pytest.mark.parametrize("name", sorted(RESERVED - {"iter", "keychain"}))
@pytest.mark.parametrize("place", PLACES)
def test_a_scope_is_read_where_the_table_has_it_and_refused_elsewhere(front: Front, place: str, name: str) -> None:
    result = front.check(with_template(place, f"{name} is defined"))

    assert codes(result) == (set() if name in SITES[PLACES[place]].names else {"NL605"})


@pytest.mark.spec("KC-07")
@pytest.mark.parametrize("place", [*PLACES, "compensation", "workbook"])
def test_keychain_flows_into_tool_fields_only(front: Front, place: str) -> None:
    result = front.check(with_template(place, "keychain.db.username"))

    assert codes(result) == (set() if place in ("field", "compensation", "workbook") else {"NL615"})


@pytest.mark.spec("KC-07")
@pytest.mark.parametrize("path", ["keychain.bd.username", "keychain['bd']", "keychain[workload.items]", "keychain"])
def test_a_keychain_entry_must_be_declared_and_named(front: Front, path: str) -> None:
    assert codes(front.check(with_template("field", path))) == {"NL616"}


@pytest.mark.spec("SC-03")
@pytest.mark.parametrize("loop", [NO_LOOP, LOOP], ids=["no loop", "loop"])
@pytest.mark.parametrize("place", [*PLACES, "compensation", "workbook"])
def test_iter_is_read_inside_an_iteration_only(front: Front, place: str, loop: str) -> None:
    result = front.check(with_template(place, "iter.index", loop))

    is_inside = place == "workbook" or (place in PIPELINE and loop is LOOP)
    assert codes(result) == (set() if is_inside else {"NL605"})


@pytest.mark.spec("SC-04", "LP-09")
def test_the_inner_loop_reads_the_outer_iteration_and_the_outer_reads_none(front: Front) -> None:
    right = front.check(with_template("field", "iter.parent.outer.id", NESTED))
    wrong = front.check(with_template("field", "iter.item", NESTED.replace("workload.items", "iter.outer")))

    assert codes(right) == set()
    assert codes(wrong) == {"NL605"}


@pytest.mark.spec("TP-02", "KC-07", "LP-02")
@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("workload.items", set()),
        ("output.data + ctx.more + input.x", set()),
        ("before.data", set()),
        ("range(10)", set()),
        ("iter.index", {"NL605"}),
        ("item", {"NL605"}),
        ("step.x", {"NL605"}),
        ("event.name", {"NL605"}),
        ("_prev", {"NL605"}),
        ("first.data", {"NL605"}),
        ("keychain.db.items", {"NL615"}),
    ],
)
def test_loop_in_reads_what_is_there_before_the_loop(front: Front, expression: str, wanted: set[str]) -> None:
    result = front.check(with_template("field", "1", LOOP.replace("workload.items", expression)))

    assert codes(result) == wanted


@pytest.mark.spec("TP-06", "SC-11")
@pytest.mark.parametrize("loop", [NO_LOOP, LOOP], ids=["no loop", "loop"])
@pytest.mark.parametrize("place", PLACES)
def test_a_task_label_is_read_in_its_pipeline_and_in_the_set_of_a_step_without_loop(
    front: Front, place: str, loop: str
) -> None:
    result = front.check(with_template(place, "first.data.x", loop))

    is_readable = place in PIPELINE or (place == "step_set" and loop is NO_LOOP)
    assert codes(result) == (set() if is_readable else {"NL605"})


@pytest.mark.spec("TP-06", "PB-06")
@pytest.mark.parametrize("place", ["compensation", "workbook"])
def test_a_compensation_and_a_workbook_task_have_labels_of_their_own(front: Front, place: str) -> None:
    own = {"compensation": "undo", "workbook": "shared"}[place]

    assert codes(front.check(with_template(place, "first.data"))) == {"NL605"}
    assert codes(front.check(with_template(place, f"{own}.data"))) == set()


@pytest.mark.spec("TP-06")
@pytest.mark.parametrize("place", [place for place in PLACES if place != "credential"])
def test_a_step_and_a_workload_key_are_read_bare_everywhere(front: Front, place: str) -> None:
    assert codes(front.check(with_template(place, "before.data"))) == set()
    assert codes(front.check(with_template(place, "api_url"))) == {"NL607"}


@pytest.mark.spec("TP-06", "KC-01")
def test_a_keychain_entry_reads_the_workload_and_no_step(front: Front) -> None:
    assert codes(front.check(with_template("credential", "workload.api_url ~ execution_id"))) == set()
    assert codes(front.check(with_template("credential", "before.data"))) == {"NL605"}


@pytest.mark.spec("TP-06", "SC-04")
@pytest.mark.parametrize(
    ("loop", "name", "wanted"),
    [(LOOP, "item", "iter.item"), (NESTED, "item", "iter.item"), (NESTED, "outer", "iter.parent.outer")],
    ids=["loop", "inner", "outer"],
)
def test_a_bare_iterator_is_given_its_qualified_form(front: Front, loop: str, name: str, wanted: str) -> None:
    result = front.check(with_template("field", f"{name}.id ~ {name}.id", loop))

    found = [finding for finding in result.findings if finding.code == "NL607"]
    assert [(finding.severity, finding.fix) for finding in found] == [("info", f"write {wanted}")]
    assert [edit.text for edit in found[0].edits] == [wanted, wanted]


@pytest.mark.spec("TP-06")
def test_a_label_comes_before_a_step_and_a_workload_key_of_its_name(front: Front) -> None:
    body = with_template("field", "second.data").replace("  items: []", "  items: []\n  second: {}")

    assert "NL607" not in codes(front.check(body))


@pytest.mark.spec("TP-02", "TP-06")
@pytest.mark.parametrize(
    ("expression", "fix"),
    [
        ("worklod.x", 'did you mean "workload"?'),
        ("imput.x", 'did you mean "input"?'),
        ("frist.data", 'did you mean "first"?'),
        ("bfore.data", 'did you mean "before"?'),
        ("api_ulr", 'did you mean "api_url"?'),
        ("vars.x", "write step.<name> for one step run, ctx.<name> for the execution, workload.<name> for inputs"),
        ("result.x", "what a task gave is output.data"),
        ("brought_by_request", "if the request brings it, write workload.brought_by_request"),
        ("ctx.page-size", "if the dash belongs to the key, write ctx['page-size']"),
        ("null", 'write "none"'),
    ],
)
def test_an_unknown_name_gets_the_advice_that_fits_it(front: Front, expression: str, fix: str) -> None:
    result = front.check(with_template("field", expression))

    assert [finding.fix for finding in result.findings if finding.code == "NL606"] == [fix]


@pytest.mark.spec("TP-06")
def test_names_that_a_template_gives_itself_are_known(front: Front) -> None:
    text = "{% set total = 0 %}{% for part in ctx.parts %}{{ loop.index }}{{ part }}{{ total }}{% endfor %}"

    assert codes(front.check(with_template("field", "1").replace('"{{ 1 }}"', f'"{text}"'))) == set()


@pytest.mark.spec("UP-01", "UP-04")
def test_under_upstream_an_unknown_name_is_a_warning(front: Front) -> None:
    result = front.check(with_template("field", "something.x ~ event.name"), is_upstream=True)

    found = {finding.code: finding.severity for finding in result.findings if finding.code in ("NL605", "NL606")}
    assert found == {"NL605": "warning", "NL606": "warning"}


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize("loop", [NO_LOOP, LOOP], ids=["no loop", "loop"])
@pytest.mark.parametrize("place", PLACES)
def test_a_statement_is_refused_where_the_server_evaluates(front: Front, place: str, loop: str) -> None:
    body = with_template(place, "1", loop).replace('"{{ 1 }}"', '"{% if workload.items %}true{% endif %}"')

    is_on_server = place in ("credential", "admission", *ARCS) or (place == "step_set" and loop is LOOP)
    assert codes(front.check(body)) == ({"NL612"} if is_on_server else set())


SETS = """
workload: {{items: []}}
workflow:
  - step: main
    {loop}
    tool:
      - name: first
        kind: noop
        {task}
        spec: {{policy: {{rules: [{{else: {{then: {{do: continue{rule}}}}}}}]}}}}
    {step}
    next:
      arcs:
        - step: after
          {arc}
  - step: after
    tool: {{kind: noop}}
"""


def with_set(place: str, target: str, loop: str = NO_LOOP, value: str = "1") -> str:
    parts = {"task": "desc: x", "rule": "", "step": "input: {}", "arc": "when: true", "loop": loop}
    written = f"set: {{{target}: {value}}}"
    return SETS.format(**{**parts, place: f", {written}" if place == "rule" else written})


@pytest.mark.spec("SC-09")
@pytest.mark.parametrize("loop", [NO_LOOP, LOOP], ids=["no loop", "loop"])
@pytest.mark.parametrize("scope", ["ctx", "step", "iter"])
@pytest.mark.parametrize("place", ["task", "rule", "step", "arc"])
def test_a_set_writes_only_the_scopes_of_its_place(front: Front, place: str, scope: str, loop: str) -> None:
    result = front.check(with_set(place, f"{scope}.x", loop))

    may = {"task": ["ctx", "step"], "rule": ["ctx", "step"], "step": ["ctx", "step"], "arc": ["ctx"]}[place]
    may = [*may, "iter"] if loop is LOOP and place in ("task", "rule") else may
    assert codes(result) == (set() if scope in may else {"NL609"})


@pytest.mark.spec("SC-01", "SC-06", "SC-09", "KC-06")
@pytest.mark.parametrize(
    "target",
    [
        "workload.x",
        "input.x",
        "output.data",
        "keychain.db",
        "event.name",
        "execution_id",
        "_prev",
        "args.x",
        "workload",
    ],
)
@pytest.mark.parametrize("place", ["task", "rule", "step", "arc"])
def test_a_read_only_scope_is_written_nowhere(front: Front, place: str, target: str) -> None:
    assert codes(front.check(with_set(place, target))) == {"NL608"}


@pytest.mark.spec("SC-03", "SC-04")
@pytest.mark.parametrize("target", ["iter.index", "iter.parent", "iter.parent.page"])
def test_an_iteration_cannot_be_moved_or_leave_itself(front: Front, target: str) -> None:
    assert codes(front.check(with_set("task", target, LOOP))) == {"NL608"}


@pytest.mark.spec("SC-09")
@pytest.mark.parametrize(
    ("target", "place", "fix"),
    [
        ("page", "task", 'write "ctx.page"'),
        ("ctxt.page", "task", 'did you mean "ctx.page"?'),
        ("context.page", "arc", 'did you mean "ctx.page"?'),
        ("vars.page", "task", 'did you mean "step.page"?'),
        ("vars.page", "arc", 'write "ctx.page"'),
    ],
)
def test_a_target_without_a_scope_gets_the_advice_that_fits_it(front: Front, target: str, place: str, fix: str) -> None:
    result = front.check(with_set(place, target))

    assert [finding.fix for finding in result.findings if finding.code == "NL609"] == [fix]


@pytest.mark.spec("SC-10")
@pytest.mark.parametrize(
    "target",
    ["ctx.a.", "ctx..a", '"ctx.a b"', '"ctx.a[0]"', '"ctx.a\'b"', '"ctx.{{ x }}"', '"ctx.a{b}"', "ctx", "step"],
)
def test_a_target_is_a_path_of_names(front: Front, target: str) -> None:
    assert codes(front.check(with_set("task", target))) == {"NL610"}


@pytest.mark.spec("SC-10", "DI-02")
@pytest.mark.parametrize("target", ["ctx.user-id", "ctx.1a", '"ctx.ä"', "ctx.a.b-c"])
def test_a_name_that_brackets_can_read_is_a_target(front: Front, target: str) -> None:
    assert codes(front.check(with_set("task", target))) == set()


@pytest.mark.spec("SC-10")
@pytest.mark.parametrize(
    "written", ["set: [{ctx.a: 1}]", "set: ctx.a", "set: 1", "set: []", 'set: "{{ output.data }}"']
)
@pytest.mark.parametrize("place", ["task", "step", "arc"])
def test_a_set_is_a_mapping(front: Front, place: str, written: str) -> None:
    result = front.check(with_set(place, "ctx.a").replace("set: {ctx.a: 1}", written))

    assert [finding.code for finding in result.findings if finding.severity == "error"] == ["NL610"]


@pytest.mark.spec("SC-10")
@pytest.mark.parametrize(
    ("target", "value"),
    [("ctx.a.b", "1"), ("ctx", "{a: 1, b: {c: 2}}"), ("ctx.a", "{b: {c: 1}}"), ("ctx.a", "{example.com: 1}")],
)
def test_flat_paths_and_a_nested_scope_are_right(front: Front, target: str, value: str) -> None:
    assert codes(front.check(with_set("task", target, value=value))) == set()


@pytest.mark.spec("SC-10", "TK-12")
@pytest.mark.parametrize(
    "entries",
    ["ctx.a: 1, ctx: {a: 2}", "ctx.a: 1, ctx.a.b: 2", "ctx.a.b.c: 1, ctx.a: 2", "ctx: {a: 1, a.b: 2}"],
)
def test_one_set_does_not_write_a_thing_twice(front: Front, entries: str) -> None:
    body = with_set("task", "ctx.a").replace("set: {ctx.a: 1}", f"set: {{{entries}}}")

    assert codes(front.check(body)) == {"NL611"}


@pytest.mark.spec("SC-10")
@pytest.mark.parametrize("entries", ["ctx.a: 1, ctx.ab: 2", "ctx.a.b: 1, ctx.a.c: 2", "ctx.a: 1, step.a: 2"])
def test_neighbours_in_one_set_do_not_collide(front: Front, entries: str) -> None:
    body = with_set("task", "ctx.a").replace("set: {ctx.a: 1}", f"set: {{{entries}}}")

    assert codes(front.check(body)) == set()


@pytest.mark.spec("SC-10")
def test_a_target_that_is_no_path_is_told_once(front: Front) -> None:
    sets = '{"ctx.a b": 1, "ctx.a b.c": 2}'

    assert front.codes(f"workflow: [{{step: a, tool: {{kind: noop}}, set: {sets}}}]") == ["NL610", "NL610"]


@pytest.mark.spec("TP-06", "TP-07")
def test_an_unknown_name_is_told_with_a_few_steps_that_can_be_read(front: Front) -> None:
    steps = "".join(
        f"  - {{step: s{n}, tool: {{kind: noop, input: {{a: 1}}}}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n"
        for n in range(6)
    )
    body = f'workflow:\n{steps}  - {{step: s6, tool: {{kind: noop, input: {{a: "{{{{ zzz }}}}"}}}}}}\n'

    (found,) = [one for one in front.check(body).findings if one.code == "NL606"]

    assert "; steps s0, s1, s2, s3 and 3 more" in found.why


def scratch(front: Front, expression: str, loop: str = NO_LOOP, more: str = "", **flags: bool) -> list[str]:
    """The findings about a read of iter or step in a step whose tasks and workbook write a few names."""
    body = f"""
    workload: {{items: []}}
    workflow:
      - step: start
        {loop}
        tool:
          - {{name: one, kind: shell, command: "true", input: {{x: "{{{{ {expression} }}}}"}}}}
          - {{name: two, kind: workbook, task: shared, set: {{step.a.b: 1, step: {{c: 1}}{more}}}}}
        set: {{step.late: 1}}
        next: {{arcs: [{{step: other}}]}}
      - {{step: other, tool: {{kind: noop, set: {{step.of_other: 1}}}}}}
    workbook:
      shared: {{kind: noop, set: {{step.by_shared: 1}}}}
    """
    found = front.check(body, **flags).findings
    return [f"{finding.code} {finding.fix}" for finding in found if finding.code in ("NL622", "NL623")]


@pytest.mark.spec("SC-04", "LP-09")
def test_iter_parent_needs_an_outer_loop(front: Front) -> None:
    assert scratch(front, "iter.parent.outer", LOOP) == ["NL622 write iter.outer"]
    assert scratch(front, "iter.parent.outer.id", NESTED) == []
    assert scratch(front, "iter.parent.parent.outer.id", NESTED) == ["NL622 write iter.parent.outer.id"]
    assert scratch(front, "iter.parent", LOOP.replace("iterator: item", "iterator: parent")) == []


@pytest.mark.spec("SC-03", "SC-05")
@pytest.mark.parametrize(
    "expression",
    [
        "step.a",
        "step.a.b.c",
        "step.c",
        "step.late",
        "step.by_shared",
        "step",
        "step.z | default(1)",
        "step.z.y|default(1)",
        "step.z is defined",
        "step.z if step.z is defined else 1",
        "step.z or 1",
        "step[workload.items[0]]",
        "step.a and [step.z or 1]",
    ],
)
def test_a_name_that_is_written_or_has_a_fallback_is_right(front: Front, expression: str) -> None:
    assert scratch(front, expression) == []


@pytest.mark.spec("SC-03", "SC-05")
@pytest.mark.parametrize(
    ("expression", "fix"),
    [
        ("step.lat", 'did you mean "step.late"?'),
        ("step.of_other", 'step.of_other of step "other" ends with it: write and read ctx.of_other'),
        ("step['zzz'] + 1", "write it with set: { step.zzz: … }, or give a fallback: step.zzz | default(…)"),
    ],
)
def test_a_name_of_step_that_nothing_writes_is_told(front: Front, expression: str, fix: str) -> None:
    assert scratch(front, expression) == [f"NL623 {fix}"]
    assert scratch(front, expression, is_upstream=True) == scratch(front, expression, is_legacy=True) == []


@pytest.mark.spec("SC-03", "SC-04")
def test_a_name_of_iter_that_nothing_writes_is_told(front: Front) -> None:
    assert scratch(front, "iter.item.x + iter.index + iter.n", LOOP, ", iter.n: 1") == []
    assert scratch(front, "iter.itme", LOOP) == ['NL623 did you mean "iter.item"?']
    assert scratch(front, "iter.outer", NESTED) == ["NL623 write iter.parent.outer"]
    assert scratch(front, "iter.parent.item", NESTED) == ["NL623 write iter.item"]


NAMESAKES = """
workload: {{later: {{name: x}}}}
workflow:
  - step: start
    tool: {{kind: shell, command: "true", input: {{x: "{{{{ {start} }}}}"}}}}
    next: {{spec: {{mode: {mode}}}, arcs: [{{step: later}}, {{step: side, when: "{{{{ ctx.x }}}}"}}]}}
  - step: later
    tool: {{kind: shell, command: "true"}}
    next: {{arcs: [{{step: last}}]}}
  - step: side
    tool: {{kind: shell, command: "true", input: {{x: "{{{{ {side} }}}}"}}}}
  - step: last
    tool: {{kind: shell, command: "true", input: {{x: "{{{{ {last} }}}}"}}}}
"""


@pytest.mark.spec("TP-06")
@pytest.mark.parametrize(
    ("place", "mode", "is_key"),
    [
        ("start", "exclusive", True),
        ("last", "exclusive", False),
        ("start", "inclusive", True),
        ("side", "inclusive", False),
    ],
)
def test_a_step_that_cannot_have_run_leaves_its_name_to_the_workload(
    front: Front, place: str, mode: str, is_key: bool
) -> None:
    reads = {"start": "1", "side": "1", "last": "1", place: "later.name"}

    found = codes(front.check(NAMESAKES.format(mode=mode, **reads)))
    assert ("NL607" in found) is is_key
    assert ("NL619" in found) is not is_key
