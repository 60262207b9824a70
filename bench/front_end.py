"""The front end: reading and checking, start-up of the command line, evaluating an expression."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import jinja2
import yaml

from bench.limits import EXPRESSION, SCOPE
from bench.measure import TAKEN_PER_ROUND_MAX, compare
from bench.playbooks import playbook
from bench.report import Figure
from bench.spawning import BARE_PYTHON, NOETL, spawned
from noetl.dsl.check import check
from noetl.expressions import parse
from noetl.tools.registry import declarations

LINES = 7_000
EVALUATIONS = 2_000


def figures(rounds: int) -> Iterator[Figure]:
    """Every figure of the front end."""
    yield check_large(rounds)
    with tempfile.TemporaryDirectory() as folder:
        yield from start_up(Path(folder), rounds)
    yield evaluation(rounds)


def check_large(rounds: int) -> Figure:
    """A new text each round, so that no template is met a second time."""
    texts = [playbook(LINES, first=1000 * number) for number in range(1 + rounds * TAKEN_PER_ROUND_MAX)]
    ours, theirs = iter(texts), iter(texts)
    return compare(
        "check",
        f"`noetl check` of {texts[0].count(chr(10)):,} lines",
        lambda: check(next(ours), "bench.yaml", declarations),
        "PyYAML's C `safe_load`",
        lambda: yaml.load(next(theirs), Loader=yaml.CSafeLoader),
        rounds,
    )


def start_up(folder: Path, rounds: int) -> Iterator[Figure]:
    small = folder / "small.yaml"
    small.write_text(playbook(200), encoding="utf-8")
    commands = (
        ("version", "`noetl --version`", ["--version"]),
        ("check small", "`noetl check` of 200 lines", ["check", str(small)]),
    )
    for name, title, words in commands:
        yield compare(name, title, spawned([*NOETL, *words]), "`python -c pass`", spawned(BARE_PYTHON), rounds)


def evaluation(rounds: int) -> Figure:
    ours = parse("{{ " + EXPRESSION + " }}").evaluate
    bare = jinja2.Environment().compile_expression(EXPRESSION)  # noqa: S701 - no HTML here

    def run_ours() -> None:
        for _ in range(EVALUATIONS):
            ours(SCOPE)

    def run_bare() -> None:
        for _ in range(EVALUATIONS):
            bare(**SCOPE)

    return compare(
        "expression", f"{EVALUATIONS:,} evaluations of a condition", run_ours, "bare Jinja2", run_bare, rounds
    )
