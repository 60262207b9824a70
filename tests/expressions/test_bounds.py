"""What a template may use: bombs are refused, or cheap (security.md row 3). And the limits are where limits.py says."""

import time
import tracemalloc

import pytest

from noetl.expressions import LIMITS, EvaluationFault, Limits, TemplateSyntaxFault, parse

SECONDS_MAX = 0.050
REFUSAL_SECONDS_MAX = 0.250  # a refusal may come late, but not so late that it matters
STATEMENT_SECONDS_MAX = 1.0  # statements run on workers only, under the task's own limits
YARDSTICK_SECONDS = 0.012  # what slowness() takes on a quiet machine
BYTES_MAX = 16 * 1024 * 1024
MEGA = "('a' * 1000000)"

SCOPE: dict[str, object] = {
    "big_text": "ab " * 300_000,
    "wide_text": "\U0001f600" * 250_000,
    "rows": [{"n": index, "name": f"row {index % 7}"} for index in range(10_000)],
    "huge_integer": 10**5000,
    "digits": "9" * 100_000,
    "deep": None,
}
_deep: list[object] = []
for _ in range(5000):
    _deep = [_deep]
SCOPE["deep"] = _deep
_cycle: list[object] = []
_cycle.append(_cycle)
SCOPE["cycle"] = _cycle

BOMBS = [
    "{{ 9**9999999 }}",
    "{{ 9**9**9**9 }}",
    "{{ 2**63**63 }}",
    "{{ 10**19 * 10**19 * 10**19 }}",
    "{{ (-9)**9999999 }}",
    "{{ 2.0**99999 }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%0999999999.999999999f' % 1 }}",
    "{{ 'a' * 200000000 }}",
    "{{ 200000000 * 'a' }}",
    "{{ 'a' * 1000000 * 1000000 }}",
    "{{ [0] * 200000000 }}",
    "{{ [[[[0] * 1000] * 1000] * 1000] * 1000 }}",
    "{{ (0, 1) * 100000000 }}",
    "x{{ [['a' * 1000] * 1000] * 1000 }}",
    "{{ ([['a' * 1000] * 1000] * 100) | tojson }}",
    "{{ " + " ~ ".join([MEGA] * 30) + " }}",
    "{{ " + " + ".join([MEGA] * 30) + " }}",
    "{{ [" + ", ".join([MEGA] * 300) + "] | length }}",
    "{{ (" + MEGA + ") " + "| upper | lower " * 90 + "}}",
    "{{ wide_text " + "| upper | lower " * 100 + "}}",
    "{{ big_text.replace('a', 'a' * 100000) }}",
    "{{ big_text | replace('', 'x' * 1000) }}",
    "{{ big_text | replace('a', big_text) }}",
    "{{ 'x' | center(1000000000) }}",
    "{{ 'x'.ljust(1000000000) }}",
    "{{ 'x'.rjust(1000000000) ~ '' }}",
    "{{ 'x'.zfill(1000000000) }}",
    "{{ big_text | indent(1000000) }}",
    "{{ ('a\\n' * 300000) | indent(1000) }}",
    "{{ range(1000000000) }}",
    "{{ range(10000000) | list | length }}",
    "{{ range(10000000) | sum }}",
    "{{ range(10000000) | map('string') | join }}",
    "{{ range(10000000) | sort }}",
    "{{ 0.5 in range(10000000) }}",
    "{{ 9999999999 in range(10000000) }}",
    "{{ range(0, 18446744073709551615, 1) }}",
    "{{ range(10000000) | batch(1) }}",
    "{{ [1] | batch(100000000, 'x') }}",
    "{{ [1] | slice(100000000) }}",
    "{{ range(1000) | batch(1000000, rows) }}",
    "{{ range(100000) | map(attribute='x', default=rows) | list }}",
    "{{ ([nope] * 1000) | map('default', ([nope] * 1000) | map('default', rows)) }}",
    "{{ ([big_text] * 100) | join(big_text) }}",
    "{{ ('ab ' * 300000) | split }}",
    "{{ ('ab ' * 300000).split('a') }}",
    "{{ ('\\n' * 900000).splitlines() }}",
    "{{ big_text | list }}",
    "{{ range(700000) | join }}",
    "{{ ('a b ' * 200000) | title }}",
    "{{ ('a b ' * 200000) | wordcount }}",
    "{{ ('a' * 500000).strip('b' * 500000 ~ 'a') }}",
    "{{ ('a' * 500000).rfind('ab' ~ 'a' * 250000) }}",
    "{{ ('a' * 500000).rsplit('ab' ~ 'a' * 250000) }}",
    "{{ ('a' * 500000).rpartition('ab' ~ 'a' * 250000) }}",
    "{{ ('a' * 500000).find('a' * 250000 ~ 'b' ~ 'a' * 200000) }}",
    "{{ ('a' * 49 ~ 'b' ~ 'a' * 49) in 'a' * 1000000 }}",
    "{{ ('a' * 1000000).count('a' * 49 ~ 'b' ~ 'a' * 49) }}",
    "{{ ['\\u0001' * 1000000] ~ ['\\u0001' * 1000000] }}",
    "{{ ('1' * 900000 ~ '.5') | fromjson }}",
    "{{ ('[' ~ '1.5,' * 80000 ~ '1]') | fromjson }}",
    "{{ wide_text | list }}",
    "{{ big_text | urlencode }}",
    "{{ wide_text | urlencode }}",
    "{{ ('<' * 900000) | escape }}",
    "{{ ('[' * 500000) | fromjson }}",
    "{{ ('[' ~ '[],' * 300000 ~ '[]]') | fromjson }}",
    "{{ ('[' ~ '{},' * 300000 ~ '{}]') | fromjson }}",
    "{{ digits | fromjson }}",
    "{{ digits | int }}",
    "{{ digits | float }}",
    "{{ huge_integer }}x",
    "{{ huge_integer * huge_integer }}",
    "{{ huge_integer ** 2 }}",
    "{{ huge_integer | string }}",
    "{{ [huge_integer] | tojson }}",
    "{{ range(huge_integer) }}",
    "{{ 'a' * huge_integer }}",
    "x{{ deep }}",
    "{{ deep == [deep] }}",
    "{{ deep | tojson }}",
    "x{{ cycle }}",
    "{{ cycle | tojson }}",
    "{{ [cycle] * 3 }}",
    "{{ cycle | flatten(64) }}",
    "{{ rows | map('tojson', 8) | map('upper') | join | upper | lower }}",
    "{{ rows * 50 | sort(attribute='name') }}",
    "{{ (rows * 10) | groupby('name') }}",
    "{{ (1.5 | round(999999999)) }}",
    "{% for a in range(10000000) %}{% endfor %}",
    "{% for a in range(5000) %}{% for b in range(5000) %}{% for c in 'abc' %}x{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in range(5000) %}{% for b in range(5000) if false %}{% endfor %}{% endfor %}",
    "{% for a in range(90000) %}" + "{{ a * a * a }}" * 300 + "{% endfor %}",
    "{% for a in range(100000) %}" + "x" * 5000 + "{% endfor %}",
    "{% set a = [0] %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}",
    "{% set a = [0] %}{% set b = [0] %}" + "{% set a = [a, a] %}{% set b = [b, b] %}" * 40 + "{{ a == b }}",
    "{% set a = (0,) %}" + "{% set a = (a, a) %}" * 60 + "{{ {a: 1} }}",
    "{% set a = {} %}" + "{% set a = dict(x=a, y=a) %}" * 60 + "{{ a | tojson }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 60 + "{{ a }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a + a %}" * 60 + "{{ a }}",
    "{% set a = [0] %}" + "{% set a = a + a %}" * 60 + "{{ a }}",
    "{% set a %}" + "x" * 4000 + "{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 60 + "{{ a }}",
    "{% set a = [0] %}" + "{% set a = [a] %}" * 300 + "x{{ a }}",
    "{% filter upper %}{% for a in range(100000) %}{{ 'x' * 1000 }}{% endfor %}{% endfilter %}",
]


def attempt(source: str) -> str:
    """Evaluate, and say how it ended."""
    try:
        parse(source).evaluate(SCOPE)
    except (EvaluationFault, TemplateSyntaxFault) as fault:
        return fault.kind
    return "done"


def seconds(source: str) -> float:
    before = time.thread_time()  # not the wall's: other processes must not fail this test
    attempt(source)
    return time.thread_time() - before


def slowness() -> float:
    """How much slower this machine is, this moment, than the one the bounds were written for; never less than 1."""
    before = time.thread_time()
    sum(number * number % 7 for number in range(200_000))
    return max(1.0, (time.thread_time() - before) / YARDSTICK_SECONDS)


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize("source", BOMBS, ids=lambda source: source[:60])
def test_a_bomb_is_refused_or_cheap(source: str) -> None:
    tracemalloc.start()
    ended = attempt(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    refusal_seconds = STATEMENT_SECONDS_MAX if "{%" in source else REFUSAL_SECONDS_MAX
    allowed = SECONDS_MAX if ended == "done" else refusal_seconds
    assert any(seconds(source) < allowed * slowness() for _ in range(5)), ended
    assert peak < BYTES_MAX, ended


@pytest.mark.spec("TP-05")
def test_there_are_at_least_fifty_bombs() -> None:
    assert len(set(BOMBS)) >= 50


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("{{ 18446744073709551615 }}", 18446744073709551615),
        ("{{ 2**63 }}", 2**63),
        ("{{ -9223372036854775807 - 1 }}", -(2**63)),
        ("{{ ('a' * 1048576) | length }}", 1048576),
        ("{{ ([0] * 700000) | length }}", 700000),
        ("{{ range(10000000) }}", range(10_000_000)),
        ("{{ range(100000) | sum }}", 4999950000),
        ("{{ ([[0] * 100] * 100) | flatten | length }}", 10_000),
    ],
)
def test_what_is_within_the_limits_works(source: str, value: object) -> None:
    assert parse(source).evaluate({}) == value


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize(
    "source",
    [
        "{{ 18446744073709551615 + 1 }}",
        "{{ -9223372036854775807 - 2 }}",
        "{{ 'a' * 1048577 }}",
        "{{ range(10000001) }}",
        "{{ 'a' * 1000000 }}{{ 'a' * 100000 }}",
    ],
)
def test_what_is_beyond_the_limits_is_a_fault_of_kind_limit(source: str) -> None:
    with pytest.raises(EvaluationFault) as caught:
        parse(source).evaluate({})

    assert caught.value.kind == "limit"


@pytest.mark.spec("TP-05")
def test_a_source_longer_than_8_kib_is_refused_with_kind_length() -> None:
    with pytest.raises(TemplateSyntaxFault) as caught:
        parse("x" * (LIMITS.source_chars + 1))

    assert caught.value.kind == "length"
    assert parse("x" * LIMITS.source_chars).evaluate({}) == "x" * LIMITS.source_chars
    assert parse("x" * 20_000, 20_000).evaluate({}) == "x" * 20_000


@pytest.mark.spec("TP-05")
def test_the_caller_may_give_other_limits() -> None:
    tight = Limits(text_chars=10)

    with pytest.raises(EvaluationFault, match="10 characters"):
        parse("{{ 'a' * 11 }}").evaluate({}, tight)


@pytest.mark.spec("TP-05")
def test_the_scope_is_not_changed_by_an_evaluation() -> None:
    scope = {"ctx": {"a": [3, 1, 2], "b": {"c": 1}}}

    parse("{{ ctx.a | sort | reverse }}{% set x = ctx.a + [9] %}{{ dict(ctx.b, d=2) }}").evaluate(scope)

    assert scope == {"ctx": {"a": [3, 1, 2], "b": {"c": 1}}}
