"""Inside a child of kind python (or inline): the text of a task's code in, the value that it comes to out.

The value is that of a top-level return, else what main() gives, else `result`, else None (UP-02). The code runs as it
stands, in a new module, with its named values as variables; its exceptions pass through. Nothing here limits it.
"""

from __future__ import annotations

import importlib
import keyword
import sys
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType

from noetl.tools.json_data import Unfit

TYPE_CHECKING = False  # typing is an import of 3 ms, in every child
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CODE_CACHE_MAX = 64
MODULE_NAME = "noetl_task"
WRAPPER_NAME = "__noetl_task__"
CO_VARKEYWORDS = 0x08  # inspect has it too, and takes 20 ms


def file_name(name: str) -> str:
    """What the frames of the code have as their file."""
    return f"<{name}>"


def value_of(question: dict[str, Any], module_name: str = MODULE_NAME) -> object:
    """Run the code, in a module of that name, and give what it came to.

    The module stays among the imported ones: dataclasses and typing look a class's module up.
    """
    code, has_return = compiled(question["code"], file_name(question["name"]))
    module = ModuleType(module_name)
    names = module.__dict__
    names.update(variables(question))
    import_libs(question["libs"], names)
    sys.modules[module_name] = module
    try:
        exec(code, names)  # noqa: S102 - running an author's code is what this kind is for
        if has_return:
            return names[WRAPPER_NAME]()
        if callable(main := names.get("main")):
            return settled(main(**arguments_of(main, names, question["input"])))
    except SystemExit as leaving:
        if leaving.code:
            raise
    return names.get("result")


@lru_cache(maxsize=CODE_CACHE_MAX)
def compiled(text: str, name: str) -> tuple[CodeType, bool]:
    """The code, and whether it is the body of a function because it returns at its top level."""
    try:
        return compile(text, name, "exec", dont_inherit=True), False
    except SyntaxError as error:
        if error.msg != "'return' outside function":
            raise
    return compile(as_function(text, name), name, "exec", dont_inherit=True), True


def as_function(text: str, name: str) -> Any:
    """The code as the body of a function whose names are still the module's, so that it means what it meant before."""
    import ast

    class WithoutAnnotations(ast.NodeTransformer):
        """Inside a function a name cannot be both annotated and global."""

        def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
            made = ast.Assign(targets=[node.target], value=node.value) if node.value else ast.Pass()
            return ast.copy_location(made, node)

        def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
            return node

        visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef

    tree = WithoutAnnotations().visit(ast.parse(text, name))
    wrapper = ast.parse(f"def {WRAPPER_NAME}(): pass", name)
    function: Any = wrapper.body[0]
    bound = sorted(set(bound_names(tree.body)))
    function.body = [ast.Global(names=bound), *tree.body] if bound else tree.body
    return ast.fix_missing_locations(wrapper)


def bound_names(nodes: list[Any]) -> Iterator[str]:
    """The names that statements bind in their own scope, not in that of a function or class inside."""
    import ast

    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        yield from bound_names(list(ast.iter_child_nodes(node)))


def variables(question: dict[str, Any]) -> dict[str, Any]:
    """UP-02: what the code sees: each named value, and `input` with all of them under the names that are in use."""
    values = question["input"]
    own = {
        name: value
        for name, value in values.items()
        if name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")
    }
    whole = {"input": values, "input_data": values, "args": values, "context": question["context"]}
    return {**own, **whole, "execution_id": question["execution_id"]}


def import_libs(libs: dict[str, str], names: dict[str, Any]) -> None:
    """Import modules under names; `a.b` under its own name binds `a`, as the import statement does."""
    for alias, name in libs.items():
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise Unfit(
                "not_found", f'libs asks for the module "{name}", but there is no "{error.name}" in this environment'
            ) from error
        top = alias.partition(".")[0]
        names[top] = sys.modules[top] if alias == name and "." in name else module


def arguments_of(main: Any, names: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The named values that main() takes: those it names, and all of them if it has **rest."""
    wanted, takes_rest = parameters_of(main)
    return {**(values if takes_rest else {}), **{name: names[name] for name in wanted if name in names}}


def parameters_of(main: Any) -> tuple[list[str], bool]:
    if type(main) is FunctionType and not hasattr(main, "__wrapped__"):
        code = main.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        return list(code.co_varnames[:count]), bool(code.co_flags & CO_VARKEYWORDS)
    import inspect

    found = inspect.signature(main).parameters.values()
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    wanted = [parameter.name for parameter in found if parameter.kind in by_name]
    return wanted, any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in found)


def settled(value: Any) -> object:
    """What an async main() comes to."""
    if not hasattr(value, "__await__"):
        return value
    import asyncio

    async def awaited() -> object:
        return await value

    return asyncio.run(awaited())
