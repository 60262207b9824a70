"""Rules of a task: the first one that matches decides, whatever stands around it (TK-06, TK-07, TK-08)."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from noetl.engine.output import Output, failure
from noetl.engine.pipeline import Invocation
from noetl.testing.engine import Engine
from tests.engine.books import HEAD
from tests.properties.laws import law, one_of_each

Answer = int | None  # data; None: an error
ATTEMPTS_MAX = 4


class Condition(msgspec.Struct, frozen=True):
    """A `when`, and what it says: of the answer and the number of the attempt."""

    text: str
    holds: Callable[[Answer, int], bool]
    reads_output: bool = True


CONDITIONS = (
    Condition("output.status == 'error'", lambda answer, _: answer is None),
    Condition("output.status == 'ok'", lambda answer, _: answer is not None),
    Condition("output.data == 1", lambda answer, _: answer == 1),
    Condition("(output.data or 0) > 1", lambda answer, _: (answer or 0) > 1),
    Condition("_attempt > 1", lambda _, attempt: attempt > 1, reads_output=False),
    Condition("_attempt == 2", lambda _, attempt: attempt == 2, reads_output=False),
    Condition("ctx.nothing is defined", lambda *_: False, reads_output=False),
)


class Rule(msgspec.Struct, frozen=True):
    """One rule; `attempts` is for a retry."""

    when: int
    do: str
    attempts: int

    @property
    def condition(self) -> Condition:
        return CONDITIONS[self.when]

    @property
    def is_before(self) -> bool:
        """TK-10: a skip that does not look at the output is asked before there is one."""
        return self.do == "skip" and not self.condition.reads_output


DIRECTIVES = ("continue", "break", "fail", "skip", "retry", "retry")
RULES = st.lists(
    one_of_each(range(len(CONDITIONS)), DIRECTIVES, range(1, ATTEMPTS_MAX + 1)).map(lambda drawn: Rule(*drawn)),
    max_size=5,
)
ANSWERS = one_of_each(*[(None, 0, 1, 2)] * ATTEMPTS_MAX).map(list)
ENDS = one_of_each(("", "continue", "fail", "break"), ("", "continue", "fail"))


def ran(rules: list[Rule], last: str, unmatched: str, answers: list[Answer]) -> Engine:
    written: list[dict[str, Any]] = [
        {"when": f"{{{{ {rule.condition.text} }}}}", "then": then_of(rule.do, rule.attempts)} for rule in rules
    ]
    if last:
        written.append({"else": {"then": {"do": last}}})
    policy = {"rules": written, **({"on_unmatched": unmatched} if unmatched else {})}
    tasks = [{"name": "asked", "kind": "noop", "spec": {"policy": policy}}, {"name": "after", "kind": "noop"}]
    text = f"{HEAD}workflow: {msgspec.json.encode([{'step': 'start', 'tool': tasks}]).decode()}\n"
    made = Engine(text, {"asked": lambda invocation: output_of(answers, invocation)})
    made.start()
    made.run()
    return made


def then_of(do: str, attempts: int) -> dict[str, Any]:
    return {"do": do, "attempts": attempts, "delay": 0} if do == "retry" else {"do": do}


def output_of(answers: list[Answer], invocation: Invocation) -> Output:
    answer = answers[min(invocation.attempt, len(answers)) - 1]
    return failure("server_error", "no") if answer is None else Output(data=answer)


def directives(made: Engine) -> list[tuple[str, int]]:
    """What was said after each attempt of the task that is asked, and by which rule."""
    return [(done.do, done.rule) for done in made.events("task.done") if done.task == "asked"]


def expected(rules: list[Rule], last: str, unmatched: str, answers: list[Answer]) -> list[tuple[str, int]]:
    """The model: attempt by attempt, the first rule that holds."""
    said: list[tuple[str, int]] = []
    for attempt in range(1, ATTEMPTS_MAX + 2):
        answer = answers[min(attempt, len(answers)) - 1]
        holding = [place for place, rule in enumerate(rules) if rule.condition.holds(answer, attempt)]
        before = next((place for place in holding if rules[place].is_before), None)
        if before is not None:
            return [*said, ("skip", before)]
        place = next((place for place in holding if not rules[place].is_before), None)
        if place is None:
            return [*said, (last, len(rules)) if last else (unmatched or "continue", -1)]
        if rules[place].do != "retry":
            return [*said, (rules[place].do, place)]
        if attempt >= rules[place].attempts:
            return [*said, ("fail", place)]
        said.append(("retry", place))
    raise AssertionError("more attempts than any rule allows")


@pytest.mark.spec("TK-06", "TK-07", "TK-08", "TK-10")
@law(700, rules=RULES, ends=ENDS, answers=ANSWERS)
def test_the_first_rule_that_holds_decides_after_every_attempt(
    rules: list[Rule], ends: tuple[str, str], answers: list[Answer]
) -> None:
    last, unmatched = ends[0], "" if ends[0] else ends[1]  # which an else makes pointless

    made = ran(rules, last, unmatched, answers)

    said = directives(made)
    assert said == expected(rules, last, unmatched, answers)
    assert made.status == ("failed" if said[-1][0] == "fail" else "success")
    assert ("after" in {done.task for done in made.events("task.done")}) == (said[-1][0] in ("continue", "skip"))


@pytest.mark.spec("TK-06")
@law(300, rules=RULES, more=RULES, answers=ANSWERS)
def test_rules_behind_an_else_or_a_rule_that_always_holds_say_nothing(
    rules: list[Rule], more: list[Rule], answers: list[Answer]
) -> None:
    """Rules that come after both ways in which a tool can answer are never reached; a skip before the tool is."""
    both = [Rule(0, "break", 1), Rule(1, "break", 1)]
    behind = [rule for rule in more if not rule.is_before]

    alone, followed = (ran([*rules, *both, *rest], "", "fail", answers) for rest in ([], behind))

    assert directives(alone) == directives(followed)
    assert alone.status == followed.status
