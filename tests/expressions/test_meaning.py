"""The meaning is Jinja2's: generated expressions and templates give the same here and in Jinja2's own sandbox."""

import os
from random import Random
from types import GeneratorType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment

from noetl.expressions import EvaluationFault, parse

EXAMPLES = int(os.environ.get("NOETL_FUZZ_EXAMPLES", "0")) or 300
SEEDS = st.integers(0, 2**63)
JINJA = ImmutableSandboxedEnvironment(keep_trailing_newline=True)
SCOPE: dict[str, object] = {
    "n": 3,
    "f": 2.5,
    "s": "Hello World",
    "t": "",
    "yes": True,
    "null": None,
    "xs": [3, 1, 2, 2],
    "ws": ["b", "A", "a"],
    "rows": [{"id": 2, "name": "Bo"}, {"id": 1, "name": "al"}],
    "m": {"k": 1, "deep": {"er": "v"}},
}

# What stands for an expression of each type in the forms below: N number, T text, L list of numbers, B boolean.
LEAVES = {
    "N": ["0", "1", "-2", "7", "n", "f", "m.k", "xs[0]", "rows[1].id", "1.5", "0x10", "xs[-1]"],
    "T": ["'a'", "s", "t", '"x y"', "m.deep.er", "m['deep']['er']", "'it\\'s'", "'ü'", "rows[0].name"],
    "L": ["xs", "[]", "[1, 2, 3]", "[3, n]", "xs[1:]", "range(3) | list", "rows | map(attribute='id') | list"],
    "B": ["true", "false", "yes", "null is none", "n == 3", "s is string", "m is mapping", "not t"],
}
FORMS = {
    "N": [
        *(
            "N + N",
            "N - N",
            "N * N",
            "-N",
            "L | length",
            "T | length",
            "N if B else N",
            "N | abs",
            "N | int",
            "T.count('l')",
        ),
        *(
            "xs | sum",
            "N | round(1)",
            "T | wordcount",
            "N // 2",
            "N % 7",
            "T.find('o')",
            "L | sum",
            "N ** 2 if N == 3 else 1",
        ),
    ],
    "T": [
        *("T ~ T", "T + T", "T | upper", "T | lower", "T | title", "T | capitalize", "T.upper()", "T.replace('l', T)"),
        *("L | join(T)", "T[1:3]", "T[::-1]", "T * 2", "T | trim", "N | string", "T | replace('o', '0')", "T or T"),
        *(
            "T | center(9)",
            "T | indent(2)",
            "T | truncate(5, true, '', 0)",
            "T ~ N ~ L",
            "T | default(T, true)",
            "m ~ T",
        ),
        *("T.strip()", "T.split('o') | join('-')", "T.zfill(4)", "T if B else T", "null ~ T ~ B", "(T, N) ~ ''"),
    ],
    "L": [
        *(
            "L + L",
            "L | sort",
            "L | unique | list",
            "L | reverse | list",
            "L * 2",
            "[N]",
            "L[1:]",
            "L | select('>', 1) | list",
        ),
        *(
            "L | map('abs') | list",
            "L | list",
            "L | reject('eq', 2) | list",
            "[N, N]",
            "L if B else L",
            "L | sort(reverse=B)",
        ),
        *(
            "rows | sort(attribute='name') | map(attribute='id') | list",
            "rows | selectattr('id', '>', N) | map(attribute='id') | list",
        ),
    ],
    "B": [
        *(
            "B and B",
            "B or B",
            "not B",
            "N == N",
            "N < N",
            "N <= N <= 5",
            "N in L",
            "N not in L",
            "'l' in T",
            "T.startswith('H')",
        ),
        *(
            "L == xs",
            "N is number",
            "'k' in m",
            "T == T",
            "B if B else B",
            "N != N",
            "m.k is defined",
            "m.nope is undefined",
        ),
        *("N > N", "T < T", "L is sequence", "N is in L", "T is lower", "B is true", "L is iterable", "N is not none"),
    ],
    "V": [
        *(
            "N",
            "T",
            "L",
            "B",
            "L | map('string') | list",
            "L | batch(2) | list",
            "rows | selectattr('id', 'eq', 1) | list",
        ),
        *(
            "{'a': N, T: L}",
            "(N, T)",
            "dict(a=L)",
            "ws | unique | list",
            "ws | min",
            "rows | max(attribute='name')",
            "ws | sort",
        ),
        *(
            "m | items | list",
            "m | dictsort",
            "m.nope",
            "null",
            "L | slice(2) | list",
            "L | first | default(none)",
            "T | list",
        ),
        *(
            "rows | rejectattr('name') | list",
            "m.deep",
            "rows | map(attribute='name') | map('upper') | list",
            "{'a': [T, {'b': N}]}",
        ),
    ],
}
TEMPLATES = [
    *("X{{ V }}X", "X{{- V -}}X", "{% if B %}X{%- else -%}X{% endif %}", "{% for i in L %}{{ i }}X{% endfor %}X"),
    *("{% set q = N %}X{{ q }}", "{% for i in L if i %}{{ loop.index }}{% else %}X{% endfor %}", "X{# X #}X"),
    *(
        "{% with p = N %}X{{ p }}{% endwith %}X",
        "{% filter upper %}X{% endfilter %}",
        "{% set z %}X{% endset %}{{ z | trim }}",
    ),
    "{% for r in rows %}{{ r.name }}{{ ',' if not loop.last }}{% set v = r.name %}X{{ v }}{% endfor %}X",
    *("\n  {%- if B %}\n X {% elif B %} X\n{% endif -%} \n", "{% raw %}{{ n }}{% endraw %}X", " {{ T }} \n"),
]


def fill(random: Random, form: str, depth: int) -> str:
    """Put expressions in place of the capital letters of a form, in brackets: Jinja2 reads `is x if y` as a call."""
    pieces = []
    for position, char in enumerate(form):
        neighbours = form[max(0, position - 1) : position] + form[position + 1 : position + 2]
        if char not in "NTLBV" or any(one.isalnum() or one == "'" for one in neighbours):
            pieces.append(char)
        elif depth <= 0 and char in LEAVES:
            pieces.append(f"({random.choice(LEAVES[char])})")
        else:
            pieces.append(f"({fill(random, random.choice(FORMS[char]), depth - 1)})")
    return "".join(pieces)


def template(random: Random, depth: int) -> str:
    form = fill(random, random.choice(TEMPLATES), 1)
    if depth == 0:
        return form.replace("X", random.choice(["", "a ", "\n", "x\n  "]))
    while "X" in form:
        form = form.replace("X", template(random, depth - 1), 1)
    return form


@pytest.mark.spec("TP-01")
@settings(max_examples=EXAMPLES, deadline=None)
@given(SEEDS)
def test_an_expression_means_what_it_means_in_jinja2(seed: int) -> None:
    expression = fill(Random(seed), "V", 3)

    theirs = JINJA.compile_expression(expression)(SCOPE)
    ours = parse(f"{{{{ {expression} }}}}", 100_000).evaluate(SCOPE)

    theirs = list(theirs) if isinstance(theirs, GeneratorType) else theirs
    assert (ours, type(ours)) == (theirs, type(theirs)), expression


@pytest.mark.spec("TP-01")
@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(SEEDS)
def test_a_template_prints_what_it_prints_in_jinja2(seed: int) -> None:
    source = f".{template(Random(seed), 1)}"

    theirs = JINJA.from_string(source).render(SCOPE)
    ours: object
    try:
        ours = parse(source, 100_000).evaluate(SCOPE)
    except EvaluationFault as fault:
        ours = fault.kind

    assert ours in (theirs, "limit") or (ours == "undefined" and "m.nope" in source), source
