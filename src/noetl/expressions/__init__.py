"""Expressions: the {{ }} and {% %} of a playbook. Text and a scope come in, a value comes out; no file, clock or
network is touched.

The way of an expression, one file a stage:

    lexer.py       text → tokens that know their character offset
    parser.py      tokens → Jinja2's tree, by Jinja2's parser
    facts.py       tree → what is read, filtered, tested, called, and where
    builder.py     tree → functions (build_reads, build_operations, build_calls, build_statements)
    programs.py    tree → the one function of a template
    template.py    all of it: parse, Template, evaluate
    decide.py      truth while only some names are known (partial_values.py)
    rename.py      the same template with other names

and what an evaluation works with: run.py (its state), values.py (what may be read: the sandbox), printing.py,
operators.py, methods.py, loop.py, predicates.py, filters*.py, bounded by limits.py; failures in faults.py.

The grammar and the meaning are Jinja2's (a test compares the two), with these differences, each asked for by a
requirement: a dot on a mapping reads a key, never a method (TP-08); an undefined value chains and is false but is never
printed (TP-07); a text that is exactly one {{ }} gives the value itself (TP-01); names, methods and filters are allow
lists, all work is bounded and whole numbers have 64 bits (TP-05). Jinja2's own compiler and runtime are not used: its
sandbox around generated Python has been escaped about once a year, whereas here nothing exists that was not put in.

Importing this package imports no Jinja2: that comes with the first template. `filters.py`, `methods.py` and the stages
are imported from their own files by the few who ask about them.
"""

from noetl.expressions.decide import OneOf, SomeMapping, constant, decide
from noetl.expressions.faults import EvaluationFault, TemplateSyntaxFault
from noetl.expressions.limits import LIMITS, Limits
from noetl.expressions.rename import Edit, rename
from noetl.expressions.spans import FUNCTIONS, Call, Part, Read, Use
from noetl.expressions.template import Template, looks_like_template, parse
from noetl.expressions.truth import truth_of
from noetl.expressions.values import STORED, Identifier, Payload, RawSql, Stored, Value

__all__ = [
    "FUNCTIONS",
    "LIMITS",
    "STORED",
    "Call",
    "Edit",
    "EvaluationFault",
    "Identifier",
    "Limits",
    "OneOf",
    "Part",
    "Payload",
    "RawSql",
    "Read",
    "SomeMapping",
    "Stored",
    "Template",
    "TemplateSyntaxFault",
    "Use",
    "Value",
    "constant",
    "decide",
    "looks_like_template",
    "parse",
    "rename",
    "truth_of",
]
