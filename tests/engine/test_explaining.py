"""Why: rules, arcs, collections and writes asked again, with the values they saw."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.control.planning import extended
from noetl.dsl.check import check
from noetl.engine import events as facts
from noetl.engine.commands import Counted
from noetl.engine.excerpts import excerpt
from noetl.engine.explaining_tasks import input_at, pipeline_of
from noetl.engine.explanations import ADMISSION, ARC, LOOP, POLICY, SET
from noetl.engine.output import Output, failure
from noetl.engine.pipeline import Answer, Pipeline
from noetl.engine.progress import fold
from noetl.engine.state import State
from noetl.engine.values import masked
from noetl.expressions import STORED
from noetl.secret import Secret
from noetl.sql import Bound, Sql
from noetl.testing.engine import Engine
from noetl.tools.registry import declarations
from tests.engine.books import engine, ran
from tests.engine.telling import Told, disagreements, told
from tests.golden.driving import Driven, Script

GOOD = Path(__file__).parent.parent / "playbooks" / "good"
EVENTS_MAX = 500
TASKS_MAX = 100


def story(made: Engine) -> list[Told]:
    return list(told(made.log, lambda _: (made.playbook, made.net), lambda _: {}))


# --- every playbook that runs ----------------------------------------------------------------------------------------


def runnable() -> list[Path]:
    """The good playbooks that are one playbook of today's surface."""
    found = []
    for path in sorted(GOOD.glob("*.yaml")):
        checked = check(path.read_bytes(), path.name, declarations)
        found += [path] if checked.is_valid and len(checked.drafts) == 1 else []
    return found


class Short(Driven):
    """One that ends what goes on for ever: where tools answer nothing, some jumps have no end."""

    def run_job(self, run: int, index: int, tasks: int = TASKS_MAX) -> None:
        super().run_job(run, index, tasks)
        if len(self.log) > EVENTS_MAX:
            self.cancel()


def driven(path: Path) -> tuple[Driven, Iterator[Told]]:
    made = Short(path.read_text("utf-8"), Script())
    loaded = made._loaded
    made.start()
    made.finish()

    def books(state: State) -> tuple[Any, Any]:
        found = extended(loaded, state.planned, declarations)
        return found.playbook, found.net

    return made, told(made.log, books, made.fetched)


@pytest.mark.parametrize("path", runnable(), ids=lambda path: path.stem)
def test_what_is_asked_again_is_what_was_recorded_and_an_input_what_the_tool_was_given(path):
    made, story = driven(path)
    given = {one.key: masked(one.task, one.input) for one in made.invocations}

    again, wrong = {}, []
    for one in story:
        wrong += disagreements(one)
        if isinstance(one.event, facts.TaskStarted) and (found := input_at(one.decision, one.event)):
            again[key_of(one)] = found

    assert wrong == []
    assert {key: again[key].input for key in given} == given
    assert [note for key in given for note in again[key].notes] == []


def key_of(one: Told) -> str:
    pipeline = pipeline_of(one.decision, one.event.run, one.event.iter)
    fold(pipeline.progress, one.event)
    return pipeline.key(pipeline.current())


# --- arcs ------------------------------------------------------------------------------------------------------------

ROUTED = """
workload: {limit: 2}
workflow:
  - step: start
    tool: {name: count, kind: noop, set: {ctx.n: "{{ workload.n }}"}}
    next:
      arcs:
        - {step: few, when: "{{ ctx.n < workload.limit }}"}
        - step: many
          when: "{{ ctx.n >= workload.limit and ctx.gone is undefined }}"
          set: {ctx.was: "{{ ctx.n + 1 }}"}
        - {step: last}
  - {step: few, tool: {kind: noop}}
  - {step: many, tool: {kind: noop}}
  - {step: last, tool: {kind: noop}}
"""


def told_of(made: Engine, kind: type[facts.Event], number: int = 0) -> list[Any]:
    """What is said of one event of a kind."""
    return [one for one in story(made) if isinstance(one.event, kind)][number].said


def answers(said: list[Any]) -> list[tuple[Any, ...]]:
    return [(one.place, one.index, one.result, one.is_chosen, one.was_asked) for one in said]


@pytest.mark.spec("RT-02")
def test_arcs_are_told_with_what_they_read_and_those_after_the_first_match_were_not_asked():
    said = told_of(ran(ROUTED, n=5), facts.NextEvaluated)

    assert answers(said) == [
        (ARC, 0, False, False, True),
        (ARC, 1, True, True, True),
        (ARC, 2, None, False, False),
        (SET, 0, None, True, True),
    ]
    assert [(one.name, one.value, one.note) for one in said[1].reads] == [
        ("ctx.n", 5, ""),
        ("workload.limit", 2, ""),
        ("ctx.gone", None, "undefined"),
    ]
    assert (said[3].target, said[3].when) == ("ctx.was", "{{ ctx.n + 1 }}")
    assert said[0].line > 1


@pytest.mark.spec("RT-11")
def test_after_a_failure_arcs_that_do_not_ask_for_it_were_not_asked():
    made = ran(
        """
        workflow:
          - step: start
            tool: {name: work, kind: python, code: pass}
            next: {arcs: [{step: on}, {step: mend, when: "{{ event.name == 'step.failed' }}"}]}
          - {step: on, tool: {kind: noop}}
          - {step: mend, tool: {kind: noop}}
        """,
        {"work": failure("exception", "no")},
    )

    said = told_of(made, facts.NextEvaluated)

    assert answers(said) == [(ARC, 0, None, False, False), (ARC, 1, True, True, True)]
    assert "the step failed" in said[0].note
    assert said[1].reads[0].value == "step.failed"


@pytest.mark.spec("RT-11")
def test_a_guard_that_raised_says_so_and_ends_the_search():
    said = told_of(ran(ROUTED.replace("ctx.n < workload.limit", "ctx.n < 'a'"), n=5), facts.NextEvaluated)

    assert answers(said) == [(ARC, 0, None, False, True), (ARC, 1, None, False, False), (ARC, 2, None, False, False)]
    assert "'<' does not work" in said[0].error


def test_a_duplicate_is_told_as_one():
    made = ran(
        """
        workflow:
          - step: start
            next: {spec: {mode: inclusive}, arcs: [{step: a, spec: {dedupe: 1}}, {step: a, spec: {dedupe: 1}}]}
          - {step: a, tool: {kind: noop}}
        """
    )

    first, second = told_of(made, facts.NextEvaluated)

    assert (first.note, "went that way before" in second.note) == ("", True)


# --- gates -----------------------------------------------------------------------------------------------------------

GATED = """
workflow:
  - step: start
    spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.stop }}", then: {allow: false}},
                                                   {when: "{{ ctx.go }}", then: {allow: true}},
                                                   {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
"""


@pytest.mark.spec("ST-05", "ST-06")
def test_a_gate_is_told_when_it_turns_a_token_away_and_when_it_lets_it_in():
    made = engine(GATED)
    made.start()
    made.signal(go=1)
    made.run()

    waited, entered = told_of(made, facts.StepWaiting), told_of(made, facts.StepScheduled)

    assert answers(waited) == [
        (ADMISSION, 0, False, False, True),
        (ADMISSION, 1, False, False, True),
        (ADMISSION, 2, True, True, True),
    ]
    assert answers(entered) == [
        (ADMISSION, 0, False, False, True),
        (ADMISSION, 1, True, True, True),
        (ADMISSION, 2, None, False, False),
    ]
    assert entered[1].target == "allow"
    assert [(one.name, one.value) for one in entered[1].reads] == [("ctx.go", 1)]


def test_a_gate_that_failed_says_why():
    made = engine(GATED.replace("ctx.stop", "ctx.stop.a < 1"))
    made.start()

    said = told_of(made, facts.StepSkipped)

    assert "undefined" in said[0].error
    assert [one.was_asked for one in said] == [True, False, False]


# --- loops -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LP-02")
def test_a_collection_is_told_for_the_loop_and_for_each_inner_one():
    made = ran(
        """
        workload: {rows: [[1], [2, 3]]}
        workflow:
          - step: start
            loop: {in: "{{ workload.rows }}", iterator: row, loop: {in: "{{ iter.row }}", iterator: cell}}
            tool: {name: work, kind: noop}
            set: {ctx.all: "{{ output.data }}"}
        """
    )

    loops = [one.of(LOOP)[0] for one in story(made) if isinstance(one.event, facts.LoopStarted)]
    (ended,) = [one for one in story(made) if isinstance(one.event, facts.LoopDone) and one.of(SET)]

    assert [loop.target for loop in loops] == ["row", "cell", "cell"]
    assert [loop.reads[0].value for loop in loops] == [[[1], [2, 3]], [1], [2, 3]]
    assert ended.of(SET)[0].reads[0].name == "output.data"


def test_a_collection_that_could_not_be_made_says_why():
    said = told_of(
        ran('workflow: [{step: start, loop: {in: "{{ ctx }}", iterator: i}, tool: {kind: noop}}]'), facts.StepFailed
    )

    assert (said[0].place, said[0].is_chosen) == (LOOP, False)
    assert "needs a list" in said[0].error


# --- tasks -----------------------------------------------------------------------------------------------------------

RULED = """
workflow:
  - step: start
    tool:
      name: work
      kind: python
      code: pass
      input: {n: "{{ workload.n | default(0) }}"}
      set: {ctx.seen: "{{ output.data }}"}
      spec:
        policy:
          rules:
            - {when: "{{ workload.off }}", then: {do: skip}}
            - {when: "{{ output.error.kind == 'timeout' }}", then: {do: retry, attempts: 2, delay: 0}}
            - {when: "{{ output.data == 'drop' }}", then: {do: skip}}
            - else: {then: {do: continue, set: {ctx.more: "{{ ctx.seen }}"}}}
"""


@pytest.mark.spec("TK-06", "TK-08")
def test_rules_are_told_for_each_attempt():
    made = ran(RULED, {"work": [failure("timeout", "slow"), Output(data=7)]})

    first, second = told_of(made, facts.TaskDone), told_of(made, facts.TaskDone, 1)

    assert [one[1:4] for one in answers(first)] == [
        (0, False, False),
        (1, True, True),
        (2, None, False),
        (3, None, False),
    ]
    assert first[1].reads[0].value == "timeout"
    assert [one[:4] for one in answers(second)] == [
        (POLICY, 0, False, False),
        (POLICY, 1, False, False),
        (POLICY, 2, False, False),
        (POLICY, 3, True, True),
        (SET, 0, None, True),
        (SET, 0, None, True),
    ]


@pytest.mark.spec("TK-12")
def test_a_rules_set_saw_what_the_tasks_own_set_wrote():
    said = told_of(ran(RULED, {"work": Output(data=7)}), facts.TaskDone)

    assert [(one.target, one.reads[0].name, one.reads[0].value) for one in said if one.place == SET] == [
        ("ctx.seen", "output.data", 7),
        ("ctx.more", "ctx.seen", 7),
    ]


@pytest.mark.spec("TK-10")
def test_a_skip_before_the_tool_leaves_the_other_rules_unasked():
    said = told_of(ran(RULED, off=True), facts.TaskDone)

    assert [(one.index, one.is_chosen, one.was_asked) for one in said] == [
        (0, True, True),
        (1, False, False),
        (2, False, False),
        (3, False, False),
    ]
    assert said[1].note == "not asked: the tool did not run"


def test_a_skip_that_dropped_the_output_says_that_it_cannot_be_asked_again():
    said = told_of(ran(RULED, {"work": Output(data="drop")}), facts.TaskDone)

    assert [(one.index, one.result, one.is_chosen) for one in said[:3]] == [
        (0, False, False),
        (1, False, False),
        (2, True, True),
    ]
    assert ["dropped" in one.note for one in said[:3]] == [False, True, True]


def test_a_rule_that_read_a_payload_which_is_elsewhere_is_told_as_it_was_recorded():
    stored = {"type": "blob", "locator": "x", "auth_reference": None, "meta": {}}
    made = engine(RULED.replace("output.error.kind == 'timeout'", "output.data.n"))
    made.start()
    (done,) = [event for event in _reported(made, stored) if isinstance(event, facts.TaskDone)]

    said = told_of(made, facts.TaskDone)

    assert done.rule == 1
    assert (said[1].result, said[1].is_chosen, said[1].error) == (True, True, None)
    assert "in hand" in said[1].note
    assert said[1].reads[0].note == "kept outside the log"


def _reported(made: Engine, ref: dict[str, Any]) -> list[facts.Event]:
    """A worker that has the payload in hand, and records a reference."""
    work = made.work(*made.ready()[0])
    pipeline = Pipeline(made.playbook, work)
    events = list(pipeline.begin(made.now))
    opened, invocation = pipeline.enter(made.now)
    hand = {"status": "ok", "data": {"n": 1}, "ref": ref, "error": None, "meta": {"attempt": 1}}
    recorded = {name: value for name, value in hand.items() if name != "data"}
    events += [*opened, pipeline.close(invocation, Answer(recorded=recorded, hand=hand), made.now)]
    made._report(work, events)
    return events


def test_a_task_whose_input_could_not_be_made_asked_no_rule():
    said = told_of(ran(RULED.replace("workload.n | default(0)", "1 // 0")), facts.TaskDone)

    assert [(one.was_asked, one.is_chosen) for one in said if one.index] == [(False, False)] * 3


def test_a_rule_after_which_the_task_failed_says_so():
    made = ran(RULED.replace('ctx.more: "{{ ctx.seen }}"', 'ctx.more: "{{ 1 // 0 }}"'), {"work": Output(data=7)})

    said = told_of(made, facts.TaskDone)

    assert (said[3].result, said[3].is_chosen, "failed" in said[3].note) == (True, False, True)


@pytest.mark.spec("KC-05")
def test_what_a_credential_went_into_is_masked_and_never_read():
    made = engine(
        """
        keychain: [{name: api, kind: bearer}]
        workflow:
          - step: start
            tool:
              name: call
              kind: http
              url: https://example.com
              headers: {a: "{{ keychain.api.token }}"}
              params: {n: "{{ ctx.n | default(1) }}"}
        """
    )
    made.start()
    made.run_job(*made.ready()[0], tasks=1)

    (given,) = [input_at(one.decision, one.event) for one in _live(made) if isinstance(one.event, facts.TaskStarted)]

    assert given.input == {"url": "https://example.com", "headers": "***", "params": {"n": 1}}


def _live(made: Engine) -> Iterator[Told]:
    """Event by event, each decision over the state that it is about."""
    return told(made.log, lambda _: (made.playbook, made.net), lambda _: {})


def test_an_element_of_a_stored_list_is_said_not_to_be_here():
    loop, tool = '{in: "{{ workload.ref }}", iterator: i}', '{kind: noop, input: {x: "{{ iter.i }}"}}'
    made = engine(f"workflow: [{{step: start, loop: {loop}, tool: {tool}}}]")
    ref = {"type": "blob", "locator": "x", "auth_reference": None, "meta": {}}
    made.start({"ref": ref})
    made.do(Counted(execution_id=1, run=1, iter=-1, ref=ref, count=1))
    work = made.work(1, 0)
    work = msgspec.structs.replace(work, around=[msgspec.structs.replace(work.around[0], element=5)])
    opened, _ = Pipeline(made.playbook, work).enter(made.now)
    made._report(work, opened)

    (given,) = [input_at(one.decision, one.event) for one in _live(made) if isinstance(one.event, facts.TaskStarted)]

    assert given.input == {}
    assert "x cannot be rendered again" in given.notes[0]


# --- values ----------------------------------------------------------------------------------------------------------


def test_a_value_that_is_long_is_cut():
    made = ran(
        'workflow: [{step: start, tool: {kind: noop}, next: {arcs: [{step: start, when: "{{ workload.x == 1 }}"}]}}]',
        x="y" * 9000,
    )

    (said,) = told_of(made, facts.NextEvaluated)

    assert said.reads[0].note == "cut"
    assert len(said.reads[0].value) < 2100


@pytest.mark.parametrize(
    ("value", "wanted", "is_cut"),
    [
        ("abcdef", "abcd…", True),
        ("abcd", "abcd", False),
        ([1, 2, 3, 4], [1, 2], True),
        ({"a": 1, "b": 2}, {"a": 1}, True),
        (Secret("hush"), "***", False),
        (float("nan"), "nan", False),
        (range(2), [0, 1], False),
        (STORED, "(kep…", True),
        (None, None, False),
    ],
)
def test_an_excerpt_is_small_plain_and_without_secrets(value, wanted, is_cut):
    assert excerpt(value, 4) == (wanted, is_cut)


def test_an_excerpt_of_anything_can_be_written_down():
    deep: Any = 1
    for _ in range(500):
        deep = [deep]

    found, is_cut = excerpt({"deep": deep, 1: object(), "sql": Sql(("SELECT ", Bound(Secret("x"))))}, 10_000)

    assert is_cut
    assert found["1"] == "***"
    assert found["sql"] == "SELECT …"
    msgspec.json.encode(found)
