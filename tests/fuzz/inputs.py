"""Inputs for the front end: playbooks with bytes changed, and trees grown from the language's own words.

Input number n of a seed is always the same, so a failure is two numbers.
"""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

from noetl.dsl.shapes import SHAPES
from noetl.expressions.filters import FILTERS

ROOT = Path(__file__).parent.parent.parent
TOKENS = (
    *b"{{ , }},{% , %},{#,&a ,*a,<<: ,!!str ,- ,: ,',|,[,],{,},~,?,#,-,\\,%,0x,1e999,ctx.,output.,iter.parent.".split(
        b","
    ),
    *(b".__class__", b"range(10**9)", b'"', b"---\n", b"\n", b"\t", b">-\n", b"\xff", b"\x00"),
    *(b"\xe2\x80\xa8", b"\xc2\x85", b"\xf0\x9f\x98\x80"),
)
EXPRESSIONS = (
    *(
        "workload.a",
        "ctx.x.y",
        "iter.item",
        "output.data[0]",
        "output.ref",
        "_prev",
        "nope",
        "event.name == 'step.done'",
    ),
    *("output.status == 'error'", "a.b.c | default(1)", "range(3)", "keychain.k.v", "1 +", "x | nofilter", "items()"),
    *("ctx.items()", "true", "not false", "outcome.result.data", "args.x", "vars.y", "step.z", "[1, 2", "'text'"),
    *("loop_index", "start.data", "t.data"),
)
WORDS = (
    *"start end a t fetch http noop python postgres playbook retry jump continue parallel inclusive all null".split(),
    *"noetl.io/v2 Playbook ctx.a iter.b step.c_ref workload.x".split(),
    "",
    "x" * 300,
)


@lru_cache(maxsize=1)
def corpus() -> tuple[bytes, ...]:
    """Every playbook of the repository."""
    folders = (ROOT / "tests" / "playbooks", ROOT / "examples")
    return tuple(path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.yaml")))


def make_input(seed: int, number: int) -> tuple[bytes, dict[str, bool]]:
    """One input and the flags it is checked with."""
    chance = random.Random(f"{seed}:{number}")
    flags = {name: chance.random() < 0.3 for name in ("is_strict", "is_legacy", "is_upstream")}
    kind = chance.random()
    if kind < 0.55:
        return mutated(chance), flags
    if kind < 0.9:
        return grown(chance), flags
    return bytes(chance.randrange(256) for _ in range(chance.randrange(80))), flags


def mutated(chance: random.Random) -> bytes:
    data = bytearray(chance.choice(corpus()))
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        chance.choice((flip, insert, drop, copy, cut))(chance, data)
    return bytes(data)


def flip(chance: random.Random, data: bytearray) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def insert(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice(TOKENS)


def drop(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.choice((1, 2, 8, 40))]


def copy(chance: random.Random, data: bytearray) -> None:
    """A line of this or another playbook, somewhere else."""
    lines = chance.choice((bytes(data), chance.choice(corpus()))).split(b"\n")
    own = bytes(data).split(b"\n")
    own.insert(chance.randrange(len(own) + 1), chance.choice(lines))
    data[:] = b"\n".join(own)


def cut(chance: random.Random, data: bytearray) -> None:
    """Lines swapped: wrong order, wrong depth."""
    own = bytes(data).split(b"\n")
    one, other = chance.randrange(len(own)), chance.randrange(len(own))
    own[one], own[other] = own[other], own[one]
    data[:] = b"\n".join(own)


def grown(chance: random.Random) -> bytes:
    """A tree that follows the table of shapes most of the time, as YAML in flow style."""
    return flow(chance, "root", 0).encode()


def flow(chance: random.Random, name: str, depth: int) -> str:
    shape = SHAPES[name]
    if depth > 14 or chance.random() < 0.04:
        return scalar(chance)
    if name == "tool":
        return pick_tool(chance, depth)
    kind = chance.choice(shape.types or ("text", "mapping", "list"))
    if kind == "mapping":
        return flow_mapping(chance, name, depth)
    if kind == "list":
        item = shape.items or "anything"
        return "[" + ", ".join(flow(chance, item, depth + 1) for _ in range(chance.randrange(4))) + "]"
    if shape.choices and chance.random() < 0.9:
        return chance.choice(shape.choices)
    return scalar(chance)


def pick_tool(chance: random.Random, depth: int) -> str:
    if chance.random() < 0.4:
        return flow(chance, "task", depth + 1)
    items = []
    for _ in range(chance.randrange(1, 4)):
        word = chance.choice(("task", "task", "task", "labelled", "while", "choose"))
        items.append(pick_item(chance, word, depth + 1))
    return "[" + ", ".join(items) + "]"


def pick_item(chance: random.Random, word: str, depth: int) -> str:
    if word == "labelled":
        return "{" + chance.choice(("fetch", "t", "a")) + ": " + flow(chance, "task", depth) + "}"
    if word == "while":
        return "{while: {when: " + scalar(chance) + ", tool: " + flow(chance, "tool", depth) + "}}"
    if word == "choose":
        return "{choose: [{when: " + scalar(chance) + ", then: {tool: " + flow(chance, "tool", depth) + "}}]}"
    return flow(chance, "task", depth)


def flow_mapping(chance: random.Random, name: str, depth: int) -> str:
    shape = SHAPES[name]
    keys = {key: below for key, below in shape.keys.items() if key in shape.required or chance.random() < 0.4}
    for _ in range(chance.randrange(3) if shape.is_open else chance.random() < 0.05):
        keys[chance.choice(WORDS) or "k"] = shape.items or "anything"
    if name in ("task", "step", "then") and chance.random() < 0.15:
        keys[chance.choice(("args", "eval", "when", "set_ctx", "set_iter", "case", "expr", "output"))] = "anything"
    return "{" + ", ".join(f"{quoted(key)}: {flow(chance, below, depth + 1)}" for key, below in keys.items()) + "}"


def scalar(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.4:
        expression = chance.choice(EXPRESSIONS)
        if chance.random() < 0.2:
            expression += f" | {chance.choice(sorted(FILTERS))}"
        return quoted(f"{{{{ {expression} }}}}")
    if kind < 0.8:
        return quoted(chance.choice(WORDS))
    return chance.choice(("1", "0", "-1", "1.5", "true", "false", "null", "99999", "~", "2026-01-01"))


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
