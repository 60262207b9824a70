"""YAML text to nodes: the first stage.

Bytes come in; documents of nodes go out, with the faults met on the way. libyaml composes; types, tags, keys, merges
and bounds are ours. Whatever the bytes are, the answer is nodes or faults, never an exception. No file is opened here.

Bounds (security row 4): 1 MiB of text, 64 levels, 100 000 nodes with every alias counted as often as it is used. The
level is counted while libyaml composes, because its composer recurses and would end the process on a deep text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from noetl.dsl.aliases import Spans, merged, sizes_below, way_to_overflow
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence
from noetl.dsl.source import Place, Source

BYTES_MAX = 1024 * 1024
DEPTH_MAX = 64
NODES_MAX = 100_000
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

PLAIN, QUOTED, COLLECTION = "plain", "quoted", "collection"
OWN_TAGS = frozenset((PLAIN, QUOTED, COLLECTION))

INT = re.compile(r"[-+]?[0-9]+\Z")
OCTAL = re.compile(r"0o[0-7]+\Z")
HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
NOT_FINITE = re.compile(r"([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z")
NUMBER_STARTS = frozenset("-+.0123456789")
WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Fault(msgspec.Struct, frozen=True):
    """Something wrong with the text itself; a rule turns it into a finding."""

    fault: str  # not-utf8, not-yaml, unquoted-template, too-large, yaml-tag, duplicate-key, key-not-text,
    # number-kept-as-text, merge-not-mapping
    place: Place
    facts: dict[str, str]


class Reading(msgspec.Struct):
    """All that one text held."""

    source: Source
    documents: list[AnyNode]
    faults: list[Fault]
    shared: Spans  # what aliases repeat, from index to index: one text with several uses


class _TooMuch(Exception):
    """A bound was passed: which, and on what line and column."""

    def __init__(self, bound: str, line: int = 1, column: int = 1) -> None:
        super().__init__(bound)
        self.bound, self.line, self.column = bound, line, column


class _Types:
    """The part of a PyYAML loader that names types: ours only marks what is plain, and counts."""

    def start_counting(self) -> None:
        self.depth = 0
        self.count = 0

    def descend_resolver(self, parent: object, index: object) -> None:
        self.depth += 1
        self.count += 1
        if self.depth > DEPTH_MAX or self.count > NODES_MAX:
            self.refuse(parent)

    def refuse(self, parent: object) -> None:
        mark = parent.start_mark if isinstance(parent, yaml.Node) else None
        bound = "depth" if self.depth > DEPTH_MAX else "nodes"
        raise _TooMuch(bound, mark.line + 1, mark.column + 1) if mark else _TooMuch(bound)

    def ascend_resolver(self) -> None:
        self.depth -= 1

    def resolve(self, kind: type[yaml.Node], value: object, implicit: object) -> str:
        if kind is not yaml.ScalarNode:
            return COLLECTION
        return PLAIN if isinstance(implicit, tuple) and implicit[0] else QUOTED


if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class _Loader(CParser, _Types):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            self.start_counting()

else:  # pragma: no cover - a build of PyYAML without libyaml: the same answers, more slowly

    class _Loader(  # type: ignore[no-redef]
        yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _Types
    ):
        def __init__(self, text: str) -> None:
            yaml.reader.Reader.__init__(self, text)
            yaml.scanner.Scanner.__init__(self)
            yaml.parser.Parser.__init__(self)
            yaml.composer.Composer.__init__(self)
            self.start_counting()


def read(data: bytes | str, name: str) -> Reading:
    """Read a text into documents; what cannot be read is in the faults."""
    source, fault = decoded(data, name)
    if fault:
        return Reading(source, [], [fault], [])
    return _Reader(source).read()


def decoded(data: bytes | str, name: str) -> tuple[Source, Fault | None]:
    """The text of the bytes, without a byte order mark."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > BYTES_MAX:
        place = Place(name, 1, 1, 1, 2)
        return Source(name, ""), Fault("too-large", place, {"bound": "bytes", "found": f"{len(raw):,}"})
    try:
        return Source(name, raw.decode("utf-8").removeprefix("\ufeff")), None
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        source = Source(name, raw.decode("utf-8", "replace"))
        place = source.place(len(before), len(before) + 1)
        return source, Fault("not-utf8", place, {"byte": f"0x{raw[error.start]:02x}"})


class Trace(msgspec.Struct, frozen=True):
    """One event of the parser: what begins, ends or stands at these characters. For those who rewrite the text."""

    kind: str  # document, mapping, sequence, end, scalar, alias
    start: int
    end: int
    anchor: str = ""
    style: str = ""  # of a scalar: '' plain, ' or " quoted, | literal, > folded
    is_flow: bool = False


def trace(text: str) -> Iterator[Trace]:
    """The events of a text that `read` found no fault in."""
    loader = _Loader(text)
    try:
        while loader.check_event():
            if found := traced(loader.get_event()):
                yield found
    finally:
        loader.dispose()


def traced(event: yaml.Event | None) -> Trace | None:
    if event is None or event.start_mark is None or event.end_mark is None:
        return None
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, yaml.ScalarEvent):
        return Trace("scalar", start, end, event.anchor or "", event.style or "")
    if isinstance(event, yaml.AliasEvent):
        return Trace("alias", start, end, event.anchor or "")
    if isinstance(event, yaml.MappingStartEvent):
        return Trace("mapping", start, end, event.anchor or "", is_flow=bool(event.flow_style))
    if isinstance(event, yaml.SequenceStartEvent):
        return Trace("sequence", start, end, event.anchor or "", is_flow=bool(event.flow_style))
    if isinstance(event, yaml.DocumentStartEvent):
        return Trace("document", start, end)
    return Trace("end", start, end) if isinstance(event, yaml.CollectionEndEvent) else None


class _Reader:
    """One reading on its way: composed by libyaml, turned into our nodes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Fault] = []
        self.open: dict[int, yaml.Node] = {}  # collections being converted: to meet one again is an alias to itself
        self.count = 0
        self.has_aliases = "*" in source.text  # without one nothing is met twice
        self.met: set[int] = set()
        self.shared: set[tuple[int, int]] = set()

    def read(self) -> Reading:
        documents: list[AnyNode] = []
        try:
            documents.extend(self.document(composed) for composed in self.compose())
        except yaml.MarkedYAMLError as error:
            self.faults.append(self.syntax_fault(error))
        except yaml.reader.ReaderError as error:
            self.faults.append(self.character_fault(error))
        except _TooMuch as error:
            self.faults.append(self.bound_fault(error))
        except (ValueError, RecursionError) as error:
            self.faults.append(Fault("not-yaml", self.source.place(0, 1), {"problem": str(error)}))
        return Reading(self.source, documents, self.faults, merged(self.shared))

    def document(self, composed: yaml.Node) -> AnyNode:
        if self.has_aliases:
            self.refuse_bomb(composed)
        return self.convert(composed)

    def refuse_bomb(self, composed: yaml.Node) -> None:
        """Refuse a document that aliases make too large, before any of it is made."""
        sizes: dict[int, int] = {}
        if self.count + sizes_below(composed, sizes) > NODES_MAX:
            way = way_to_overflow(composed, sizes, NODES_MAX - self.count)
            self.open = {id(node): node for node in way[:-1]}
            raise _TooMuch("nodes", *self.before_aliases(way[-1]))

    def compose(self) -> Iterator[yaml.Node]:
        loader = _Loader(self.source.text)
        try:
            while loader.check_node() and (node := loader.get_node()):
                yield node
        finally:
            loader.dispose()

    def syntax_fault(self, error: yaml.MarkedYAMLError) -> Fault:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        facts = {"problem": error.problem or "not valid YAML"}
        if error.context_mark:
            begin = error.context_mark
            facts |= {"context": error.context or "", "line": f"{begin.line + 1}", "column": f"{begin.column + 1}"}
        return Fault("not-yaml", Place(self.source.name, line, column, line, column + 1), facts)

    def character_fault(self, error: yaml.reader.ReaderError) -> Fault:
        """A character that YAML does not allow; the error's own position counts bytes or characters, so look for it."""
        character = error.character if isinstance(error.character, int) else ord(error.character)
        at = max(self.source.text.find(chr(character)), 0)
        facts = {"problem": error.reason, "character": f"U+{character:04X}"}
        return Fault("not-yaml", self.source.place(at, at + 1), facts)

    def bound_fault(self, error: _TooMuch) -> Fault:
        place = Place(self.source.name, error.line, error.column, error.line, error.column + 1)
        return Fault("too-large", place, {"bound": error.bound})

    def convert(self, node: yaml.Node) -> AnyNode:
        self.count += 1
        if self.count > NODES_MAX:
            raise _TooMuch("nodes", *self.before_aliases(node))
        if node.tag not in OWN_TAGS:
            self.fault("yaml-tag", node, tag=node.tag)
        if self.has_aliases:
            self.meet(node)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        return self.collection(node)

    def meet(self, node: yaml.Node) -> None:
        """Note what is converted a second time: an alias led to it."""
        if id(node) in self.met:
            self.shared.add((node.start_mark.index, node.end_mark.index))
        self.met.add(id(node))

    def collection(self, node: yaml.Node) -> AnyNode:
        if id(node) in self.open:
            raise _TooMuch("cycle", node.start_mark.line + 1, node.start_mark.column + 1)
        if len(self.open) >= DEPTH_MAX:
            raise _TooMuch("depth", node.start_mark.line + 1, node.start_mark.column + 1)
        self.open[id(node)] = node
        try:
            if isinstance(node, yaml.MappingNode):
                return self.unquoted_template(node) or self.mapping(node)
            return self.sequence(node)
        finally:
            self.open.pop(id(node), None)

    def before_aliases(self, node: yaml.Node) -> tuple[int, int]:
        """Where the author is when a value is converted: an alias leads to lines above, and what counts is its user."""
        at = node.start_mark
        for inner, outer in zip([*self.open.values(), node][1:], self.open.values(), strict=True):
            if inner.start_mark.index < outer.start_mark.index:
                at = outer.start_mark
                break
        return at.line + 1, at.column + 1

    def scalar(self, node: yaml.ScalarNode) -> Scalar:
        start, end = node.start_mark, node.end_mark
        text: str = node.value
        value = self.typed(node, text) if node.tag == PLAIN else text
        return Scalar(
            source=self.source,
            line=start.line + 1,
            column=start.column + 1,
            end_line=end.line + 1,
            end_column=end.column + 1,
            text=text,
            value=value,
            style="" if node.style is None else node.style,
        )

    def typed(self, node: yaml.ScalarNode, text: str) -> str | int | float | bool | None:
        if text in WORDS:
            return WORDS[text]
        if text[0] not in NUMBER_STARTS:
            return text
        value = number(text)
        if value is None:
            return text
        if isinstance(value, str):
            self.fault("number-kept-as-text", node, text=text)
        return value

    def sequence(self, node: yaml.Node) -> Sequence:
        return Sequence(**self.span(node), items=[self.convert(item) for item in node.value])

    def mapping(self, node: yaml.MappingNode) -> Mapping:
        entries: dict[str, Entry] = {}
        merged: list[tuple[yaml.Node, yaml.Node]] = []
        for key_node, value_node in node.value:
            if key_node.tag == PLAIN and key_node.value == "<<":
                if merged:
                    self.fault("duplicate-key", key_node, key="<<", line=str(merged[0][0].start_mark.line + 1))
                merged.append((key_node, value_node))
            else:
                self.add_entry(entries, key_node, value_node)
        for key_node, value_node in merged:
            self.merge(entries, key_node, value_node)
        return Mapping(**self.span(node), entries=entries)

    def unquoted_template(self, node: yaml.MappingNode) -> Scalar | None:
        """`url: {{ x }}`: a mapping in a mapping to YAML, but the author means a text; it is read as that text."""
        first = node.value[0][0] if node.flow_style and node.value else None
        if not isinstance(first, yaml.MappingNode) or not first.flow_style:
            return None
        span = self.span(node)
        start, end = node.start_mark, node.end_mark
        text = self.source.text[
            self.source.index(start.line + 1, start.column + 1) : self.source.index(end.line + 1, end.column + 1)
        ]
        if not (text.startswith("{{") and text.endswith("}}")):
            return None
        self.fault("unquoted-template", node)
        return Scalar(**span, text=text, value=text)

    def add_entry(self, entries: dict[str, Entry], key_node: yaml.Node, value_node: yaml.Node) -> None:
        value = self.convert(value_node)
        if not isinstance(key_node, yaml.ScalarNode):
            self.fault("key-not-text", key_node, found="a list or a mapping")
            return
        key = self.scalar(key_node)
        if not isinstance(key.value, str):
            self.fault("key-not-text", key_node, key=key.text)
        first = entries.get(key.text)
        if first:
            self.fault("duplicate-key", key_node, key=key.text, line=str(first.key.line))
            return
        entries[key.text] = Entry(key, value)

    def merge(self, entries: dict[str, Entry], key_node: yaml.Node, value_node: yaml.Node) -> None:
        """`<<: *anchor`: the keys that are not there yet; of several mappings the first one wins."""
        value = self.convert(value_node)
        for mapping in value.items if isinstance(value, Sequence) else [value]:
            if not isinstance(mapping, Mapping):
                self.fault("merge-not-mapping", key_node)
                continue
            for name, entry in mapping.entries.items():
                entries.setdefault(name, entry)

    def span(self, node: yaml.Node) -> dict[str, Any]:
        start, end = node.start_mark, node.end_mark
        return {
            "source": self.source,
            "line": start.line + 1,
            "column": start.column + 1,
            "end_line": end.line + 1,
            "end_column": end.column + 1,
        }

    def fault(self, fault: str, node: yaml.Node, **facts: str) -> None:
        start, end = node.start_mark, node.end_mark
        place = Place(self.source.name, start.line + 1, start.column + 1, end.line + 1, end.column + 1)
        self.faults.append(Fault(fault, place, facts))


def number(text: str) -> int | float | str | None:
    """The number a plain text is by the core schema; the text itself where no such number fits; None for other text."""
    base = 10 if INT.match(text) else 8 if OCTAL.match(text) else 16 if HEX.match(text) else 0
    if base:
        value = int(text.replace("0o", "", 1) if base == 8 else text, base) if len(text) < 80 else INT_MAX + 1
        return value if INT_MIN <= value <= INT_MAX else text
    if FLOAT.match(text):
        found = float(text)
        return found if abs(found) != float("inf") else text
    return text if NOT_FINITE.match(text) else None
