"""The templates of a document, for dialects that spell names differently; texts handed to a tool as they are (code) are
left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from noetl.dsl.dialects.tree import Key, Node, Respelling, Tree, is_labelled, pipelines
from noetl.dsl.kinds import Kinds
from noetl.expressions import TemplateSyntaxFault, looks_like_template, parse, rename

Spot = tuple[Node, Key, str]  # a collection, a key of it, and the text there
Renames = Mapping[tuple[str, ...], str]
Find = Callable[[str], Sequence[Respelling]]


class Token:
    """A token of a template: its type and value as Jinja2 has them, and where it stands."""

    __slots__ = ("end", "kind", "offset", "value")

    def __init__(self, offset: int, kind: str, value: object, end: int) -> None:
        self.offset, self.kind, self.value, self.end = offset, kind, value, end

    def is_word(self, *words: str) -> bool:
        return self.kind == "name" and self.value in words


def bodies(tree: Tree, tool: Node) -> list[Node]:
    """The task mappings of a pipeline, whether they are labelled or named."""
    items = tree.items(tool) if tree.is_list(tool) else [tool]
    found = [tree.get(item, tree.keys(item)[0]) if is_labelled(tree, item) else item for item in items]
    return [body for body in found if tree.is_mapping(body)]


def workbook_tasks(tree: Tree, root: Node) -> list[Node]:
    workbook = tree.get(root, "workbook")
    found = [tree.get(workbook, name) for name in tree.keys(workbook)]
    return [task for task in found if tree.is_mapping(task)]


def task_texts(tree: Tree, tasks: Iterable[Node], kinds: Kinds, stops: frozenset[int] = frozenset()) -> Iterator[Spot]:
    """Every template of these tasks; what lies below a stop is left out."""
    for task in tasks:
        kind = kinds.get(str(tree.value(tree.get(task, "kind"))))
        verbatim = frozenset(field.name for field in kind.fields if not field.is_template) if kind else frozenset()
        yield from texts_below(tree, task, verbatim | {"input"}, stops)
        yield from texts_below(tree, tree.get(task, "input"), verbatim, stops)


def step_texts(tree: Tree, step: Node, kinds: Kinds) -> Iterator[Spot]:
    """Every template of a step."""
    tools = pipelines(tree, step)
    stops = frozenset(map(id, tools))
    yield from texts_below(tree, step, frozenset(), stops)
    for tool in tools:
        yield from task_texts(tree, bodies(tree, tool), kinds, stops)


def texts_below(tree: Tree, parent: Node, skip: frozenset[str], stops: frozenset[int]) -> Iterator[Spot]:
    """Every template below a node; `skip` names keys of the top, `stops` are ids of nodes that are left out."""
    keys: list[Key] = [key for key in tree.keys(parent) if key not in skip]
    keys.extend(range(len(tree.items(parent))))
    for key in keys:
        child = tree.get(parent, key)
        value = tree.value(child)
        if isinstance(value, str):
            if looks_like_template(value):
                yield parent, key, value
        elif id(child) not in stops:
            yield from texts_below(tree, child, frozenset(), stops)


def respell_all(tree: Tree, spots: Iterable[Spot], find: Find, mark: Callable[[str], str]) -> None:
    """Respell what `find` finds in each template, and mark it by the name that `mark` has for the old spelling."""
    for parent, key, text in list(spots):
        try:
            found = find(text)
        except TemplateSyntaxFault:
            continue
        for one in found:
            old = text[one.offset : one.offset + one.length]
            tree.mark_text(mark(old), parent, key, one, old=old, new=one.text)
        if found:
            tree.respell(parent, key, found)


def renamed(text: str, names: Renames) -> list[Respelling]:
    """The reads of a template that have another name."""
    if not any(path[0] in text for path in names):
        return []
    return [Respelling(edit.offset, edit.length, edit.text) for edit in rename(text, names)[1]]


def tokens(text: str) -> list[Token]:
    """The tokens of a template."""
    from noetl.expressions.lexer import tokenize  # it needs Jinja2, which a playbook without templates does not

    found = tokenize(text)
    pairs = zip(found.marks, found.ends, strict=True)
    return [Token(mark[0], mark[1], mark[2], end) for mark, end in pairs]


def quoted_like(text: str, token: Token, value: str) -> Respelling:
    """Another word in the quotes of a text."""
    quote = text[token.offset]
    return Respelling(token.offset, token.end - token.offset, f"{quote}{value}{quote}")


def reads_of(text: str, *path: str) -> list[tuple[int, int]]:
    """Where a template reads a path, or something below it: the span of the path alone."""
    found = [read for read in parse(text).reads if read.path[: len(path)] == path]
    return [(read.offset, read.parts[len(path) - 2].end) for read in found]
