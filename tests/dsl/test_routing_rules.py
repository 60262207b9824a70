"""Block 5xx: what the rules about routers and the whole net say, and where they hold their tongue."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noetl.dsl.findings import Finding, apply_edits
from noetl.dsl.rules import MODULES, module
from tests.dsl.front import Front

RULES = [module(name) for name in MODULES if name.startswith("nl5")]


def findings(body: str, code: str = "NL5", **flags: bool) -> list[Finding]:
    return [finding for finding in Front().check(body, **flags).findings if finding.code.startswith(code)]


def codes(body: str, **flags: bool) -> list[str]:
    return [finding.code for finding in findings(body, **flags)]


def fixed(body: str) -> str:
    result = Front().check(body)
    ours = [finding for finding in result.findings if finding.code.startswith("NL5")]
    return apply_edits(result.source.text, ours)[0]


def routed(router: str, *more: str, tool: str = "tool: { kind: python, code: pass }") -> str:
    """A step `a` with this router and steps b, c, d without."""
    lines = ["workflow:", "  - step: a"]
    lines += [f"    {line}" for line in (tool, *more, f"next: {router}") if line]
    lines += [f"  - {{ step: {name}, tool: {{ kind: noop }} }}" for name in "bcd"]
    return "\n".join(lines) + "\n"


def arcs(*items: str, mode: str = "exclusive") -> str:
    return f"{{ spec: {{ mode: {mode} }}, arcs: [{', '.join(items)}] }}"


def arc(target: str, when: str = "") -> str:
    return f'{{ step: {target}, when: "{{{{ {when} }}}}" }}' if when else f"{{ step: {target} }}"


LEADS_TO_ALL = arcs(arc("b"), arc("c"), arc("d"), mode="inclusive")


@pytest.mark.spec("RT-01")
class TestShape:
    def test_a_router_in_order_is_silent(self) -> None:
        assert codes(routed(LEADS_TO_ALL)) == []

    def test_an_unknown_target_is_refused_with_its_near_miss(self) -> None:
        body = routed(arcs(arc("bb"))).replace("step: b,", "step: bbb,")

        (found,) = findings(body, "NL501")
        assert found.severity == "error"
        assert found.fix == 'did you mean "bbb"?'

    def test_unknown_steps_bring_no_findings_about_the_net(self) -> None:
        assert set(codes(routed(arcs(arc("b"), arc("zz"))))) == {"NL501", "NL505"}

    @pytest.mark.parametrize("router", ["3", "true", "{}", "", "{ arcs: {} }", "{ arcs: 3 }", "{ arcs: }", "[]"])
    def test_what_is_no_router_is_said_once(self, router: str) -> None:
        assert codes(routed(router)) == ["NL503"]

    @pytest.mark.parametrize("item", ["3", "[]", "{}", "{ step: }", "{ step: [b] }", "{ step: 3 }", "{ when: true }"])
    def test_what_is_no_arc_is_said_once(self, item: str) -> None:
        assert codes(routed(f"{{ arcs: [{item}] }}")) == ["NL503"]

    @pytest.mark.parametrize("key", ["to", "target", "goto"])
    def test_other_words_for_the_target_are_repaired(self, key: str) -> None:
        assert "[{ step: b }]" in fixed(routed(f"{{ arcs: [{{ {key}: b }}] }}"))

    def test_keys_that_other_rules_refuse_are_left_to_them(self) -> None:
        found = Front().codes(routed('{ mode: inclusive, arcs: [{ step: b, if: "{{ ctx.x }}" }] }'))

        assert not [code for code in found if code.startswith("NL5")]
        assert found

    def test_a_misspelt_arcs_is_repaired(self) -> None:
        assert "next: { arcs: [{ step: b }] }" in fixed(routed("{ arc: [{ step: b }] }"))

    def test_text_items_are_repaired_in_block_style(self) -> None:
        body = "workflow:\n  - step: a\n    next:\n      arcs:\n        - b # then b\n"

        assert "        - step: b # then b\n" in fixed(body)


@pytest.mark.spec("PB-09", "RT-01")
class TestNextList:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("next: b", "next: { arcs: [{ step: b }] }"),
            ("next: 'b'", "next: { arcs: [{ step: 'b' }] }"),
            ("next: [b]", "next: { arcs: [{ step: b }] }"),
            ("next: [{ step: b }]", "next: { arcs: [{ step: b }] }"),
            ("next:\n      - b", "next:\n      arcs:\n      - step: b"),
            (
                'next:\n      # on\n      - step: b\n        when: "{{ ctx.x }}" # if\n      - step: c',
                'next:\n      # on\n      arcs:\n      - step: b\n        when: "{{ ctx.x }}" # if\n      - step: c',
            ),
        ],
    )
    def test_a_list_becomes_a_router(self, before: str, after: str) -> None:
        body = routed("x").replace("next: x", before)

        assert codes(body) == ["NL502"]
        assert fixed(body).endswith(body.replace(before, after))
        assert "NL502" not in codes(fixed(body).split("\n", 3)[3])

    def test_a_list_of_several_without_conditions_is_not_repaired_but_shown_as_fan_out(self) -> None:
        (found,) = findings(routed("[b, c]"))

        assert found.edits == ()
        assert "spec: { mode: inclusive }, arcs: [{ step: b }, { step: c }]" in found.fix

    def test_an_alias_is_not_repaired_at_its_anchor(self) -> None:
        body = "workflow:\n  - step: a\n    next: &on [b]\n  - step: b\n    next: *on\n"

        assert [bool(finding.edits) for finding in findings(body, "NL502")] == [False, False]


class TestDeadArcs:
    @pytest.mark.spec("RT-02")
    def test_nothing_comes_after_an_arc_that_always_matches(self) -> None:
        found = findings(routed(arcs(arc("b"), arc("c", "ctx.x"), arc("d"))), "NL505")

        assert [finding.place.line for finding in found] == [7, 7]
        assert 'on step.done the arc to "b" is taken first' in found[0].why

    @pytest.mark.spec("RT-02")
    def test_in_an_inclusive_router_all_that_match_fire(self) -> None:
        assert codes(routed(arcs(arc("b"), arc("c", "ctx.x"), arc("d"), mode="inclusive"))) == []

    @pytest.mark.spec("RT-02")
    def test_the_same_question_is_not_asked_twice(self) -> None:
        body = routed(arcs(arc("b", "ctx.x"), arc("c", "ctx.x"), arc("d")))

        assert [finding.code for finding in findings(body, "NL505")] == ["NL505"]

    @pytest.mark.spec("RT-02", "TP-04")
    @pytest.mark.parametrize(
        ("guard", "opposite", "is_dead"),
        [
            ("ctx.x == 1", "not (ctx.x == 1)", True),
            ("not (ctx.x in [1, 2])", "ctx.x in [1, 2]", True),
            ("ctx.x", "not ctx.x", False),  # ctx.x may be the text "false": then neither holds
            ("ctx.x == 1", "ctx.x != 1", False),
        ],
    )
    def test_a_question_and_its_opposite_leave_nothing_over(self, guard: str, opposite: str, is_dead: bool) -> None:
        body = routed(arcs(arc("b", guard), arc("c", opposite), arc("d")))

        assert bool(findings(body, "NL505")) == is_dead

    @pytest.mark.spec("RT-03")
    @pytest.mark.parametrize(
        ("more", "event", "is_dead"),
        [
            ((), "step.done", False),
            ((), "step.failed", False),
            ((), "loop.done", True),
            (("loop: { in: [1], iterator: i }",), "step.done", True),
            (("loop: { in: [1], iterator: i }",), "loop.done", False),
            (("loop: { in: [1], iterator: i }",), "step.failed", False),
        ],
    )
    def test_a_guard_asks_for_an_event_its_step_ends_with(
        self, more: tuple[str, ...], event: str, is_dead: bool
    ) -> None:
        body = routed(arcs(arc("b", f"event.name == '{event}'")), *more)
        other = "loop" if more else "step"

        found = findings(body, "NL505")
        assert bool(found) == is_dead
        assert [finding.fix for finding in found] == [f"write {other}.done"] * is_dead
        assert [finding.edits for finding in found] == [()] * is_dead  # where a run goes is the author's to say

    @pytest.mark.spec("RT-03")
    @pytest.mark.parametrize(
        "guard",
        [
            "event.name in ['step.done', 'loop.done']",
            "event.name == 'step.done' or event.name == 'loop.done'",
            "event.name != 'step.failed'",
            "event.name.endswith('done')",
            "event.status == 'success'",
        ],
    )
    @pytest.mark.parametrize("loop", [(), ("loop: { in: [1], iterator: i }",)])
    def test_a_guard_that_fits_both_sorts_of_step_is_fine(self, guard: str, loop: tuple[str, ...]) -> None:
        assert findings(routed(arcs(arc("b", guard)), *loop), "NL505") == []

    @pytest.mark.spec("RT-03")
    @pytest.mark.parametrize(
        ("name", "meant"), [("step.compleet", "step.done"), ("call.error", "step.failed"), ("task.done", "step.done")]
    )
    def test_an_event_no_step_ends_with_is_an_error(self, name: str, meant: str) -> None:
        (found,) = findings(routed(arcs(arc("b", f"event.name == '{name}'"))), "NL505")

        assert (found.severity, found.fix) == ("error", f'did you mean "{meant}"?')

    @pytest.mark.spec("RT-03")
    def test_an_unknown_event_beside_a_known_one_is_a_warning(self) -> None:
        (found,) = findings(routed(arcs(arc("b", "event.name in ['step.done', 'call.done']"))), "NL505")

        assert found.severity == "warning"

    @pytest.mark.spec("RT-11")
    def test_an_arc_without_when_does_not_catch_failures(self) -> None:
        (found,) = findings(routed(arcs(arc("b", "output.status == 'ok'"), arc("c"))), "NL505")

        assert "does not match step.failed" in found.why
        assert "event.name == 'step.failed'" in found.fix

    @pytest.mark.spec("RT-11")
    def test_unguarded_on_failure_lets_it(self) -> None:
        flag = "executor: { spec: { policy: { routing: { unguarded_on_failure: true } } } }\n"

        assert findings(flag + routed(arcs(arc("b", "output.status == 'ok'"), arc("c"))), "NL505") == []

    @pytest.mark.spec("RT-11")
    def test_a_guard_that_does_not_read_the_failure_is_not_asked_on_it(self) -> None:
        body = routed(arcs(arc("b"), arc("c", "output.data.code == 429")))

        assert "only arcs are asked whose `when` reads event" in findings(body, "NL505")[0].why

    @pytest.mark.spec("RT-11")
    @pytest.mark.parametrize("guard", ["event.name == 'step.failed'", "output.status == 'error'", "output.error"])
    def test_a_failure_arc_after_the_success_arc_is_fine(self, guard: str) -> None:
        assert codes(routed(arcs(arc("b"), arc("c", guard), arc("d", "false")))) == ["NL505"]

    @pytest.mark.spec("RT-11")
    def test_a_step_that_only_routes_cannot_fail(self) -> None:
        body = routed(arcs(arc("b", "event.name == 'step.failed'"), arc("c")), tool="")

        (found,) = findings(body, "NL505")
        assert "cannot fail" in found.fix

    @pytest.mark.parametrize("when", ["false", "'false'", "''", '"{{ false }}"', "\"{{ 'a' == 'b' }}\""])
    def test_a_guard_that_is_always_false_never_fires(self, when: str) -> None:
        (found,) = findings(routed(f"{{ arcs: [{{ step: b, when: {when} }}] }}"), "NL505")

        assert found.why.startswith("its `when` is always false")

    def test_what_an_arc_would_have_led_to_is_told_with_the_arc_and_not_again(self) -> None:
        found = findings(routed(arcs(arc("b", "false"), arc("c"))))

        assert [finding.code for finding in found] == ["NL505", "NL504"]
        assert 'so "b" is never reached' in found[0].why
        assert found[1].message == 'no arc leads to step "d"'

    @pytest.mark.spec("RT-11")
    def test_a_particular_failure_comes_before_the_general_one(self) -> None:
        general, particular = arc("b", "event.name == 'step.failed'"), arc("c", "output.error.kind == 'timeout'")

        assert "NL513" in codes(routed(arcs(general, particular, arc("d"))))
        assert "NL513" not in codes(routed(arcs(particular, general, arc("d"))))
        assert "NL513" not in codes(routed(arcs(general, particular, arc("d"), mode="inclusive")))

    @pytest.mark.spec("RT-02")
    def test_two_arcs_that_say_the_same_are_told_once(self) -> None:
        body = routed(arcs(arc("b", "ctx.x"), arc("b", " ctx.x "), arc("c"), arc("d", "event.name == 'step.failed'")))

        assert codes(body) == ["NL514"]

    @pytest.mark.spec("RT-02")
    def test_two_tokens_with_different_values_are_no_duplicate(self) -> None:
        body = routed("{ spec: { mode: inclusive }, arcs: [{ step: b, args: { n: 1 } }, { step: b, args: { n: 2 } }] }")

        assert "NL514" not in codes(body)
        assert "NL509" in codes(body)

    @pytest.mark.spec("RT-11")
    def test_a_handler_that_something_else_feeds_is_fine(self) -> None:
        body = routed(arcs(arc("b", "ctx.x"), arc("c", "output.error"), arc("d"))).replace("step: d", "step: on_error")

        assert "NL511" not in codes(body)


def fan(*steps: str) -> str:
    """`start` sends tokens to a and b; the other steps as given."""
    head = ["workflow:", f"  - {{ step: start, next: {arcs(arc('a'), arc('b'), mode='inclusive')} }}"]
    return "\n".join(head + [f"  - {step}" for step in steps]) + "\n"


def to(name: str, *targets: str, more: str = "", mode: str = "exclusive") -> str:
    router = f", next: {arcs(*(arc(*target.split('?')) for target in targets), mode=mode)}" if targets else ""
    return f"{{ step: {name}, tool: {{ kind: noop }}{more}{router} }}"


JOIN = ", spec: { policy: { admit: { join: all } } }"


class TestTokens:
    @pytest.mark.spec("ST-11")
    def test_tokens_that_meet_are_told_where_they_meet_first(self) -> None:
        (found,) = findings(fan(to("a", "c"), to("b", "c"), to("c", "d?ctx.x", "e"), to("d", "e"), to("e")))

        assert found.code == "NL509"
        assert '"c"' in found.message
        assert "start → a → c, and start → b → c" in found.why

    @pytest.mark.spec("ST-11")
    def test_a_join_keeps_them_apart(self) -> None:
        assert codes(fan(to("a", "c"), to("b", "c"), to("c", "d?ctx.x", "e", more=JOIN), to("d", "e"), to("e"))) == []

    @pytest.mark.spec("ST-11")
    def test_alternatives_do_not_meet(self) -> None:
        guards = arcs(arc("b", "ctx.x == 'b'"), arc("c", "ctx.x == 'c'"), arc("d", "output.error"), mode="inclusive")
        body = routed(guards).replace("step: b, tool", f"step: b, next: {arcs(arc('d'))}, tool")
        body = body.replace("step: c, tool", f"step: c, next: {arcs(arc('d'))}, tool")

        assert codes(body) == []

    @pytest.mark.spec("UP-05")
    def test_under_upstream_the_join_is_implied(self) -> None:
        assert "NL509" not in codes(fan(to("a", "c"), to("b", "c"), to("c")), is_upstream=True)

    @pytest.mark.spec("RT-10")
    def test_tokens_multiply_on_a_cycle_and_meeting_there_is_not_told_again(self) -> None:
        body = fan(to("a", "c"), to("b", "c"), to("c", "start?ctx.again"))

        (found,) = findings(body)
        assert found.code == "NL507"
        assert "start → a → c → start, and start → b → c → start" in found.why

    @pytest.mark.spec("RT-10")
    def test_one_token_that_comes_back_does_not_multiply(self) -> None:
        assert codes(fan(to("a"), to("b", "start?ctx.again"))) == []

    @pytest.mark.spec("RT-10")
    def test_a_join_on_the_cycle_keeps_their_number(self) -> None:
        assert codes(fan(to("a", "c"), to("b", "c"), to("c", "start?ctx.again", more=JOIN))) == []

    @pytest.mark.spec("ST-11", "RT-10")
    def test_two_joins_that_lead_to_each_other_are_stuck(self) -> None:
        body = fan(to("a", "b?ctx.x", more=JOIN), to("b", "a?ctx.x", more=JOIN))

        (found,) = findings(body)
        assert (found.code, found.severity) == ("NL508", "warning")
        assert 'the joins "a" and "b"' in found.message

    @pytest.mark.spec("ST-11")
    def test_a_join_of_one_token_is_an_information(self) -> None:
        body = "workflow:\n" + "".join(
            f"  - {line}\n" for line in (to("a", "b?ctx.x", "c"), to("b", "c"), to("c", more=JOIN))
        )

        (found,) = findings(body)
        assert (found.code, found.severity) == ("NL508", "info")

    @pytest.mark.spec("RT-08")
    def test_with_a_planner_nothing_is_concluded_from_absence(self) -> None:
        body = routed(arcs(arc("b")), "spec: { policy: { plan: true } }")

        assert codes(body) == []

    @pytest.mark.spec("SC-14")
    @pytest.mark.parametrize(
        ("one", "other", "is_told"),
        [
            ("ctx.x", "ctx.x", True),
            ("ctx.x", "ctx.x.y", True),
            ("ctx.x.y", "ctx.x", True),
            ("ctx.x.y", "ctx.x.z", False),
            ("ctx.x", "ctx.xy", False),
            ("step.x", "step.x", False),
        ],
    )
    def test_branches_that_write_one_key_are_told(self, one: str, other: str, is_told: bool) -> None:
        body = fan(to("a", "c", more=f", set: {{ {one}: 1 }}"), to("b", "c", more=f", set: {{ {other}: 1 }}"))
        body += f"  - {to('c', more=JOIN + ', set: { ctx.x: 1 }')}\n"

        assert codes(body) == (["NL510"] if is_told else [])

    @pytest.mark.spec("SC-14")
    def test_steps_that_follow_each_other_may_write_one_key(self) -> None:
        body = fan(to("a", "c", more=", set: { ctx.x: 1 }"), to("b"), to("c", more=", set: { ctx.x: 1 }"))

        assert codes(body) == []

    @pytest.mark.spec("RT-10")
    @pytest.mark.parametrize(
        ("first", "second", "is_endless"),
        [
            (("b",), ("a",), True),
            (("b?ctx.x", "a"), ("a",), True),
            (("b?ctx.x",), ("a",), False),
            (("b",), ("a?ctx.x",), False),
            (("b?ctx.x", "c"), ("a",), False),
            (("b", "c?output.error"), ("a",), False),
        ],
    )
    def test_a_cycle_needs_a_way_out(self, first: tuple[str, ...], second: tuple[str, ...], is_endless: bool) -> None:
        tool = "{ kind: python, code: pass }"
        lines = [to("a", *first), to("b", *second), to("c")]
        body = "workflow:\n" + "".join(f"  - {line.replace('{ kind: noop }', tool)}\n" for line in lines)

        assert ("NL506" in codes(body)) == is_endless

    @pytest.mark.spec("RT-10")
    def test_admission_is_a_way_out(self) -> None:
        gate = ', spec: { policy: { admit: { rules: [{ when: "{{ ctx.x }}", then: { allow: true } }] } } }'

        assert "NL506" not in codes("workflow:\n  - " + to("a", "a", more=gate) + "\n")

    @pytest.mark.spec("RT-06", "RT-10")
    def test_the_entry_decides_what_is_reached(self) -> None:
        body = "workflow:\n  - { step: a, tool: { kind: noop } }\n  - { step: b, next: { arcs: [{ step: a }] } }\n"

        assert codes(body) == ["NL504"]
        assert codes("executor: { spec: { entry_step: b } }\n" + body) == []
        assert codes(body.replace("step: b", "step: start")) == []


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "a", "b", "{{ ctx.x }}", "{{ x", "all", "inclusive"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("step next arcs when spec mode policy admit join else to set args".split()), inner
        )
    ),
    max_leaves=20,
)


@given(steps=st.lists(JUNK, max_size=4))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_tree_makes_a_rule_of_routing_raise(steps: list[object]) -> None:
    import json

    result = Front().check("workflow: " + json.dumps(steps) + "\n")

    for draft in result.drafts:
        for rule in RULES:
            list(rule.check(draft))


def after_error(directive: str, when: str = "output.status == 'error'", more: str = "") -> str:
    """A tool whose policy answers an error so, and goes on otherwise."""
    rules = f'{{ when: "{{{{ {when} }}}}", then: {{ do: {directive} }} }}, {{ else: {{ then: {{ do: continue }} }} }}'
    return f"tool: [{{ name: t, kind: http, url: u, spec: {{ policy: {{ rules: [{rules}] }} }} }}{more}]"


@pytest.mark.spec("SC-11", "RT-11")
class TestStatusOfADoneStep:
    """A step's output is that of its last task run, which may have failed though the step is done."""

    @pytest.mark.parametrize("directive", ["continue", "break", "skip"])
    @pytest.mark.parametrize("loop", [(), ("loop: { in: [1], iterator: i }",)])
    def test_after_an_error_that_goes_on_the_status_is_open(self, directive: str, loop: tuple[str, ...]) -> None:
        body = routed(arcs(arc("b", "output.status == 'ok'"), arc("c")), *loop, tool=after_error(directive))

        assert {"NL505"}.isdisjoint(codes(body))
        assert not any('"c"' in finding.message for finding in findings(body, "NL504"))

    @pytest.mark.parametrize("guard", ["output.status == 'error'", "output.error", "output.error.kind == 'timeout'"])
    def test_a_guard_may_ask_for_the_error_of_a_done_step(self, guard: str) -> None:
        body = routed(arcs(arc("b", f"event.name == 'step.done' and {guard}")), tool=after_error("break"))

        assert findings(body, "NL505") == []

    def test_a_rule_for_one_error_leaves_the_others_to_go_on(self) -> None:
        tool = after_error("break", "output.http.status == 404")

        assert findings(routed(arcs(arc("b", "output.status == 'ok'"), arc("c")), tool=tool), "NL505") == []

    @pytest.mark.parametrize(
        "tool",
        [
            "tool: { kind: http, url: u }",
            after_error("fail"),
            after_error("{ }").replace("{ do: { } }", "{ do: retry, attempts: 2 }"),
            after_error("continue", more=", { kind: http, url: v }"),
        ],
    )
    def test_where_no_error_comes_to_the_end_the_status_is_ok(self, tool: str) -> None:
        body = routed(arcs(arc("b", "output.status == 'ok'"), arc("c")), tool=tool)

        assert [finding.message for finding in findings(body, "NL505")] == ['the arc from "a" to "c" never fires']

    def test_a_break_before_the_last_task_ends_with_its_error(self) -> None:
        tool = after_error("break", more=", { kind: http, url: v }")

        assert findings(routed(arcs(arc("b", "output.status == 'ok'"), arc("c")), tool=tool), "NL505") == []

    def test_a_policy_that_no_rule_of_matches_goes_on(self) -> None:
        rules = '{ rules: [{ when: "{{ output.data.again }}", then: { do: retry } }] }'
        tool = f"tool: {{ kind: http, url: u, spec: {{ policy: {rules} }} }}"
        body = routed(arcs(arc("b", "output.status == 'ok'"), arc("c")), tool=tool)

        assert findings(body, "NL505") == []
        strict = body.replace("policy: { ", "policy: { on_unmatched: fail, ")
        assert len(findings(strict, "NL505")) == 1

    @pytest.mark.parametrize(("directive", "is_ok"), [("continue", False), ("fail", True)])
    def test_the_error_of_a_workbook_s_task_may_come_through(self, directive: str, is_ok: bool) -> None:
        shared = after_error(directive).removeprefix("tool: [").removesuffix("]").replace("name: t, ", "")
        body = routed(arcs(arc("b", "output.status == 'ok'"), arc("c")), tool="tool: { kind: workbook, task: w }")

        assert bool(findings(f"{body}workbook:\n  w: {shared}\n", "NL505")) is is_ok

    def test_a_step_without_a_tool_has_its_sender_s_output(self) -> None:
        assert findings(routed(arcs(arc("b", "output.status == 'error'")), tool=""), "NL505") == []

    @pytest.mark.parametrize(("word", "meant"), [("success", "ok"), ("failed", "error")])
    def test_a_status_that_there_is_not_is_told_with_those_there_are(self, word: str, meant: str) -> None:
        (found,) = findings(routed(arcs(arc("b", f"output.status == '{word}'"))), "NL505")

        assert found.fix == f'output.status is ok or error: did you mean "{meant}"?'
