"""Arc args become set and input where that says the same, and nowhere else (PB-11)."""

import textwrap
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.dsl.check import check
from noetl.dsl.migrate import Migrated, migrate
from noetl.dsl.model import Arc, Playbook, Value
from noetl.dsl.normalize import normalize
from noetl.expressions import Template
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD

pytestmark = pytest.mark.spec("PB-11")


def migrated(body: str) -> Migrated:
    return migrate(HEAD + textwrap.dedent(body).lstrip("\n"), "t.yaml", declarations)


def body(result: Migrated) -> str:
    return result.text.removeprefix(HEAD)


def reasons(result: Migrated) -> list[str]:
    return [one.why for one in result.left_over]


CHAIN = """
    workflow:
      - step: start
        tool: {{ kind: noop }}
        next: {{ arcs: [{{ step: middle, args: {{ {args} }} }}] }}
      - step: middle
        tool: {{ kind: noop }}
        next: {{ arcs: [{{ step: end }}] }}
      - step: end
        {step}
        tool: {{ kind: http, url: "https://x.y/{{{{ input.id }}}}" }}
    """


def test_args_become_a_write_and_the_input_of_whoever_reads_them():
    done = migrated(CHAIN.format(args="id: 7", step="desc: last"))

    assert done.left_over == ()
    assert body(done) == textwrap.dedent(
        """\
        workflow:
          - step: start
            tool: { kind: noop }
            next: { arcs: [{ step: middle, set: { ctx.id: 7 } }] }
          - step: middle
            tool: { kind: noop }
            next: { arcs: [{ step: end }] }
          - step: end
            desc: last
            input: { id: "{{ ctx.id }}" }
            tool: { kind: http, url: "https://x.y/{{ input.id }}" }
        """
    )


@pytest.mark.parametrize(
    ("args", "other", "write"),
    [
        ("id: 7", "set: { ctx.id: 1 }", "set: { ctx.id_arg: 7 }"),
        ('id: "{{ output.ref }}"', "", 'set: { ctx.id_ref: "{{ output.ref }}" }'),
        ("other-id: 7", "", "set: { ctx.other_id: 7 }"),
        ("id_ref: 7", "", "set: { ctx.id_value: 7 }"),
    ],
)
def test_the_key_is_free_and_fits_what_it_holds(args, other, write):
    done = migrated(CHAIN.format(args=args, step=other or "desc: last"))

    assert write in done.text
    assert done.left_over == ()


def test_admission_loops_and_arcs_read_the_key_itself():
    done = migrated(
        """
        workflow:
          - step: start
            tool: { kind: noop }
            next: { arcs: [{ step: next, args: { a: 1, rows: [1] } }] }
          - step: next
            spec:
              policy:
                admit:
                  rules:
                    - { when: "{{ args.a > 0 }}", then: { allow: true } }
                    - { else: { then: { allow: false } } }
            loop: { in: "{{ args.rows }}", iterator: row }
            args: { b: "{{ args.a }}" }
            tool: { kind: noop }
            next: { arcs: [{ step: next, when: "{{ args.a < 9 }}", args: { a: "{{ args.a + 1 }}" } }] }
        """
    )

    assert done.left_over == ()
    assert 'when: "{{ ctx.a > 0 }}"' in done.text
    assert 'in: "{{ ctx.rows }}"' in done.text
    assert 'input: { b: "{{ ctx.a }}" }' in done.text
    assert 'when: "{{ ctx.a < 9 }}", set: { ctx.a: "{{ ctx.a + 1 }}" }' in done.text


def test_code_that_sees_its_whole_input_gets_every_argument():
    done = migrated(
        """
        workflow:
          - step: start
            tool: { kind: noop }
            next: { arcs: [{ step: run, args: { a: 1, b: 2 } }] }
          - step: run
            tool: { kind: python, code: "result = input['a']" }
        """
    )

    assert 'input: { a: "{{ ctx.a }}", b: "{{ ctx.b }}" }' in done.text


def test_code_that_never_mentions_its_input_gets_none():
    done = migrated(
        """
        workflow:
          - step: start
            tool: { kind: noop }
            next: { arcs: [{ step: run, args: { a: 1 } }] }
          - step: run
            tool: { kind: python, code: "result = 1" }
        """
    )

    assert "set: { ctx.a: 1 }" in done.text
    assert "input" not in done.text


def test_an_input_of_the_step_or_task_is_not_the_argument():
    done = migrated(
        """
        workflow:
          - step: start
            tool: { kind: noop }
            next: { arcs: [{ step: one, args: { a: 1 } }] }
          - step: one
            input: { a: 2 }
            tool: { kind: http, url: "https://x.y/{{ input.a }}" }
            next: { arcs: [{ step: two }] }
          - step: two
            tool: { kind: http, input: { a: 3, url: "https://x.y/{{ input.b }}" }, method: "{{ input.a }}" }
        """
    )

    assert "ctx.a: 1" in done.text
    assert "{{ ctx.a }}" not in done.text


TWO_WAYS = """
    workflow:
      - step: start
        tool: {{ kind: noop }}
        next: {{ spec: {{ mode: {mode} }}, arcs: [{{ step: a, {guard} args: {{ x: 1 }} }}, {{ step: b{other} }}] }}
      - step: a
        tool: {{ kind: noop }}
        next: {{ arcs: [{{ step: end{later} }}] }}
      - step: b
        tool: {{ kind: noop }}
        next: {{ arcs: [{{ step: {target} }}] }}
      - step: end
        {join}
        tool: {{ kind: http, url: "https://x.y/{{{{ input.x }}}}" }}
    """
DEFAULTS = {"mode": "exclusive", "guard": "", "other": "", "later": "", "target": "end", "join": "desc: last"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"guard": 'when: "{{ workload.a }}",'},
            'step "end" reads it and can also be reached without it: there it is undefined, not null',
        ),
        ({"mode": "inclusive", "target": "c"}, ""),
        (
            {"mode": "inclusive", "other": ", args: { x: 2 }"},
            '"start" can send two tokens at once, and more than one of them may have it',
        ),
        (
            {"mode": "inclusive", "other": "", "later": ", args: { x: 3 }"},
            '"start" can send two tokens at once, and more than one of them may have it',
        ),
    ],
)
def test_args_stay_where_two_tokens_or_none_could_have_written_them(change, why):
    text = TWO_WAYS.format(**(DEFAULTS | change))
    if "c" in change.get("target", ""):
        text += "  - step: c\n        tool: { kind: noop }\n"

    done = migrated(text)

    assert set(reasons(done)) == ({why} if why else set())
    assert ("args: { x: 1 }" in done.text) == bool(why)


@pytest.mark.parametrize(
    ("reader", "why"),
    [
        ('input: { all: "{{ input | tojson }}" }', 'a template of step "end" reads all of input'),
        (
            'input: { all: "{{ ctx | tojson }}", x: "{{ input.x }}" }',
            "a template reads all of ctx, and would see it there",
        ),
        ("spec: { policy: { plan: true } }", "a planner may add steps that read it"),
        (
            'input: { x: 1 }, loop: { in: "{{ input.x }}", iterator: i }',
            'step "end" has an input of that name and reads it in its admission, loop or arcs',
        ),
    ],
)
def test_args_stay_where_not_all_readers_are_known(reader, why):
    done = migrated(
        f"""
        workflow:
          - step: start
            tool: {{ kind: noop }}
            next: {{ arcs: [{{ step: end, args: {{ x: 1 }} }}] }}
          - {{ step: end, {reader}, tool: {{ kind: noop }} }}
        """
    )

    assert reasons(done) == [why]
    assert "args: { x: 1 }" in done.text


def test_a_name_that_stays_does_not_hold_the_others_back():
    done = migrated(
        """
        workflow:
          - step: start
            tool: { kind: noop }
            next:
              arcs:
                - step: end
                  when: "{{ workload.a }}"
                  args:
                    x: 1  # the id
                    y: 2  # the other
                - step: end
                  args: { y: 3 }
          - step: end
            tool: { kind: http, url: "https://x.y/{{ input.x }}{{ input.y }}" }
        """
    )

    assert [one.message for one in done.left_over] == ['args.x of the arc from "start" to "end" stays']
    assert body(done) == textwrap.dedent(
        """\
        workflow:
          - step: start
            tool: { kind: noop }
            next:
              arcs:
                - step: end
                  when: "{{ workload.a }}"
                  set:
                    ctx.y: 2  # the other
                  args:
                    x: 1  # the id
                - step: end
                  set: { ctx.y: 3 }
          - step: end
            input: { y: "{{ ctx.y }}" }
            tool: { kind: http, url: "https://x.y/{{ input.x }}{{ input.y }}" }
        """
    )


def playbook_of(text: str) -> Playbook:
    result = check(text, "t.yaml", declarations)
    assert [finding.message for finding in result.findings if finding.severity == "error"] == []
    return normalize(result.drafts[0])


class Token:
    def __init__(self, step: str, args: dict[str, object]) -> None:
        self.step, self.args = step, args


def runs(playbook: Playbook, choices: list[int]) -> Iterator[tuple[str, object]]:
    """What each step run sees, when a list of numbers decides which token moves and which arcs it takes."""
    ctx: dict[str, object] = {}
    tokens = [Token(playbook.entry, {})]
    picks = iter(choices)
    while tokens and (pick := next(picks, None)) is not None:
        token = tokens.pop(pick % len(tokens))
        step = playbook.steps[token.step]
        scope = {"ctx": dict(ctx), "workload": {}, "input": token.args}
        own = token.args | {name: rendered(value, scope) for name, value in step.input.items()}
        yield step.name, [rendered(value, scope | {"input": own}) for value in step.tasks[0].input.values()]
        arcs = step.router.arcs
        for arc in taken(arcs, pick, step.router.is_inclusive):
            scope = {"ctx": dict(ctx), "workload": {}, "input": own}
            sent = token.args | {name: rendered(value, scope) for name, value in arc.args.items()}
            for write in arc.set:
                ctx[write.path[0]] = rendered(write.value, scope)
            tokens.append(Token(arc.target, sent))


def taken(arcs: tuple[Arc, ...], pick: int, is_inclusive: bool) -> list[Arc]:
    """Arcs whose guards a number makes true; one without a guard always is."""
    true = [arc for number, arc in enumerate(arcs) if arc.when is None or pick >> number & 1]
    return true if is_inclusive else true[:1]


def rendered(value: Value, scope: dict[str, object]) -> object:
    parts = value.parts
    if isinstance(parts, Template):
        return parts.evaluate(scope)
    return parts


@st.composite
def nets(draw: st.DrawFn) -> str:
    """A small net whose arcs give arguments, and whose steps tell what they have."""
    count = draw(st.integers(2, 5))
    lines = []
    for number in range(count):
        seen = "".join(
            f"{{{{ input.{name} is defined }}}}{{{{ input.{name} | default('-') }}}} "
            for name in "xy"
            if draw(st.booleans())
        )
        arcs = []
        for which in range(draw(st.integers(0, 2))):
            values = [f'"{{{{ input.{name} | default(0) + {number} }}}}"' for name in "xy"] + [str(number)]
            args = ", ".join(f"{name}: {draw(st.sampled_from(values))}" for name in "xy" if draw(st.booleans()))
            target = draw(st.integers(0, count - 1))
            guard = "" if draw(st.booleans()) else f', when: "{{{{ workload.g{number}{which} }}}}"'
            arcs.append(
                f"{{ step: s{target}{guard}, args: {{ {args} }} }}" if args else f"{{ step: s{target}{guard} }}"
            )
        mode = draw(st.sampled_from(("exclusive", "exclusive", "inclusive")))
        router = f", next: {{ spec: {{ mode: {mode} }}, arcs: [{', '.join(arcs)}] }}" if arcs else ""
        lines.append(f'  - {{ step: s{number}, tool: {{ kind: http, url: "{seen or "x"}" }}{router} }}')
    guards = ", ".join(f"g{number}{which}: true" for number in range(count) for which in range(2))
    return HEAD + f"workload: {{ {guards} }}\nworkflow:\n" + "\n".join(lines) + "\n"


@settings(max_examples=300, deadline=None)
@given(nets(), st.lists(st.integers(0, 1000), max_size=25))
def test_whatever_moves_every_step_sees_what_it_saw(text, choices):
    done = migrate(text, "t.yaml", declarations)

    assert list(runs(playbook_of(done.text), choices)) == list(runs(playbook_of(text), choices))
