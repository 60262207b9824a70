"""The front end: reading and checking, start-up of the command line, evaluating an expression."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jinja2
import yaml

from bench.measure import Ratio, compare
from bench.playbooks import playbook
from noetl.dsl.check import check
from noetl.expressions import parse
from noetl.tools.registry import declarations

NOTHING = [sys.executable, "-c", "pass"]
NOETL = [sys.executable, "-m", "noetl"]
EXPRESSION = "ctx.a.b == 1 and iter.page < 5"
SCOPE = {"ctx": {"a": {"b": 1}}, "iter": {"page": 3}}
EVALUATIONS = 2000


def measurements() -> Iterator[Ratio]:
    """Every figure of the front end, with the limit it has to keep."""
    yield check_large()
    with tempfile.TemporaryDirectory() as folder:
        yield from start_up(Path(folder))
    yield evaluation()


def check_large() -> Ratio:
    """A new text each round, so that no template is met a second time."""
    rounds = 5
    texts = [playbook(7000, first=1000 * number) for number in range(rounds + 1)]
    ours, theirs = iter(texts), iter(texts)
    return compare(
        f"check {texts[0].count(chr(10)):,} lines",
        lambda: check(next(ours), "bench.yaml", declarations),
        "PyYAML safe_load (C)",
        lambda: yaml.load(next(theirs), Loader=yaml.CSafeLoader),
        rounds=rounds,
        limit=12,
    )


def start_up(folder: Path) -> Iterator[Ratio]:
    small = folder / "small.yaml"
    small.write_text(playbook(200), encoding="utf-8")
    commands = (("noetl --version", ["--version"], 8.0), ("noetl check, 200 lines", ["check", str(small)], 18.0))
    for name, words, limit in commands:
        yield compare(name, spawn([*NOETL, *words]), "python -c pass", spawn(NOTHING), rounds=15, limit=limit)


def spawn(command: list[str]):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def evaluation() -> Ratio:
    ours = parse("{{ " + EXPRESSION + " }}").evaluate
    bare = jinja2.Environment().compile_expression(EXPRESSION)  # noqa: S701 - no HTML here

    def run_ours() -> None:
        for _ in range(EVALUATIONS):
            ours(SCOPE)

    def run_bare() -> None:
        for _ in range(EVALUATIONS):
            bare(**SCOPE)

    return compare("evaluate an expression", run_ours, "bare Jinja2", run_bare, rounds=15, limit=1.5)
