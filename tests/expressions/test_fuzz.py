"""Whatever is written, only our two faults come out, nothing foreign is read and no value is repeated in a fault."""

import os
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.expressions import EvaluationFault, TemplateSyntaxFault, constant, decide, parse, rename
from noetl.expressions.filters import FILTERS, REMOVED, TESTS
from noetl.expressions.methods import MAPPING_HINTS, TEXT_METHODS

EXAMPLES = int(os.environ.get("NOETL_FUZZ_EXAMPLES", "0")) or 1000
CANARY = "canary-4711"
READ: list[str] = []


class Foreign:
    """Not plain data; notes each attribute that anyone reads."""

    def __getattribute__(self, name: str) -> Any:
        READ.append(name)
        return object.__getattribute__(self, name)


SCOPE: dict[str, object] = {
    "s": CANARY,
    "n": 7,
    "f": 0.5,
    "null": None,
    "xs": [3, 1, CANARY, None, [2]],
    "m": {"a": CANARY, "items": [1], "b": {"c": 2}},
    "rows": [{"id": 2, "name": CANARY}, {"id": 1}],
    "o": Foreign(),
    "os": [Foreign(), {"x": Foreign()}],
}
ATTRIBUTES = [
    "a",
    "b",
    "items",
    "c",
    "id",
    "x",
    "_x",
    "__class__",
    "__init__",
    "__globals__",
    "format",
    "upper",
    "gi_frame",
    "0",
]
LITERALS = [
    "1",
    "0",
    "-3",
    "2.5",
    "'a'",
    "''",
    "'__class__'",
    "'{0.a}'",
    "'%s'",
    "true",
    "none",
    "[]",
    "{}",
    "'[1]'",
    "99999",
    "18446744073709551615",
]
NAMES = [*SCOPE, "nope", "range", "dict", "self", "loop", "x1"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
FILTER_NAMES = [*FILTERS, *REMOVED, "nope"]
TEST_NAMES = [name for name in TESTS if name.isalpha()] + ["callable", "nope"]
METHODS = [*TEXT_METHODS, *MAPPING_HINTS, "format", "format_map", "append", "index", "__class__", "mro"]


def expression(random: Random, depth: int) -> str:
    if depth <= 0:
        return random.choice((random.choice(LITERALS), random.choice(NAMES), random.choice(NAMES)))

    def inner() -> str:
        return expression(random, depth - random.choice((1, 1, 2, 3)))

    def arguments() -> str:
        given = [
            random.choice(("{}", "{}", "{}", "attribute={}", "*{}", "**{}", "reverse={}", "d={}")).format(inner())
            for _ in range(random.choice((0, 0, 1, 1, 2)))
        ]
        return ", ".join(given)

    forms = (
        lambda: f"{inner()}.{random.choice(ATTRIBUTES)}",
        lambda: f"{inner()}['{random.choice(ATTRIBUTES)}']",
        lambda: f"{inner()}[{inner()}]",
        lambda: f"{inner()}[{inner()}:{inner()}]",
        lambda: f"({inner()} {random.choice(OPERATORS)} {inner()})",
        lambda: f"({inner()} | {random.choice(FILTER_NAMES)}({arguments()}))",
        lambda: f"({inner()} | {random.choice(FILTER_NAMES)})",
        lambda: f"({inner()} | map('{random.choice(FILTER_NAMES)}'))",
        lambda: f"({inner()} | map(attribute='{random.choice(ATTRIBUTES)}'))",
        lambda: f"({inner()} is {random.choice(TEST_NAMES)})",
        lambda: f"({inner()} is not {random.choice(TEST_NAMES)}({inner()}))",
        lambda: f"{inner()}.{random.choice(METHODS)}({arguments()})",
        lambda: f"{random.choice(NAMES)}({arguments()})",
        lambda: f"[{inner()}, {inner()}]",
        lambda: f"{{{inner()}: {inner()}}}",
        lambda: f"({inner()} if {inner()} else {inner()})",
        lambda: f"(not {inner()})",
        lambda: f"(-{inner()})",
        lambda: f"({inner()}, {inner()})",
    )
    return random.choice(forms)()


def template(random: Random, depth: int) -> str:
    hole = f"{{{{ {expression(random, random.choice((1, 2, 3, 4)))} }}}}"
    if depth <= 0:
        return hole

    def inner() -> str:
        return template(random, depth - 1)

    forms = (
        lambda: hole,
        lambda: f"text {hole}",
        lambda: f"{inner()}{inner()}",
        lambda: f"{{% if {expression(random, 2)} %}}{inner()}{{% else %}}{inner()}{{% endif %}}",
        lambda: f"{{% for x1 in {expression(random, 2)} %}}{inner()}{{% endfor %}}",
        lambda: (
            f"{{% for x1, s in {expression(random, 1)} if {hole[2:-2]} %}}{inner()}{{% else %}}{inner()}{{% endfor %}}"
        ),
        lambda: f"{{% set x1 = {expression(random, 2)} %}}{inner()}",
        lambda: f"{{% set x1 %}}{inner()}{{% endset %}}{inner()}",
        lambda: f"{{% filter {random.choice(FILTER_NAMES)} %}}{inner()}{{% endfilter %}}",
        lambda: f"{{% with x1 = {expression(random, 1)} %}}{inner()}{{% endwith %}}",
        lambda: hole[: random.randrange(len(hole))],
        lambda: "".join(random.sample(hole, len(hole))),
    )
    return random.choice(forms)()


@pytest.mark.spec("TP-05")
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**63))
def test_nothing_but_our_faults_comes_out_and_nothing_foreign_is_read(seed: int) -> None:
    source = template(Random(seed), 2)
    READ.clear()
    fault: EvaluationFault | TemplateSyntaxFault | None = None

    try:
        found = parse(source)
        constant(found)
        decide(found, {("s",): "a", ("m", "b"): 1})
        parse(rename(source, {("m", "a"): "ctx.a", ("xs",): "list"})[0])
        found.evaluate(SCOPE)
    except (EvaluationFault, TemplateSyntaxFault) as raised:
        fault = raised

    assert READ == [], source
    assert fault is None or (fault.message and CANARY not in repr(fault.args)), source
