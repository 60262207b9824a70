"""After a tool answered: which rule decides, and what each directive does."""

from pathlib import Path

import msgspec
import pytest

from noetl.engine import pipeline
from noetl.engine.output import ERROR_KINDS, Output, failure
from noetl.testing.engine import Engine
from tests.engine.books import engine, ran

NO = failure("server_error", "no", retryable=True)
FINAL = failure("client_error", "never")


def one_task(policy: str, more: str = "") -> str:
    """A step of a task with this policy, and one after it."""
    return f"""
        workload: {{wait: 0}}
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                spec: {{policy: {policy}}}
                {more}
              - {{name: b, kind: noop, input: {{after: true}}}}
    """


def labels(made: Engine) -> list[str]:
    return [done.task for done in made.events("task.done")]


def directives(made: Engine) -> list[tuple[str, str, int]]:
    return [(done.task, done.do, done.rule) for done in made.events("task.done")]


# --- which rule ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TK-06")
@pytest.mark.parametrize(("answer", "status"), [(Output(data=1), "success"), (NO, "failed")])
def test_without_a_policy_ok_continues_and_an_error_fails(answer: Output, status: str) -> None:
    made = ran("workflow: [{step: start, tool: [{name: a, kind: noop}, {name: b, kind: noop}]}]", {"a": answer})

    assert made.status == status
    assert labels(made) == (["a", "b"] if status == "success" else ["a"])


@pytest.mark.spec("TK-06")
def test_the_first_rule_that_matches_wins_and_else_takes_the_rest() -> None:
    policy = """{rules: [
        {when: "{{ output.data == 1 }}", then: {do: break}},
        {when: "{{ output.data < 3 }}", then: {do: continue, set: {ctx.rule: second}}},
        {when: "{{ output.data == 2 }}", then: {do: fail}},
        {else: {then: {do: continue, set: {ctx.rule: else}}}}]}"""

    assert directives(ran(one_task(policy), {"a": 1})) == [("a", "break", 0)]
    assert directives(ran(one_task(policy), {"a": 2}))[0] == ("a", "continue", 1)
    assert directives(ran(one_task(policy), {"a": 3}))[0] == ("a", "continue", 3)


@pytest.mark.spec("TK-06", "TK-16")
@pytest.mark.parametrize(("unmatched", "status"), [("", "success"), ("continue", "success"), ("fail", "failed")])
def test_where_no_rule_matches_it_continues_even_on_error_unless_on_unmatched_says_fail(
    unmatched: str, status: str
) -> None:
    word = f"on_unmatched: {unmatched}, " if unmatched else ""
    policy = f"{{{word}rules: [{{when: \"{{{{ output.data == 'never' }}}}\", then: {{do: break}}}}]}}"

    assert ran(one_task(policy), {"a": FINAL}).status == status
    assert ran(one_task(policy), {"a": Output(data=1)}).status == status


@pytest.mark.spec("TK-16")
def test_a_failure_by_on_unmatched_says_so() -> None:
    policy = "{on_unmatched: fail, rules: [{when: \"{{ output.status == 'error' }}\", then: {do: fail}}]}"

    made = ran(one_task(policy), {"a": 1})

    assert made.state.error["message"] == "on_unmatched of the task's policy says fail"
    assert made.state.error["task"] == "a"


@pytest.mark.spec("TK-16")
def test_hooks_and_mode_are_placeholders_without_control_flow() -> None:
    hooks = "mode: exclusive, before: [], after: [], finally: [], "
    policy = f"{{{hooks}rules: [{{else: {{then: {{do: continue}}}}}}]}}"

    assert directives(ran(one_task(policy), {"a": 1})) == [("a", "continue", 0), ("b", "continue", -1)]


# --- what each directive does ----------------------------------------------------------------------------------------


@pytest.mark.spec("TK-07")
def test_break_ends_the_pipeline_well_and_fail_badly() -> None:
    ended = ran(one_task("{rules: [{else: {then: {do: break}}}]}"), {"a": NO})
    failed = ran(one_task("{rules: [{else: {then: {do: fail}}}]}"), {"a": 1})

    assert (ended.status, labels(ended)) == ("success", ["a"])
    assert (failed.status, labels(failed)) == ("failed", ["a"])
    assert failed.state.error["message"] == "rule 1 of the task's policy says fail"


@pytest.mark.spec("TK-07", "TK-09")
def test_jump_goes_on_at_a_task_of_the_same_step_run() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - {name: first, kind: noop, set: {step.n: "{{ (step.n | default(0)) + 1 }}"}}
              - name: again
                kind: noop
                spec: {policy: {rules: [
                  {when: "{{ step.n < 3 }}", then: {do: jump, to: first}},
                  {else: {then: {do: continue}}}]}}
              - {name: last, kind: noop}
        """
    )

    assert labels(made) == ["first", "again"] * 3 + ["last"]
    assert made.names("step.scheduled") == ["step.scheduled"]


@pytest.mark.spec("TK-09", "TK-19")
@pytest.mark.slow
def test_an_endless_jump_fails_at_the_limit_with_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "TASK_RUNS_MAX", 1_000)  # a hundredth of it: the way there is the same all along
    made = engine(
        """
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop, spec: {policy: {rules: [
                  {when: "{{ workload.go }}", then: {do: jump, to: a}}, {else: {then: {do: continue}}}]}}}
        workload: {go: true}
        """
    )
    made.start()

    made.run_job(1, -1, tasks=2_000)

    error = made.state.error
    assert made.status == "failed"
    assert (error["kind"], error["task"]) == ("jump_limit", "a")
    assert "1000 tasks; does a jump ever end?" in error["message"]
    assert len(made.invocations) == 1_000


def test_the_limit_of_jumps_is_the_one_that_the_page_names() -> None:
    page = Path(__file__).parents[2].joinpath("docs/engine.md").read_text(encoding="utf-8")

    assert f"pipeline may run {pipeline.TASK_RUNS_MAX:,} tasks; then it fails with `jump_limit`" in page


# --- retry -----------------------------------------------------------------------------------------------------------

RETRY = "{rules: [{when: \"{{ output.status == 'error' }}\", then: {do: retry%s}}, {else: {then: {do: continue}}}]}"


def delays(made: Engine) -> list[float]:
    return [done.delay_seconds for done in made.events("task.done") if done.do == "retry"]


@pytest.mark.spec("TK-08")
@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_attempts_counts_all_tries_and_exhausted_ones_become_a_failure(attempts: int) -> None:
    made = ran(one_task(RETRY % f", attempts: {attempts}, delay: 0"), {"a": NO})

    assert [one.attempt for one in made.invocations] == list(range(1, attempts + 1))
    assert [done.do for done in made.events("task.done")] == ["retry"] * (attempts - 1) + ["fail"]
    assert made.state.error["attempts"] == attempts
    assert (made.state.error["kind"], made.state.error["task"]) == ("server_error", "a")


@pytest.mark.spec("TK-08")
def test_omitted_it_is_three_attempts_a_second_apart() -> None:
    made = ran(one_task(RETRY % ""), {"a": NO})

    assert len(made.invocations) == 3
    assert delays(made) == [1.0, 1.0]


@pytest.mark.spec("TK-08")
@pytest.mark.parametrize(
    ("backoff", "expected"), [("none", [2, 2, 2]), ("linear", [2, 4, 6]), ("exponential", [2, 4, 8])]
)
def test_the_delay_of_the_nth_retry_follows_the_backoff(backoff: str, expected: list[float]) -> None:
    made = ran(one_task(RETRY % f", attempts: 4, delay: 2, backoff: {backoff}"), {"a": NO})

    assert delays(made) == expected


@pytest.mark.spec("TK-08")
def test_a_retry_waits_its_delay_before_the_tool_runs_again() -> None:
    made = ran(one_task(RETRY % ", attempts: 2, delay: 30"), {"a": [NO, Output(data=1)]})

    first, second = (done.ts for done in made.events("task.done")[:2])
    assert second - first >= 30


@pytest.mark.spec("TK-08")
def test_delay_may_be_a_template_and_max_delay_bounds_it() -> None:
    text = one_task(
        RETRY % ', attempts: 3, backoff: exponential, delay: "{{ workload.wait * _attempt }}", max_delay: 7',
    )

    assert delays(ran(text, {"a": NO}, wait=3)) == [3.0, 7.0]


@pytest.mark.spec("TK-08", "TK-19")
@pytest.mark.parametrize("wait", ["soon", "nan", "inf", None, [1]])
def test_a_delay_that_is_no_number_fails_the_task(wait: object) -> None:
    made = ran(one_task(RETRY % ', delay: "{{ workload.wait }}"'), {"a": NO}, wait=wait)

    assert made.status == "failed"
    assert made.state.error["kind"] == "type"
    assert "delay must be a number of seconds" in made.state.error["message"]


@pytest.mark.spec("TK-08")
def test_jitter_varies_the_delay() -> None:
    made = ran(one_task(RETRY % ", attempts: 2, delay: 10, jitter: 0.5"), {"a": NO})
    rule = made.playbook.steps["start"].tasks[0].policy.rules[0]  # type: ignore[union-attr]

    assert rule.jitter == 0.5
    assert 5 <= delays(made)[0] <= 15


@pytest.mark.spec("TK-08")
def test_what_the_other_side_asks_to_wait_is_a_minimum() -> None:
    busy = msgspec.structs.replace(NO, retry_after_seconds=20.0)

    assert delays(ran(one_task(RETRY % ", attempts: 2, delay: 1, max_delay: 5"), {"a": busy})) == [20.0]
    assert delays(ran(one_task(RETRY % ", attempts: 2, delay: 60"), {"a": busy})) == [60.0]


@pytest.mark.spec("TK-08")
def test_attempts_begin_anew_each_time_the_pipeline_enters_the_task() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                spec: {policy: {rules: [
                  {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}},
                  {else: {then: {do: continue}}}]}}
              - name: b
                kind: noop
                set: {step.rounds: "{{ (step.rounds | default(0)) + 1 }}"}
                spec: {policy: {rules: [
                  {when: "{{ (step.rounds | default(0)) < 2 }}", then: {do: jump, to: a}},
                  {else: {then: {do: continue}}}]}}
        """,
        {"a": [NO, 1, NO, 2, NO, 3]},
    )

    seen = [(one.visit, one.attempt) for one in made.invocations if one.task.label == "a"]
    assert made.status == "success"
    assert seen == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]


@pytest.mark.spec("TK-08")
def test_attempts_are_counted_per_iteration() -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
            tool:
              - name: a
                kind: noop
                spec: {policy: {rules: [
                  {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}},
                  {else: {then: {do: continue}}}]}}
        """,
        {"a": [NO, 1, NO, 2]},
    )

    assert made.status == "success"
    assert [one.attempt for one in made.invocations] == [1, 2, 1, 2]


@pytest.mark.spec("TK-12", "TK-08")
def test_a_rule_may_write_on_retry_while_the_task_may_not() -> None:
    made = ran(
        one_task(
            RETRY % ", attempts: 2, delay: 0, set: {ctx.retried: true}",
            'set: {ctx.seen: "{{ output.status }}"}',
        ),
        {"a": [NO, 1]},
    )

    writes = [[(patch.path, patch.value) for patch in done.patches] for done in made.events("task.done")]
    assert writes[:2] == [[("ctx.retried", True)], [("ctx.seen", "ok")]]


# --- skip ------------------------------------------------------------------------------------------------------------


def skip(when: str) -> str:
    return f'{{rules: [{{when: "{{{{ {when} }}}}", then: {{do: skip}}}}, {{else: {{then: {{do: continue}}}}}}]}}'


@pytest.mark.spec("TK-10")
def test_a_skip_that_does_not_read_the_output_is_asked_before_the_tool_runs() -> None:
    text = """
        workload: {off: true}
        workflow:
          - step: start
            tool:
              - {name: before, kind: noop, input: {x: 1}}
              - {name: a, kind: noop, set: {ctx.a: written}, spec: {policy: %s}}
              - {name: after, kind: noop, input: {seen: "{{ _prev }}", output: "{{ output.data }}"}}
    """

    made = ran(text.replace("%s", skip("workload.off")))

    assert [one.task.label for one in made.invocations] == ["before", "after"]
    assert directives(made)[1] == ("a", "skip", 0)
    assert made.events("task.done")[1].output is None
    assert made.state.output["data"] == {"seen": {"x": 1}, "output": {"x": 1}}
    assert made.state.ctx == {}
    assert made.status == "success"


@pytest.mark.spec("TK-10")
def test_a_skip_that_reads_the_output_runs_the_tool_and_drops_what_it_gave() -> None:
    text = """
        workflow:
          - step: start
            tool:
              - {name: before, kind: noop, input: {x: 1}}
              - {name: a, kind: noop, set: {ctx.a: written}, spec: {policy: %s}}
              - {name: after, kind: noop, input: {seen: "{{ _prev }}"}}
    """

    by_name, by_label = (
        ran(text.replace("%s", skip(f"{read}.data == 'bad'")), {"a": "bad"}) for read in ("output", "a")
    )

    for made in (by_name, by_label):
        assert [one.task.label for one in made.invocations] == ["before", "a", "after"]
        assert made.events("task.done")[1].output is None
        assert made.state.output["data"] == {"seen": {"x": 1}}
        assert made.state.ctx == {}


@pytest.mark.spec("TK-10", "TK-12")
def test_a_skip_of_a_failed_tool_succeeds_and_its_rule_may_write() -> None:
    policy = "{rules: [{when: \"{{ output.status == 'error' }}\", then: {do: skip, set: {ctx.skipped: true}}}]}"

    made = ran(one_task(policy), {"a": FINAL})

    assert made.status == "success"
    assert made.state.ctx == {"skipped": True}


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TK-19", "TK-04")
def test_an_error_says_where_it_happened() -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop: {in: [[1], [2, 3]], iterator: row, loop: {in: "{{ iter.row }}", iterator: cell}}
            tool: [{name: a, kind: noop}]
        """,
        {"a": [1, 2, FINAL]},
    )

    error = made.state.error
    assert {key: error[key] for key in ("kind", "message", "step", "task", "iteration")} == {
        "kind": "client_error",
        "message": "never",
        "step": "start",
        "task": "a",
        "iteration": "1.1",
    }
    assert error["kind"] in ERROR_KINDS
