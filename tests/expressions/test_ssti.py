"""Template injection (security.md row 1): payloads are refused or inert, and nothing is read from a foreign object."""

import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from noetl.expressions import EvaluationFault, TemplateSyntaxFault, parse

PLAIN = (dict, list, tuple, str, int, float, bool, type(None), range)
LEAK = re.compile(
    r"<class|<function|<built-in|<bound|<method|<module|object at 0x|<generator|canary|'__\w+__':|root:x:0"
)


class Secret:
    """Records every attribute that is read from it, and every operation asked of it that could tell something."""

    seen: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.value = "canary"
        self._private = "canary"

    def __getattribute__(self, name: str) -> Any:
        Secret.seen.append(name)
        return object.__getattribute__(self, name)

    def method(self) -> str:
        Secret.seen.append("method()")
        return "canary"

    def _told(self, *_: object) -> Any:
        Secret.seen.append("operation")
        return "canary"

    def __bool__(self) -> bool:
        return True  # truth may be asked of anything; it tells nothing

    __str__ = __repr__ = __format__ = __call__ = __getitem__ = __html__ = _told
    __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = __lt__ = __gt__ = __neg__ = __int__ = __float__ = __index__ = (
        _told
    )
    __iter__ = __len__ = __contains__ = keys = _told


def scope() -> dict[str, object]:
    return {"secret": Secret(), "ctx": {"secret": Secret(), "x": 1}, "x": "text", "xs": [Secret()]}


def corpus() -> list[str]:
    lines = (Path(__file__).parent / "ssti.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("# ")]


ROOTS = (
    "''",
    "[]",
    "{}",
    "()",
    "1",
    "1.5",
    "true",
    "none",
    "range(2)",
    "dict()",
    "x",
    "xs",
    "ctx",
    "secret",
    "ctx.secret",
    "xs[0]",
)
STYLES = (
    "{0}.{1}",
    "({0})['{1}']",
    '({0})["{1}"]',
    "({0})|attr('{1}')",
    "([{0}]|map(attribute='{1}')|first)",
    "([{0}]|map('attr', '{1}')|first)",
    "({0})['{1}'[:4] ~ '{1}'[4:]]",
    "({0})['{1}'|reverse|reverse]",
    "({0})[['{1}']|first]",
    "({0}).__getattribute__('{1}')",
    "({0})|attr(['{1}']|join)",
    "({0})['{2}']",
    "({0})|attr('{2}')",
)
CHAINS = (
    ("__class__",),
    ("__class__", "__mro__"),
    ("__class__", "__base__", "__subclasses__"),
    ("__init__", "__globals__"),
    ("__init__", "__globals__", "__builtins__"),
    ("__doc__",),
    ("__dict__",),
    ("format", "__func__"),
)
PLACES = ("x{{{{ {0} }}}}", "{{% if {0} %}}canary{{% endif %}}")


def variants() -> Iterator[str]:
    for root, style, chain in itertools.product(ROOTS, STYLES, CHAINS):
        expression = root if root.isalpha() or root[0] in "'[{" else f"({root})"
        for name in chain:
            hexed = "".join(f"\\x{ord(char):02x}" if char == "_" else char for char in name)
            expression = style.format(expression, name, hexed)
        yield from (place.format(expression) for place in PLACES)


def is_inert(value: object) -> bool:
    """Plain data all through, and nothing in it that tells about the process; or the very object that was handed in."""
    if type(value) is Secret:
        return True
    if type(value) not in PLAIN:
        return False
    if isinstance(value, dict):
        return all(is_inert(key) and is_inert(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_inert, value))
    return not isinstance(value, str) or not LEAK.search(value)


def result(source: str) -> object:
    """The value, or None where it was refused."""
    try:
        return parse(source).evaluate(scope())
    except EvaluationFault as fault:
        return "canary" if "canary" in fault.message else None
    except TemplateSyntaxFault:
        return None


def is_harmless(source: str) -> bool:
    Secret.seen.clear()
    value = result(source)
    if Secret.seen:
        return False
    shown = source if "{% raw %}" in source or "}}" not in source else ""
    return is_inert(value) or value == shown or value == re.sub(r"{%.*?%}", "", source)


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize("source", corpus())
def test_a_public_payload_is_refused_or_inert(source: str) -> None:
    assert is_harmless(source), (result(source), Secret.seen)


@pytest.mark.spec("TP-05")
def test_generated_variants_are_refused_or_inert() -> None:
    hits = [source for source in variants() if not is_harmless(source)]

    assert hits == []


@pytest.mark.spec("TP-05")
def test_the_corpus_has_at_least_three_hundred_payloads() -> None:
    assert len(set(corpus())) >= 300
    assert len(set(variants())) >= 3000


@pytest.mark.spec("TP-05")
def test_a_forged_class_is_not_believed() -> None:
    read: list[str] = []

    class Forged:
        __class__ = dict  # type: ignore[assignment]

        def __getattribute__(self, name: str) -> Any:
            read.append(name)
            raise AttributeError(name)

    for source in (
        "{{ f.a }}",
        "{{ f['a'] }}",
        "{{ f | items }}",
        "x{{ f }}",
        "{{ f.get('a') }}",
        "{{ [f] | map(attribute='a') }}",
    ):
        with contextlib.suppress(EvaluationFault):
            parse(source).evaluate({"f": Forged()})

    assert read == []
