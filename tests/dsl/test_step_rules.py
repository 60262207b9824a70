"""Rules of the step (NL201 to NL214): further shapes of each fault, and what is no fault."""

import pytest

from noetl.dsl.findings import Finding, apply_edits
from tests.dsl.front import HEAD, Front


def step(body: str, name: str = "start") -> str:
    return f"workflow:\n  - step: {name}\n    {body}\n"


def of_block(front: Front, body: str, **flags: bool) -> list[Finding]:
    return [finding for finding in front.check(body, **flags).findings if finding.code.startswith("NL2")]


def codes(front: Front, body: str, **flags: bool) -> list[str]:
    return [finding.code for finding in of_block(front, body, **flags)]


@pytest.mark.spec("PB-04", "ST-04")
@pytest.mark.parametrize(
    "name", ["", "~", "12", "[a]", "{ a: 1 }", "''", "'  '", "true", "a" * 201, '"a\\nb"', '"a\\u0007b"', '"a\\u2028b"']
)
def test_what_cannot_be_a_name_is_refused(front: Front, name: str) -> None:
    found = of_block(front, step("tool: { kind: noop }", name))

    assert [(one.code, one.severity) for one in found] == [("NL201", "error")]


@pytest.mark.spec("PB-04")
@pytest.mark.parametrize("name", ["a", "_a", "fetch_orders", "Fetch2", "a" * 200, "é", "étape", "步骤", "vars"])
def test_a_name_of_letters_digits_and_underscores_is_accepted(front: Front, name: str) -> None:
    assert front.codes(step("tool: { kind: noop }", name)) == []


@pytest.mark.spec("PB-04", "TP-06")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a-b", "in {{ a-b.data }} the dash is a minus"),
        ("a b", "in {{ a b.data }} the name would end at the blank"),
        ("a.b", "{{ a.b.data }} would read a key of a"),
        ("1st", "in {{ 1st.data }} the digit begins a number"),
        ("a/b", "{{ a/b.data }} is no expression"),
    ],
)
def test_a_name_that_no_template_can_read_is_worth_a_word_but_no_error(front: Front, name: str, why: str) -> None:
    found = of_block(front, step("tool: { kind: noop }", name))

    assert [(one.code, one.severity, one.why) for one in found] == [("NL201", "info", why)]


def test_a_template_in_a_name_is_told_as_not_rendered(front: Front) -> None:
    found = of_block(front, step("tool: { kind: noop }", "'{{ workload.x }}'"))

    assert [(one.code, one.severity) for one in found] == [("NL201", "warning")]


@pytest.mark.parametrize("item", ["- a", "- [a]", "- 3", "-", "- {}", "- tool: { kind: noop }"])
def test_an_item_that_is_no_step_is_refused(front: Front, item: str) -> None:
    assert codes(front, f"workflow:\n  {item}\n") == ["NL201"]


def test_a_name_under_another_word_is_repaired(front: Front) -> None:
    result = front.check("workflow:\n  - id: start\n    tool: { kind: noop }\n")

    repaired, _ = apply_edits(result.source.text, result.findings)

    assert repaired == HEAD + step("tool: { kind: noop }")


@pytest.mark.spec("RT-01")
def test_each_later_step_of_a_name_is_told(front: Front) -> None:
    body = "workflow:\n" + "".join(f"  - {{ step: {name}, tool: {{ kind: noop }} }}\n" for name in "abaa")

    assert [(one.code, one.place.line) for one in of_block(front, body)] == [("NL202", 7), ("NL202", 8)]


@pytest.mark.spec("ST-04", "DI-01")
@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("desk: x", '"desc"'),
        ("description: x", '"desc"'),
        ("inputs: {}", '"input"'),
        ("nxt: {}", '"next"'),
        ("url: https://example.com", "a field of kind: http"),
        ("output: x", "set: { ctx.<name>: … }"),
        ("depends_on: [a]", "next of the step before"),
        ("on_error: x", "step.failed"),
        ("foreach: x", "loop"),
        ("set_ctx: { a: 1 }", "ctx.<name>"),
        ("x: 1", "delete it"),
    ],
)
def test_an_unknown_key_of_a_step_is_refused_with_what_was_meant(front: Front, key: str, fix: str) -> None:
    found = front.check(step(f"tool: {{ kind: noop }}\n    {key}")).findings

    assert [one.code for one in found if one.severity == "error"] == ["NL203"]
    assert fix in next(one.fix for one in found if one.code == "NL203")


@pytest.mark.spec("ST-03", "PB-09")
def test_the_condition_of_a_step_becomes_its_gate(front: Front) -> None:
    result = front.check(step("when: \"{{ workload.a == 'x' }}\"\n    tool: { kind: noop }"))

    repaired, _ = apply_edits(result.source.text, result.findings)

    assert [one.code for one in result.findings] == ["NL204"]
    assert front.codes(repaired.removeprefix(HEAD)) == []
    assert "rules: [{ when: \"{{ workload.a == 'x' }}\", then: { allow: true } }" in repaired


@pytest.mark.spec("ST-03")
def test_a_condition_beside_a_spec_is_shown_but_not_moved(front: Front) -> None:
    found = of_block(front, step("when: '{{ workload.a }}'\n    spec: { timeout: 3 }\n    tool: { kind: noop }"))

    assert [(one.code, one.edits) for one in found] == [("NL204", ())]
    assert "when: '{{ workload.a }}'" in found[0].fix


@pytest.mark.spec("PB-09", "PB-10")
def test_the_oldest_surface_is_not_refused_when_it_is_asked_for(front: Front) -> None:
    body = step("when: '{{ workload.a }}'\n    spec: { next_mode: exclusive }\n    tool: { kind: noop }")

    assert codes(front, body) == ["NL204", "NL208"]
    assert codes(front, body, is_legacy=True) == []


@pytest.mark.spec("PB-09", "RS-05")
@pytest.mark.parametrize(
    ("block", "fix"),
    [
        ("case: [{ when: '{{ workload.a }}', then: x }]", "when: '{{ workload.a }}'"),
        ("case: x", "arcs"),
        ("retry: 4", "do: retry, attempts: 4"),
        ("retry: { attempts: 7 }", "do: retry, attempts: 7"),
        ("retry: always", "do: retry, attempts: 3"),
        ("sink: { tool: { kind: duckdb } }", "kind: duckdb"),
        ("sink: { kind: postgres }", "kind: postgres"),
        ("sink:", "kind: postgres"),
        ("vars: { a: 12 }", "ctx.a: 12"),
        ("vars: []", "ctx.<name>"),
        ("eval: [{ expr: '{{ x }}', do: fail }]", "when: '{{ x }}', then: { do: fail }"),
    ],
)
def test_a_block_that_is_gone_is_refused_with_its_modern_form(front: Front, block: str, fix: str) -> None:
    found = front.check(step(f"tool: {{ kind: noop }}\n    {block}")).findings

    assert [one.code for one in found if one.severity == "error"] == ["NL205"]
    assert fix in next(one.fix for one in found if one.code == "NL205")


@pytest.mark.spec("PB-09")
def test_a_pipe_is_refused(front: Front) -> None:
    found = front.check(step("pipe: [{ kind: noop }]")).findings

    assert [one.severity for one in found].count("error") == 1


@pytest.mark.spec("ST-02")
@pytest.mark.parametrize(("is_strict", "severity"), [(False, "warning"), (True, "error")])
def test_an_empty_step_is_a_warning_and_under_strict_an_error(front: Front, is_strict: bool, severity: str) -> None:
    found = of_block(front, step("desc: nothing"), is_strict=is_strict)

    assert [(one.code, one.severity) for one in found] == [("NL206", severity)]


@pytest.mark.spec("ST-02")
@pytest.mark.parametrize("body", ["tool: { kind: noop }", "next: { arcs: [{ step: start }] }"])
def test_a_step_with_a_tool_or_a_router_is_not_empty(front: Front, body: str) -> None:
    assert "NL206" not in codes(front, step(body))


def test_a_misspelt_tool_is_not_told_as_an_empty_step_too(front: Front) -> None:
    assert codes(front, step("tol: { kind: noop }")) == ["NL203"]


@pytest.mark.spec("TP-06")
@pytest.mark.parametrize(
    "name",
    "workload keychain ctx args input execution_id iter step _prev _task _attempt _key outcome output event".split(),
)
def test_a_step_cannot_have_the_name_of_a_scope(front: Front, name: str) -> None:
    found = of_block(front, step("tool: { kind: noop }", name))

    assert [(one.code, one.severity) for one in found] == [("NL207", "error")]


@pytest.mark.spec("TP-06")
@pytest.mark.parametrize("name", ["loop", "range", "dict", "for", "set", "if", "'none'", "not"])
def test_a_step_named_like_a_word_of_templates_is_worth_a_word_but_no_error(front: Front, name: str) -> None:
    found = of_block(front, step("tool: { kind: noop }", name))

    assert [(one.code, one.severity) for one in found] == [("NL207", "info")]


@pytest.mark.parametrize(("more", "does"), [("set: { ctx.a: 1 }", "only writes its set"), ("desc: a", "does nothing")])
def test_an_empty_step_is_told_with_what_it_does(front: Front, more: str, does: str) -> None:
    found = of_block(front, step(more))

    assert [(one.code, one.why.split(",")[0]) for one in found] == [("NL206", f"it {does}")]


@pytest.mark.spec("ST-10", "RT-03")
@pytest.mark.parametrize(
    ("loop", "on", "expected"),
    [
        ("", "loop.done", ["step.done"]),
        ("", "step.done", []),
        ("loop: { in: [1], iterator: n }\n    ", "step.done", ["loop.done"]),
        ("loop: { in: [1], iterator: n }\n    ", "loop.done", []),
        ("loop: { in: [1], iterator: n }\n    ", "step.failed", []),
        ("loop: { in: [1], iterator: n }\n    ", "step.started", []),
        ("loop: 3\n    ", "loop.done", []),
    ],
)
def test_an_event_at_a_boundary_that_never_comes_is_told(front: Front, loop: str, on: str, expected: list[str]) -> None:
    emit = f"spec: {{ policy: {{ emit: {{ events: [{{ name: my.event, on: {on} }}] }} }} }}"
    found = of_block(front, step(f"{loop}{emit}\n    tool: {{ kind: noop }}"))

    assert [(one.code, one.severity, one.fix) for one in found] == [
        ("NL214", "warning", f"write on: {boundary}") for boundary in expected
    ]


@pytest.mark.spec("ST-05", "ST-13")
def test_empty_admission_rules_are_a_warning(front: Front) -> None:
    body = step("tool: { kind: noop }\n    spec: { policy: { admit: { rules: [] } } }")

    assert [(one.code, one.severity) for one in front.check(body).findings] == [("NL210", "warning")]
    assert front.playbook(body).steps


@pytest.mark.spec("ST-08")
@pytest.mark.parametrize(
    "body",
    [
        "do: fail\n    tool: { kind: noop }",
        "tool: { kind: noop, do: fail }",
        "tool: { kind: noop, spec: { do: fail } }",
        "tool: { kind: noop }\n    spec: { policy: { do: fail } }",
        "tool: { kind: noop }\n    spec: { policy: { lifecycle: { do: fail } } }",
        "tool: { kind: noop }\n    spec: { policy: { rules: [{ then: { do: retry } }, { else: { do: fail } }] } }",
        "tool: { kind: noop }\n    spec: { policy: { admit: { rules: [{ else: { then: { do: fail } } }] } } }",
        "tool: { kind: noop }\n    loop: { in: [1], iterator: n, spec: { policy: { do: break } } }",
        "tool: { kind: noop }\n    loop: { in: [1], iterator: n, do: break }",
        "next: { spec: { policy: { do: fail } }, arcs: [{ step: start }] }",
        "next: { arcs: [{ step: start, do: jump }] }",
    ],
)
def test_a_directive_outside_a_tasks_rules_is_refused(front: Front, body: str) -> None:
    errors = [one.code for one in front.check(step(body)).findings if one.severity == "error"]

    assert errors == ["NL209"]


@pytest.mark.spec("ST-08")
def test_directives_of_the_executor_are_refused(front: Front) -> None:
    body = "executor: { spec: { policy: { rules: [{ else: { then: { do: fail } } }] } } }\n" + step(
        "tool: { kind: noop }"
    )

    assert front.codes(body) == ["NL209"]


@pytest.mark.spec("ST-08", "ST-12")
def test_the_rules_of_a_compensation_are_a_tasks_rules(front: Front) -> None:
    rules = "spec: { policy: { rules: [{ else: { then: { do: break, set: { ctx.a: 1 } } } }] } }"
    body = step(
        f"tool: {{ kind: noop }}\n    spec: {{ policy: {{ compensation: {{ tool: {{ kind: noop, {rules} }} }} }} }}"
    )

    assert codes(front, body) == []


@pytest.mark.spec("ST-05", "ST-13")
@pytest.mark.parametrize(
    "admit",
    [
        "[]",
        "true",
        "",
        "{ rules: x }",
        "{ rules: [3] }",
        "{ rules: [{ when: true }, { else: { then: { allow: true } } }] }",
        "{ rules: [{ when: true, then: true }, { else: { then: { allow: true } } }] }",
        "{ rules: [{ when: true, then: { alow: true, allow: true } }, { else: { then: { allow: true } } }] }",
        "{ rules: [{ when: true, then: {} }, { else: { then: { allow: true } } }] }",
        "{ rules: [{ else: { allow: true } }] }",
        "{ rules: [{ else: true }] }",
        "{ rules: [{ else: { then: { allow: true } }, when: true }] }",
        "{ rules: [{ else: { then: { allow: true } } }, { when: true, then: { allow: true } }] }",
        "{ rules: [{ then: { allow: true } }, { else: { then: { allow: true } } }] }",
        "{ rules: [{ whn: true, then: { allow: true } }, { else: { then: { allow: true } } }] }",
    ],
)
def test_admission_has_one_shape(front: Front, admit: str) -> None:
    found = front.check(step(f"tool: {{ kind: noop }}\n    spec: {{ policy: {{ admit: {admit} }} }}")).findings

    assert {one.code for one in found if one.severity == "error"} == {"NL210"}


@pytest.mark.spec("ST-13")
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("[{ when: '{{ workload.a }}', then: { allow: true } }]", ["NL211"]),
        ("[{ when: true, then: { allow: true } }]", []),
        ("[{ when: '{{ workload.a }}', then: { allow: false } }, { else: { then: { allow: true } } }]", []),
    ],
)
def test_rules_that_may_match_nothing_are_asked_for_an_else(front: Front, rules: str, expected: list[str]) -> None:
    body = step(f"tool: {{ kind: noop }}\n    spec: {{ policy: {{ admit: {{ rules: {rules} }} }} }}")

    assert codes(front, body) == expected


@pytest.mark.spec("ST-13")
@pytest.mark.parametrize("mode", ["exclusive", "inclusive"])
def test_the_mode_of_admission_is_accepted(front: Front, mode: str) -> None:
    admit = f"{{ mode: {mode}, rules: [{{ else: {{ then: {{ allow: true }} }} }}] }}"

    assert front.codes(step(f"tool: {{ kind: noop }}\n    spec: {{ policy: {{ admit: {admit} }} }}")) == []


@pytest.mark.spec("DI-04", "SC-09")
@pytest.mark.parametrize(
    "body",
    [
        "tool: { kind: noop }\n    spec: { set: { ctx.a: 1 } }",
        "tool: { kind: noop }\n    spec: { policy: { set: { ctx.a: 1 } } }",
        "tool: { kind: noop, spec: { set: { ctx.a: 1 } } }",
        "tool: { kind: noop }\n    loop: { in: [1], iterator: n, spec: { set: { ctx.a: 1 } } }",
        "next: { spec: { set: { ctx.a: 1 } }, arcs: [{ step: start }] }",
        "next: { arcs: [{ step: start, spec: { set: { ctx.a: 1 } } }] }",
    ],
)
def test_a_set_under_spec_is_refused(front: Front, body: str) -> None:
    errors = [one.code for one in front.check(step(body)).findings if one.severity == "error"]

    assert errors == ["NL212"]


@pytest.mark.spec("ST-10")
@pytest.mark.parametrize("name", ["step.done", "task.started", "workflow.finished", "loop.iteration.done", "step"])
def test_events_of_ones_own_do_not_take_the_engines_names(front: Front, name: str) -> None:
    emit = f"emit: {{ events: [{{ name: {name}, on: step.done }}, {{ name: my.{name} }}] }}"

    assert codes(front, step(f"tool: {{ kind: noop }}\n    spec: {{ policy: {{ {emit} }} }}")) == ["NL213"]
