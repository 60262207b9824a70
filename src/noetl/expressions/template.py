"""The whole way of an expression: text → `Template` (stages 1 to 3, at once) → value (stages 4 and 5, when first
asked).

`parse` keeps what it has parsed. A `Template` never changes; the functions built from its tree at the first
`evaluate` are kept with it, so checking a playbook builds none. `evaluate` reads the scope, makes a value, and leaves
no trace: the same scope gives the same value each time, and what comes out is never taken for a template again.
(TP-01, TP-07)

What needs Jinja2 is imported when the first template is read, and what builds functions when the first one is
evaluated: together they are a sixth of the start of a run that has no template.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Never, cast

from noetl.expressions.faults import EvaluationFault, Refusal, TemplateSyntaxFault
from noetl.expressions.limits import LIMITS, Limits
from noetl.expressions.run import Run
from noetl.expressions.spans import Call, Read, Use
from noetl.expressions.values import Value

if TYPE_CHECKING:
    from jinja2 import nodes

    from noetl.expressions.builder import Evaluate
    from noetl.expressions.facts import Facts
    from noetl.expressions.lexer import Tokens
    from noetl.expressions.programs import Execute

CACHED_MAX: Final = 2048
LIMIT_ERRORS: Final = (RecursionError, MemoryError, OverflowError)


class Template:
    """A template that was read, and the facts about it."""

    __slots__ = (
        "_body",
        "_local",
        "_pieces",
        "_program",
        "_tokens",
        "calls",
        "filters",
        "has_statements",
        "is_expression",
        "literal_text",
        "names",
        "reads",
        "source",
        "tests",
    )
    source: str
    is_expression: bool
    has_statements: bool
    literal_text: str
    names: frozenset[str]
    reads: tuple[Read, ...]
    filters: tuple[Use, ...]
    tests: tuple[Use, ...]
    calls: tuple[Call, ...]
    _tokens: Tokens
    _body: list[nodes.Node]
    _local: set[str]
    _program: Evaluate | None
    _pieces: Execute | None

    def __init__(self, tokens: Tokens, body: list[nodes.Node], facts: Facts) -> None:
        data = [mark for mark in tokens.marks if mark[1] == "data"]
        is_alone = tokens.variables == 1 and not tokens.blocks and not tokens.extras
        keep = object.__setattr__
        keep(self, "source", tokens.source)
        keep(self, "is_expression", is_alone and all(mark[2].isspace() for mark in data))
        keep(self, "has_statements", tokens.blocks > 0)
        keep(self, "literal_text", "".join([mark[2] for mark in data]))
        keep(self, "names", frozenset([read.name for read in facts.reads]))
        keep(self, "reads", tuple(facts.reads))
        keep(self, "filters", tuple(facts.filters))
        keep(self, "tests", tuple(facts.tests))
        keep(self, "calls", tuple(facts.calls))
        keep(self, "_tokens", tokens)
        keep(self, "_body", body)
        keep(self, "_local", facts.local)
        keep(self, "_program", None)
        keep(self, "_pieces", None)

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError("a Template does not change")

    def __repr__(self) -> str:
        return f"Template({self.source!r})"

    @property
    def expression(self) -> nodes.Expr | None:
        """The tree of a whole-value expression; for `decide` and its like inside this package."""
        if not self.is_expression:
            return None
        from jinja2.nodes import TemplateData

        children = cast("nodes.Output", self._body[0]).nodes
        return next(child for child in children if not isinstance(child, TemplateData))

    def evaluate(self, scope: Mapping[str, object], limits: Limits = LIMITS) -> object:
        """The value of this template in a scope; `EvaluationFault` is all it raises."""
        run = Run(scope, limits.work)
        if limits is not LIMITS:
            run.limits = limits
        try:
            return (self._program or self._build())(run)
        except Exception as error:
            raise _fault(self.source, error) from None

    def fragments(self, scope: Mapping[str, object], limits: Limits = LIMITS) -> tuple[str | Value, ...]:
        """The text of this template with each {{ }} kept apart as a `Value`, for what must not print values (SQL)."""
        run = Run(scope, limits.work)
        run.limits = limits
        pieces: list[Any] = []
        run.fragments = pieces
        run.names = {}
        try:
            (self._pieces or self._build_pieces())(run, pieces)
        except Exception as error:
            raise _fault(self.source, error) from None
        return tuple(pieces)

    def _build(self) -> Evaluate:
        from noetl.expressions.programs import text_program, value_program

        if self.expression is None:
            program = text_program(self._pieces or self._build_pieces())
        else:
            program = value_program(self._tokens, self._local, self.expression, has_statements=self.has_statements)
        object.__setattr__(self, "_program", program)
        return program

    def _build_pieces(self) -> Execute:
        from noetl.expressions.programs import pieces_program

        execute = pieces_program(self._tokens, self._local, self._body, has_statements=self.has_statements)
        object.__setattr__(self, "_pieces", execute)
        return execute


def _fault(source: str, error: Exception) -> EvaluationFault:
    """What went wrong, without the words of Python's own errors: they may repeat values."""
    if isinstance(error, Refusal):
        return EvaluationFault(error.message, source, error.offset, error.kind, error.names)
    if isinstance(error, LIMIT_ERRORS):
        return EvaluationFault("this template needs more than one evaluation may use", source, None, "limit")
    return EvaluationFault("this template cannot be evaluated with these values", source, None, "template")


def parse(source: str, source_chars_max: int = LIMITS.source_chars) -> Template:
    """Read a template; raises `TemplateSyntaxFault` and nothing else."""
    if len(source) > source_chars_max:
        raise TemplateSyntaxFault(
            f"a template may have {source_chars_max} characters; this has {len(source)}", source_chars_max, "length"
        )
    return _parse(source)


@lru_cache(CACHED_MAX)
def _parse(source: str) -> Template:
    from noetl.expressions.facts import collect
    from noetl.expressions.lexer import tokenize
    from noetl.expressions.parser import parse_tokens

    try:
        tokens = tokenize(source)
        body = parse_tokens(tokens)
        return Template(tokens, body, collect(tokens, body))
    except TemplateSyntaxFault:
        raise
    except Exception:  # Jinja2's parser may stumble in ways not met yet: what it cannot read is not a template
        raise TemplateSyntaxFault("this is not a template", 0) from None


def looks_like_template(text: str) -> bool:
    """Is there anything in this text that a template would act on?"""
    return "{{" in text or "{%" in text or "{#" in text
