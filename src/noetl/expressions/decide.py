"""Facts about a whole-value expression without evaluating it: is it a constant, and is it true when only some paths
are known?

The checker asks this to find arcs that can never fire and rules that never match. Three-valued logic: True, False, or
None for "depends on what is not known". Sound, not complete: an answer of True or False holds for every value of the
unknown paths for which the expression can be evaluated at all. The tree is walked by `partial_values.py`, imported with
the first expression that is asked about: it needs Jinja2, and a playbook without templates does not.
"""

from collections.abc import Mapping
from itertools import product
from typing import Final, cast

from noetl.expressions.template import Template
from noetl.expressions.truth import truth_of
from noetl.expressions.values import MISSING, is_undefined

CASES_MAX: Final = 256
Path = tuple[str | int, ...]
Known = Mapping[Path, object]


class OneOf:
    """Stands for a value known to be one of several."""

    __slots__ = ("values",)

    def __init__(self, values: frozenset[object] | set[object]) -> None:
        self.values = frozenset(values)

    def __repr__(self) -> str:
        return f"OneOf({set(self.values)!r})"


class SomeMapping:
    """Stands for a mapping that is not empty and of which nothing else is known; it equals no text, number or none."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, str | int | float) or is_undefined(other):
            return False
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


def constant(template: Template) -> tuple[bool, object]:
    """(True, value) if the template is a literal, or text without any {{ }}; else (False, None)."""
    if template.expression is not None:
        from noetl.expressions.partial_values import value_of

        value = value_of(template.expression, {})
        return (False, None) if value is MISSING or is_undefined(value) else (True, value)
    is_text = not template.has_statements and "{{" not in template.source and "{#" not in template.source
    return (True, template.source) if is_text else (False, None)


def decide(template: Template, known: Mapping[tuple[str, ...], object]) -> bool | None:
    """The truth of a condition when only the `known` paths are known; None if it depends on others."""
    is_constant, value = constant(template)
    if is_constant:
        return truth_of(value)
    if template.expression is None:
        return None
    from noetl.expressions.partial_values import decided

    answers = {decided(template.expression, case) for case in _cases(template, cast(Known, known))}
    return answers.pop() if len(answers) == 1 else None


def _cases(template: Template, known: Known) -> list[Known]:
    """One mapping of known paths for each way to choose from every OneOf that the template reads."""
    paths = {read.path for read in template.reads}
    open_ = [
        path for path, value in known.items() if isinstance(value, OneOf) and any(p[: len(path)] == path for p in paths)
    ]
    settled = {path: value for path, value in known.items() if not isinstance(value, OneOf)}
    choices = [list(value.values) for path in open_ if isinstance(value := known[path], OneOf)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if not 0 < count <= CASES_MAX:
        return [settled]
    return [{**settled, **dict(zip(open_, chosen, strict=True))} for chosen in product(*choices)]
