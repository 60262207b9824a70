"""The whole of stage 4 of an expression: the tree of a template → the one function that evaluates it.

In: a tree and its tokens. Out: a function of a `Run` that gives the value, or one that adds pieces of text to a list.
Imported when the first template is evaluated; see `template.py`.
"""

from typing import Final

from jinja2 import nodes

from noetl.expressions.build_calls import CALLS
from noetl.expressions.build_operations import OPERATIONS
from noetl.expressions.build_reads import READS
from noetl.expressions.build_statements import Execute, block
from noetl.expressions.builder import Builder, Evaluate
from noetl.expressions.faults import Refusal
from noetl.expressions.lexer import Tokens
from noetl.expressions.printing import settled
from noetl.expressions.run import Run, Undefined

__all__ = ["Execute", "pieces_program", "text_program", "value_program"]

TABLE: Final = {**READS, **OPERATIONS, **CALLS}


def value_program(tokens: Tokens, local: set[str], expression: nodes.Expr, *, has_statements: bool) -> Evaluate:
    """A whole value: undefined is None, at the top and inside what was made."""
    inner = Builder(tokens, local, has_statements, TABLE).expression(expression)
    may_hide = not _is_path(expression)

    def program(run: Run) -> object:
        value = inner(run)
        if run.is_loose:
            return settled(run, value) if may_hide else None if type(value) is Undefined else value
        return value

    return program


def _is_path(node: nodes.Node) -> bool:
    """Does it only read the scope, and so make nothing that undefined could hide in?"""
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
    return isinstance(node, nodes.Name)


def pieces_program(tokens: Tokens, local: set[str], body: list[nodes.Node], *, has_statements: bool) -> Execute:
    """The pieces of a text."""
    return block(Builder(tokens, local, has_statements, TABLE), body)


def text_program(execute: Execute) -> Evaluate:
    """Text, of at most `output_chars`."""

    def program(run: Run) -> str:
        pieces: list[str] = []
        run.names = {}
        execute(run, pieces)
        text = "".join(pieces)
        if len(text) > run.limits.output_chars:
            raise Refusal("limit", f"a template may give {run.limits.output_chars} characters; this gives more")
        return text

    return program
