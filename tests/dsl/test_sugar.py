"""choose, while and until become canonical tasks with stable labels and merge points."""

import pytest

from noetl.dsl.model import Rule, Task
from tests.dsl.front import Front


def shown(tasks: tuple[Task, ...]) -> list[str]:
    """Each task as `label: condition→target, …`."""
    lines = []
    for task in tasks:
        moves = [shown_rule(rule) for rule in (task.policy.rules if task.policy else ())]
        lines.append(f"{task.label}: {', '.join(moves)}".rstrip(": "))
    return lines


def shown_rule(rule: Rule) -> str:
    when = rule.when.template.source if rule.when and rule.when.template else "else"
    return f"{when} {rule.do} {rule.to or ''}".strip()


@pytest.mark.spec("TK-17")
def test_choose_jumps_to_its_case_and_every_case_ends_at_the_merge_point(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              - name: route
                choose:
                  - when: "{{ ctx.a }}"
                    then: {tool: [{name: one, kind: noop}, {name: two, kind: noop}]}
                  - else: {then: {tool: {kind: noop}}}
              - {name: after, kind: noop}
        """)

    assert shown(playbook.steps["start"].tasks) == [
        "route: {{ ctx.a }} jump one, else jump route_2_task_0",
        "one",
        "two",
        "route_1_end: else jump route_end",
        "route_2_task_0",
        "route_2_end: else jump route_end",
        "route_end",
        "after",
    ]


@pytest.mark.spec("TK-17")
def test_choose_without_an_else_goes_to_the_merge_point(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              - choose:
                  - when: "{{ ctx.a }}"
                    then: {tool: {name: one, kind: noop}}
        """)

    assert shown(playbook.steps["start"].tasks)[0] == "choose_0: {{ ctx.a }} jump one, else jump choose_0_end"


@pytest.mark.spec("TK-17")
def test_while_checks_before_its_body_and_until_after_it(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              - name: pages
                while: {when: "{{ step.more }}", tool: [{name: page, kind: noop, set: {step.more: false}}]}
              - name: poll
                until: {when: "{{ output.data }}", tool: {name: ask, kind: http, url: "https://example.com"}}
        """)

    assert shown(playbook.steps["start"].tasks) == [
        "pages: {{ step.more }} continue, else jump pages_end",
        "page",
        "pages_again: else jump pages",
        "pages_end",
        "poll",
        "ask",
        "poll_check: {{ output.data }} continue, else jump poll",
        "poll_end",
    ]


@pytest.mark.spec("TK-17")
def test_sugar_nests_and_the_debug_map_leads_back_to_the_author(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              - name: outer
                while:
                  when: "{{ step.more }}"
                  tool:
                    - name: inner
                      choose:
                        - when: "{{ ctx.a }}"
                          then: {tool: {name: one, kind: noop, set: {step.more: false}}}
        """)

    labels = [task.label for task in playbook.steps["start"].tasks]
    assert labels == ["outer", "inner", "one", "inner_1_end", "inner_end", "outer_again", "outer_end"]
    assert playbook.debug_map["start"]["outer"] == 'while ("outer") at line 8'
    assert playbook.debug_map["start"]["inner_end"] == 'the merge point of choose ("inner") at line 12'
    assert playbook.steps["start"].tasks[1].made_from == 'choose ("inner") at line 12'
    assert "one" not in playbook.debug_map["start"]


@pytest.mark.spec("TK-17", "TK-01")
def test_tasks_beside_sugar_keep_the_labels_of_the_authors_own_list(front: Front) -> None:
    playbook = front.playbook("""
        workflow:
          - step: start
            tool:
              - choose: [{when: "{{ ctx.a }}", then: {tool: {name: one, kind: noop}}}]
              - {kind: noop}
              - {kind: noop, input: {x: "{{ task_1.data }}"}}
        """)

    assert [task.label for task in playbook.steps["start"].tasks][-2:] == ["task_1", "task_2"]


@pytest.mark.spec("TK-17")
def test_a_condition_of_sugar_reads_what_its_body_gave(front: Front) -> None:
    body = """
        workflow:
          - step: start
            loop: {in: [1], iterator: n}
            tool:
              - name: poll
                until: {when: "{{ output.http.status == 200 }}", tool: {name: ask, kind: http, url: "https://example.com"}}
        """
    tasks = front.playbook(body).steps["start"].tasks

    assert "NL619" not in front.codes(body)
    assert [task.is_transparent for task in tasks] == [True, False, True, True]
