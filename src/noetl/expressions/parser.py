"""Stage 2 of an expression: tokens → the tree of nodes that Jinja2's parser makes.

The grammar is Jinja2's, so that an author's knowledge and every book about Jinja2 holds. What we leave out is refused
here, in words: other templates (include, import, extends, block), macros, autoescape, namespaces, recursive loops.
Jinja2 never generates or runs code for us: `Language` is its immutable sandbox with nothing in it, and serves the
parser only.

In: `Tokens`. Out: the list of Jinja2 nodes, no deeper than `DEPTH_MAX`, or `TemplateSyntaxFault`.
"""

from typing import Final, NoReturn

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from noetl.expressions.faults import TemplateSyntaxFault
from noetl.expressions.lexer import Mark, Tokens, tokenize
from noetl.expressions.limits import DEPTH_MAX

OTHER_TEMPLATES: Final = "a template stands alone and cannot use others"
REFUSED_TAGS: Final = {
    "include": OTHER_TEMPLATES,
    "import": OTHER_TEMPLATES,
    "from": OTHER_TEMPLATES,
    "extends": OTHER_TEMPLATES,
    "block": OTHER_TEMPLATES,
    "macro": "a playbook's templates have no macros",
    "call": "a playbook's templates have no macros",
    "autoescape": "values are never escaped unasked; use | escape",
}


class Stream(TokenStream):
    """Jinja2's token stream over a list that is already there."""

    def __init__(self, tokens: Tokens) -> None:
        self._end = Mark(len(tokens.source), "eof", "")
        super().__init__(iter(tokens.marks), None, None)

    def __next__(self) -> Mark:
        before = self.current
        self.current = self._pushed.popleft() if self._pushed else next(self._iter, self._end)
        return before  # type: ignore[return-value]  # Jinja2 declares Token; ours are all Marks

    def skip_if(self, expr: str) -> bool:
        """Step over the current token if it matches."""
        if self.current.test(expr):
            next(self)
            return True
        return False


class _Parser(Parser):
    def parse_statement(self) -> nodes.Node | list[nodes.Node]:
        token = self.stream.current
        if token.type == "name" and token.value in REFUSED_TAGS:
            self.fail(f"{{% {token.value} %}} cannot be used: {REFUSED_TAGS[token.value]}", token.lineno)
        return super().parse_statement()


class Language(ImmutableSandboxedEnvironment):
    """The sandbox with nothing in it; it lends Jinja2's parser its settings and cannot compile."""

    def __init__(self) -> None:
        super().__init__(keep_trailing_newline=True)
        self.filters.clear()
        self.tests.clear()
        self.globals.clear()

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        return Stream(tokenize(source) if source else NOTHING)

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        raise NotImplementedError("expressions are not compiled by Jinja2")


NOTHING: Final = Tokens("")
LANGUAGE: Final = Language()


def parse_tokens(tokens: Tokens) -> list[nodes.Node]:
    """Parse one source."""
    parser = _Parser(LANGUAGE, "")
    parser.stream = Stream(tokens)
    try:
        body = parser.subparse()
        _check(body)
    except TemplateSyntaxError as error:
        raise TemplateSyntaxFault(_sentence(error.message or "this is not a template"), error.lineno) from None
    except RecursionError:
        _too_deep(0)
    return body


def _sentence(message: str) -> str:
    return message.replace("end of print statement", "}}").replace("end of statement block", "%}").rstrip(".")


def _too_deep(offset: int) -> NoReturn:
    raise TemplateSyntaxFault(f"this template is nested more than {DEPTH_MAX} levels deep", offset) from None


def children(node: nodes.Node) -> list[nodes.Node]:
    """The nodes right below one; several times faster than Jinja2's own way."""
    found: list[nodes.Node] = []
    for field in node.fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, nodes.Node)]
        elif isinstance(value, nodes.Node):
            found.append(value)
    return found


def _check(body: list[nodes.Node]) -> None:
    """Bound the depth without recursion, and refuse the two forms that only the finished tree shows."""
    level, depth = body, 0
    while level:
        depth += 1
        if depth > DEPTH_MAX:
            _too_deep(level[0].lineno or 0)
        below: list[nodes.Node] = []
        for node in level:
            kind = type(node)
            if kind is nodes.Const or kind is nodes.Name or kind is nodes.TemplateData:
                continue
            if kind is nodes.NSRef:
                raise TemplateSyntaxFault("{% set %} gives a value to a name, not to a part of one", node.lineno)
            if kind is nodes.For and node.recursive:  # type: ignore[attr-defined]  # `kind` is known, mypy cannot see it
                raise TemplateSyntaxFault("a recursive {% for %} cannot be used", node.lineno)
            below += children(node)
        level = below
