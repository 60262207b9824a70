"""Block 4: loops, their iterators, and how parallel writes become one."""

import pytest

from noetl.dsl.check import check
from noetl.dsl.findings import Finding, apply_edits
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD, Front


def looped(loop: str, task: str = "kind: noop") -> str:
    """A playbook of one step with this loop (written in braces) and this task."""
    return f"workload: {{items: [1]}}\nworkflow:\n  - step: start\n    loop: {loop}\n    tool: {{{task}}}\n"


def told(front: Front, body: str, **flags: bool) -> list[Finding]:
    return [finding for finding in front.check(body, **flags).findings if finding.code.startswith("NL4")]


def codes(front: Front, body: str, **flags: bool) -> list[str]:
    return [finding.code for finding in told(front, body, **flags)]


def errors(front: Front, body: str) -> list[str]:
    return [finding.code for finding in front.check(body).findings if finding.severity == "error"]


def fixed(body: str) -> str:
    """A body after its mechanical repairs."""
    text, _ = apply_edits(HEAD + body, check(HEAD + body, "t.yaml", declarations).findings)
    return text.removeprefix(HEAD)


@pytest.mark.spec("LP-01")
@pytest.mark.parametrize(
    "loop",
    [
        '"{{ workload.items }}"',
        "[1, 2]",
        "5",
        "",
        '{in: "{{ workload.items }}"}',
        "{iterator: item}",
        '{items: "{{ workload.items }}", iterator: item}',
        '{in: "{{ workload.items }}", iteratr: item}',
        '{in: "{{ workload.items }}", iterator: item, when: true}',
        '{in: "{{ workload.items }}", iterator: item, tool: {kind: noop}}',
        '{in: "{{ workload.items }}", iterator: item, loop: 5}',
    ],
)
def test_a_loop_of_another_shape_is_told_once(front: Front, loop: str) -> None:
    assert errors(front, looped(loop)) == ["NL401"]


@pytest.mark.spec("LP-01", "LP-09")
def test_loops_nest_and_each_is_checked(front: Front) -> None:
    good = '{in: "{{ workload.items }}", iterator: a, loop: {in: "{{ iter.a.b }}", iterator: b}}'
    bad = '{in: "{{ workload.items }}", iterator: a, loop: {over: "{{ iter.a.b }}", iterator: b}}'

    assert codes(front, looped(good)) == []
    assert codes(front, looped(bad)) == ["NL401"]


@pytest.mark.spec("LP-09")
def test_loops_nest_only_so_deep(front: Front) -> None:
    def nest(depth: int) -> str:
        inner = f", loop: {nest(depth - 1)}" if depth > 1 else ""
        return f'{{in: "{{{{ workload.items }}}}", iterator: x{depth}{inner}}}'

    assert codes(front, looped(nest(16))) == []
    assert codes(front, looped(nest(18))) == ["NL401"]


@pytest.mark.spec("PB-12")
@pytest.mark.parametrize("knob", ["mode: parallel", "max_in_flight: 5", "concurrency: 5", "policy: {}", "timeout: 3"])
def test_a_knob_beside_spec_is_left_to_its_own_rule(front: Front, knob: str) -> None:
    body = looped(f'{{in: "{{{{ workload.items }}}}", iterator: item, {knob}}}')

    assert errors(front, body) == ["NL126"]


@pytest.mark.spec("LP-01")
def test_words_that_certainly_mean_in_and_iterator_are_repaired() -> None:
    before = looped('{over: "{{ workload.items }}", as: item}')

    assert fixed(before) == before.replace("over:", "in:").replace("as:", "iterator:")


@pytest.mark.spec("LP-01", "SC-03", "SC-04", "TP-06")
@pytest.mark.parametrize(
    "name", ["index", "parent", "ctx", "output", "_x", "a-b", "a.b", "1a", "5", '"{{ ctx.a }}"', '""']
)
def test_an_iterator_cannot_have_every_name(front: Front, name: str) -> None:
    body = looped(f'{{in: "{{{{ workload.items }}}}", iterator: {name}}}')

    assert [code for code in errors(front, body) if code != "NL125"] == ["NL402"]


@pytest.mark.spec("LP-01")
@pytest.mark.parametrize("name", ["item", "city_2", "Index", "parents"])
def test_a_plain_word_is_a_good_iterator(front: Front, name: str) -> None:
    assert codes(front, looped(f'{{in: "{{{{ workload.items }}}}", iterator: {name}}}')) == []


@pytest.mark.spec("LP-12")
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{mode: parallel, policy: {mode: parallel}}", []),
        ("{mode: parallel, policy: {max_in_flight: 3}}", []),
        ("{mode: parallel, max_in_flight: 3, policy: {max_in_flight: 3}}", []),
        ("{mode: parallel, policy: {mode: sequential}}", ["NL403"]),
        ("{mode: parallel, max_in_flight: 3, policy: {max_in_flight: 4}}", ["NL403"]),
    ],
)
def test_a_knob_in_two_places_has_one_value(front: Front, spec: str, expected: list[str]) -> None:
    assert codes(front, looped(f'{{in: "{{{{ workload.items }}}}", iterator: item, spec: {spec}}}')) == expected


@pytest.mark.spec("LP-02")
@pytest.mark.parametrize(
    "collection",
    [
        "workload.items",
        "3",
        "true",
        "",
        "{a: 1}",
        '"[1, 2]"',
        '"{{ 5 }}"',
        "\"{{ 'text' }}\"",
        '"{{ {1: 2} }}"',
        '"{{ none }}"',
        '"{{ workload.items }} and more"',
    ],
)
def test_what_certainly_gives_no_list_is_told_once(front: Front, collection: str) -> None:
    assert errors(front, looped(f"{{iterator: item, in: {collection}}}")) == ["NL404"]


@pytest.mark.spec("LP-02", "LP-11")
@pytest.mark.parametrize(
    "collection",
    [
        "[]",
        "[1, 2]",
        '"{{ workload.items }}"',
        '"{{ range(10) }}"',
        '"{{ [1, 2] }}"',
        '" {{ workload.items }} "',
        "{type: blob, locator: {path: a}}",
        "{store: postgres.table, key: t}",
    ],
)
def test_what_may_give_a_list_passes(front: Front, collection: str) -> None:
    assert codes(front, looped(f"{{iterator: item, in: {collection}}}")) == []


@pytest.mark.spec("LP-02")
def test_a_bare_path_is_repaired_to_a_template() -> None:
    before = looped("{iterator: item, in: workload.items}")

    assert fixed(before) == before.replace("in: workload.items", 'in: "{{ workload.items }}"')


PARALLEL = '{in: "{{ workload.items }}", iterator: item, spec: {mode: parallel, policy: {reducers: {%s}}}}'


@pytest.mark.spec("SC-12")
@pytest.mark.parametrize(
    ("reducers", "writes", "expected"),
    [
        ("", "ctx.a: 1", ["NL405"]),
        ("", "ctx: {a: 1, b: 2}", ["NL405", "NL405"]),
        ("", "step.a: 1, iter.b: 2", []),
        ("ctx.a: sum", "ctx.a: 1", []),
        ("ctx.a: sum", "ctx.a.b: 1", ["NL405", "NL407"]),
        ("ctx.a: sum", "ctx.b: 1", ["NL405", "NL407"]),
        ("step.a: sum", "step.a: 1", []),
    ],
)
def test_a_parallel_write_to_ctx_wants_a_reducer_for_exactly_its_key(
    front: Front, reducers: str, writes: str, expected: list[str]
) -> None:
    found = told(front, looped(PARALLEL % reducers, f"kind: noop, set: {{{writes}}}"))

    assert sorted(finding.code for finding in found) == expected
    assert {finding.severity for finding in found} <= {"warning"}


@pytest.mark.spec("SC-12")
def test_writes_of_rules_and_workbook_tasks_count_and_compensations_do_not(front: Front) -> None:
    body = """
        workload: {items: [1]}
        workflow:
          - step: start
            spec: {policy: {compensation: {tool: {kind: noop, set: {ctx.undone: 1}}}}}
            loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel}}
            tool:
              - {name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.a: 1}}}}]}}}
              - {name: b, kind: workbook, task: outer}
            set: {ctx.after: 1}
        workbook:
          outer: {kind: workbook, task: inner}
          inner: {kind: noop, set: {ctx.deep: 1}}
        """

    messages = [finding.message for finding in told(front, body)]

    assert [message.rsplit(" ", 1)[1] for message in messages] == ["ctx.a", "ctx.deep"]


@pytest.mark.spec("SC-12", "SC-13")
def test_a_reducer_on_any_loop_holds_for_the_whole_nest_and_sequential_loops_need_none(front: Front) -> None:
    nest = """{in: "{{ workload.items }}", iterator: a, spec: {policy: {reducers: {ctx.n: count}}},
               loop: {in: "{{ workload.items }}", iterator: b, spec: {mode: parallel}}}"""
    sequential = '{in: "{{ workload.items }}", iterator: item}'

    assert codes(front, looped(nest, "kind: noop, set: {ctx.n: 1}")) == []
    assert codes(front, looped(sequential, "kind: noop, set: {ctx.n: 1}")) == []


@pytest.mark.spec("SC-12", "SC-13")
@pytest.mark.parametrize("reducer", ["sum", "min", "max", "count", "append", "merge", "first", "last", "union"])
def test_every_reducer_is_known(front: Front, reducer: str) -> None:
    assert codes(front, looped(PARALLEL % f"ctx.a: {reducer}", "kind: noop, set: {ctx.a: 1}")) == []


@pytest.mark.spec("SC-12")
@pytest.mark.parametrize(
    "reducer", ["a: sum", "iter.a: sum", "ctx: {a: sum}", "ctx.: sum", "ctx.a: add", "ctx.a: ", "ctx.a: 5"]
)
def test_what_is_no_reducer_is_told_once(front: Front, reducer: str) -> None:
    body = looped(PARALLEL % reducer, "kind: noop, set: {ctx.a: 1}")

    assert errors(front, body) == ["NL406"]


@pytest.mark.spec("SC-12")
def test_a_bare_reducer_is_repaired_to_the_path_that_is_written() -> None:
    before = looped(PARALLEL % "total: sum", "kind: noop, set: {ctx.total: 1}")

    assert fixed(before) == before.replace("{total: sum}", "{ctx.total: sum}")


@pytest.mark.spec("LP-01", "LP-04")
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{max_in_flight: 5}", ["NL408"]),
        ("{mode: sequential, policy: {max_in_flight: 5}}", ["NL408"]),
        ("{max_in_flight: 1}", []),
        ("{mode: parallel, max_in_flight: 5}", []),
    ],
)
def test_a_bound_on_a_sequential_loop_does_nothing(front: Front, spec: str, expected: list[str]) -> None:
    assert codes(front, looped(f'{{in: "{{{{ workload.items }}}}", iterator: item, spec: {spec}}}')) == expected


@pytest.mark.spec("SC-04", "TP-06")
@pytest.mark.parametrize(
    ("loop", "task", "expected"),
    [
        ('{in: "{{ workload.items }}", iterator: a, loop: {in: "{{ iter.a }}", iterator: a}}', "kind: noop", ["NL409"]),
        ('{in: "{{ workload.items }}", iterator: a}', "name: a, kind: noop", ["NL409"]),
        ('{in: "{{ workload.items }}", iterator: start}', "kind: noop", ["NL409"]),
        ('{in: "{{ workload.items }}", iterator: a, loop: {in: "{{ iter.a }}", iterator: b}}', "kind: noop", []),
    ],
)
def test_an_iterator_that_hides_another_name_is_a_warning(
    front: Front, loop: str, task: str, expected: list[str]
) -> None:
    found = told(front, looped(loop, task))

    assert [finding.code for finding in found] == expected
    assert {finding.severity for finding in found} <= {"warning"}


@pytest.mark.spec("PB-10", "SC-13")
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{mode: parallel}", ["NL410"]),
        ("{mode: parallel, policy: {reducers: {step.seen: sum}}}", []),
        ("{mode: sequential}", []),
    ],
)
def test_set_shared_needs_a_reducer_in_a_parallel_loop(front: Front, spec: str, expected: list[str]) -> None:
    body = f"""
        workload: {{items: [1]}}
        workflow:
          - step: before
            tool: {{kind: noop}}
            next: [{{step: start}}]
          - step: start
            loop: {{in: "{{{{ workload.items }}}}", iterator: item, spec: {spec}}}
            tool: [{{count: {{kind: noop, eval: [{{else: {{do: continue, set_shared: {{seen: 1}}}}}}]}}}}]
        """

    assert codes(front, body, is_legacy=True) == expected


@pytest.mark.spec("SC-12")
def test_reducers_below_a_scope_are_told_once(front: Front) -> None:
    body = """
        workflow:
          - step: a
            loop: {in: [1], iterator: x, spec: {mode: parallel, policy: {reducers: {ctx: {x: sum}}}}}
            tool: {kind: noop, set: {ctx.x: 1}}
        """

    assert front.codes(body) == ["NL406"]
