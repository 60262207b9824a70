"""Stage 4 of an expression: a tree of nodes → a function of a `Run`. This file holds what the build_*.py files share.

Each node becomes a small closure over the closures of its children. Compared with Jinja2's generated Python this
needs no `exec`, costs microseconds instead of a millisecond to make, keeps the offset of every node for faults, and
is the sandbox by construction: what is not built here cannot happen. Functions and methods are never values; they
exist only where they are called.

In: nodes from `parser.py`, spans from `Tokens`. Out: functions. A refusal while building (an unknown filter) is the
template's fault.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import nodes

from noetl.expressions.faults import Refusal
from noetl.expressions.lexer import Tokens
from noetl.expressions.run import Run

Evaluate = Callable[[Run], Any]
Build = Callable[["Builder", Any], Evaluate]
# What Python objects to in ways that we have no better words for; its own words may repeat values, so they are dropped.
OBJECTIONS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
UNFIT = "these values cannot be used this way"


class Builder:
    """Builds the functions of one template."""

    def __init__(
        self, tokens: Tokens, local: set[str], has_statements: bool, table: Mapping[type[nodes.Node], Build]
    ) -> None:
        self.source = tokens.source
        self.closes = tokens.closes
        self.local = local  # names that the template gives values
        self.has_statements = has_statements
        self.table = table

    def expression(self, node: nodes.Node) -> Evaluate:
        """The function of one expression node."""
        return self.table[type(node)](self, node)

    def expressions(self, found: list[Any]) -> list[Evaluate]:
        """The functions of several."""
        return [self.expression(node) for node in found]


def placed(offset: int, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """Call a function so that its refusal knows the place, and Python's objections are put in our words."""
    try:
        return function(*arguments, **options)
    except Refusal as refusal:
        refusal.place(offset)
        raise
    except OverflowError:
        raise Refusal("limit", "this number is too large", offset) from None
    except OBJECTIONS:
        raise Refusal("type", UNFIT, offset) from None
