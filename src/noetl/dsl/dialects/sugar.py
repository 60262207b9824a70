"""choose, while, until: sugar that becomes canonical tasks with stable labels (TK-17).

    - name: route                       - name: pages                    - name: poll
      choose:                             while:                           until:
        - when: "{{ … }}"                   when: "{{ iter.has_more }}"      when: "{{ output.data.ready }}"
          then: {tool: [ … ]}               tool: [ … ]                      tool: [ … ]
        - else: {then: {tool: [ … ]}}

Each becomes noop tasks around its bodies, and every body ends at a merge point, so that none falls into the next:

| sugar | label | what it does |
|---|---|---|
| choose | `route` | jumps to the first task of the first case whose `when` holds, else to `route_end` |
| | `route_1_end`, `route_2_end`, … | after each body: jump to `route_end` |
| while | `pages` | `when` holds: on; else jump to `pages_end` · `pages_again`: jump to `pages` |
| until | `poll` | where the body begins · `poll_check`: `when` holds: on; else jump to `poll` |
| all | `…_end` | the merge point |

A generated task runs no tool: `output` and `_prev` stay those of the task before (`Task.is_transparent`), so that a
condition reads what the body gave, and bodies hand their data through. What each generated label was made from is kept
in the debug map. Tasks that the author left unnamed beside sugar keep the label of their own place in the list.
"""

from __future__ import annotations

from noetl.dsl.dialects.tree import Node, Tree, pipelines, steps

WORDS = ("choose", "while", "until")
DebugMap = dict[str, dict[str, str]]


def expand(tree: Tree, root: Node) -> DebugMap:
    """Replace sugar by canonical tasks, in place; gives step → generated label → what it was made from."""
    debug_map: DebugMap = {}
    for step in steps(tree, root):
        made: dict[str, str] = {}
        for tool in pipelines(tree, step):
            if tree.is_list(tool):
                expand_list(tree, tool, made)
        if made:
            debug_map[str(tree.value(tree.get(step, "step")))] = made
    return debug_map


def expand_list(tree: Tree, tool: Node, made: dict[str, str]) -> None:
    """Expand the items of one pipeline, from the end so that indexes stay right."""
    if any(word in tree.keys(item) for item in tree.items(tool) for word in WORDS):
        name_unnamed(tree, tool)
    for index in reversed(range(len(tree.items(tool)))):
        item = tree.items(tool)[index]
        word = next((word for word in WORDS if word in tree.keys(item)), None)
        if word is None or not is_whole(tree, item, word):
            continue
        name = str(tree.value(tree.get(item, "name")) or f"{word}_{index}")
        tasks = _Expansion(tree, item, name, made).tasks(word)
        tree.put_item(tool, index, tasks[0])
        for offset, task in enumerate(tasks[1:], start=1):
            tree.add_item(tool, task, at=index + offset)


def name_unnamed(tree: Tree, tool: Node) -> None:
    """Give tasks without a name the label of the author's own list (TK-01), before sugar makes the list longer."""
    for index, item in enumerate(tree.items(tool)):
        if "kind" in tree.keys(item) and "name" not in tree.keys(item):
            tree.put(item, "name", tree.scalar(f"task_{index}", item), first=True)


def is_whole(tree: Tree, item: Node, word: str) -> bool:
    """Whether sugar has all its parts and no others; what has not is left for the rule that says so (NL318)."""
    body = tree.get(item, word)
    if not set(tree.keys(item)) <= {"name", "desc", word}:
        return False
    if word != "choose":
        return set(tree.keys(body)) == {"when", "tool"} and is_pipeline(tree, tree.get(body, "tool"))
    cases = tree.items(body)
    has_cases = bool(cases) and all(is_pipeline(tree, case_body(tree, case)) for case in cases)
    return has_cases and not any("else" in tree.keys(case) for case in cases[:-1])


def is_pipeline(tree: Tree, tool: Node) -> bool:
    """Whether a body is a task or a list of tasks."""
    return tree.is_mapping(tool) or (tree.is_list(tool) and all(tree.is_mapping(task) for task in tree.items(tool)))


def case_body(tree: Tree, case: Node) -> Node:
    """The pipeline of a case, if the case is `{when, then: {tool}}` or `{else: {then: {tool}}}`."""
    keys = set(tree.keys(case))
    if keys != {"else"} and (keys != {"when", "then"} or tree.get(case, "when") is None):
        return None
    branch = tree.get(case, "else") if keys == {"else"} else case
    then = tree.get(branch, "then")
    return tree.get(then, "tool") if set(tree.keys(then)) == {"tool"} else None


class _Expansion:
    """One piece of sugar on its way to canonical tasks."""

    def __init__(self, tree: Tree, item: Node, name: str, made: dict[str, str]) -> None:
        self.tree, self.item, self.name, self.made = tree, item, name, made

    def tasks(self, word: str) -> list[Node]:
        body = self.tree.get(self.item, word)
        return {"choose": self.choose, "while": self.loop_while, "until": self.loop_until}[word](body)

    def choose(self, cases: Node) -> list[Node]:
        rules: list[Node] = []
        bodies: list[Node] = []
        for number, case in enumerate(self.tree.items(cases), start=1):
            tasks = self.body(case_body(self.tree, case), f"{self.name}_{number}")
            when = self.tree.get(case, "when") if "else" not in self.tree.keys(case) else None
            rules.append(self.rule(case, when, "jump", self.label(tasks[0])))
            bodies += [*tasks, self.noop(case, f"{self.name}_{number}_end", f"the end of case {number}", jump=self.end)]
        if not any("else" in self.tree.keys(case) for case in self.tree.items(cases)):
            rules.append(self.rule(self.item, None, "jump", self.end))
        return [self.noop(self.item, self.name, "choose", rules=rules), *bodies, self.merge_point("choose")]

    def loop_while(self, body: Node) -> list[Node]:
        when = self.tree.get(body, "when")
        rules = [self.rule(body, when, "continue"), self.rule(body, None, "jump", self.end)]
        return [
            self.noop(self.item, self.name, "while", rules=rules),
            *self.body(self.tree.get(body, "tool"), self.name),
            self.noop(body, f"{self.name}_again", "the way back of while", jump=self.name),
            self.merge_point("while"),
        ]

    def loop_until(self, body: Node) -> list[Node]:
        when = self.tree.get(body, "when")
        rules = [self.rule(body, when, "continue"), self.rule(body, None, "jump", self.name)]
        return [
            self.noop(self.item, self.name, "until"),
            *self.body(self.tree.get(body, "tool"), self.name),
            self.noop(body, f"{self.name}_check", "the check of until", rules=rules),
            self.merge_point("until"),
        ]

    @property
    def end(self) -> str:
        return f"{self.name}_end"

    def merge_point(self, word: str) -> Node:
        return self.noop(self.item, self.end, f"the merge point of {word}")

    def body(self, tool: Node, prefix: str) -> list[Node]:
        """The tasks of a body, each with a label; a body may hold sugar itself."""
        tree = self.tree
        inner = tool if tree.is_list(tool) else tree.list([tool], tool)
        for index, task in enumerate(tree.items(inner)):
            if tree.is_mapping(task) and "name" not in tree.keys(task):
                tree.put(task, "name", tree.scalar(f"{prefix}_task_{index}", task), first=True)
        expand_list(tree, inner, self.made)
        return list(tree.items(inner)) or [self.noop(tool, f"{prefix}_empty", "an empty body")]

    def label(self, task: Node) -> str:
        return str(self.tree.value(self.tree.get(task, "name")))

    def rule(self, like: Node, when: Node, do: str, to: str = "") -> Node:
        tree = self.tree
        directive = [("do", tree.scalar(do, like))] + ([("to", tree.scalar(to, like))] if to else [])
        then = tree.mapping(directive, like)
        if when is None:
            return tree.mapping([("else", tree.mapping([("then", then)], like))], like)
        return tree.mapping([("when", when), ("then", then)], like)

    def noop(self, like: Node, label: str, origin: str, *, jump: str = "", rules: list[Node] | None = None) -> Node:
        """A generated task; the debug map says where it is from."""
        tree = self.tree
        line = f" at line {like.line}" if hasattr(like, "line") else ""
        self.made[label] = f'{origin} ("{self.name}"){line}'
        pairs = [("name", tree.scalar(label, like)), ("kind", tree.scalar("noop", like))]
        rules = rules or ([self.rule(like, None, "jump", jump)] if jump else [])
        if rules:
            policy = tree.mapping([("rules", tree.list(rules, like))], like)
            pairs.append(("spec", tree.mapping([("policy", policy)], like)))
        return tree.mapping(pairs, like)
