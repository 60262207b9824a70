"""The rooms of the package, and which may know which.

Every import in src/noetl is read from the source text (those inside functions and under TYPE_CHECKING too) and
compared with the tables below, which are those of the style guide and of docs/dependencies.md. The same walk looks for
what a pure room may not touch and for what no room may use. An exception stands in EXCEPTIONS with its reason; one that
nothing needs any more is a fault as well.
"""

import ast
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "noetl"

BASE = tuple(
    "errors ids traceparent clock config references secret sql json_schema writes wording logs buggify "
    "expressions".split()
)
ROLES = tuple(
    "server running safekeeping proving asking embedded worker clictl checkup tracing serving api_parts remote issuing "
    "working scheduling showing starts access chance workforces cluster cluster_host embedded_host hosting lasting "
    "reviewing forecasting rerunning rehearsal".split()
)
RECORDS = ("engine.events", "engine.commands", "projections")
EVERYTHING = ("*",)

# room: the rooms, or single modules of them, that it may import besides itself
ROOMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(BASE, BASE),
    "dsl": (*BASE, "keychain.kinds"),  # a table, and pure: which fields a kind of credential has
    "engine": (*BASE, "dsl.model"),
    "projections": (*BASE, "engine.events"),
    **dict.fromkeys(("stores", "queues", "results"), (*BASE, *RECORDS, "messaging")),
    "keychain": (*BASE, *RECORDS, "web"),
    **dict.fromkeys(("web", "messaging"), BASE),  # the ways out, the same for whoever takes them
    # stores.disk: private folders and files; stores.lock: a lock that ends with its process. Neither knows a store
    "daemons": (*BASE, "stores.disk", "stores.lock"),
    # results.arrays: lists out of bytes, element by element; it knows no store
    "tools": (*BASE, "dsl.kinds", "dsl.kind_faults", "engine.output", "web", "messaging", "results.arrays"),
    # messaging.pauses: how to wait before asking again; it knows no NATS
    "runner": (*BASE, "dsl.model", "engine", "tools", "queues", "results", "keychain", "messaging.pauses"),
    # stores.disk, keychain.plain_files: private files, and nothing of what is in them
    "identity": (*BASE, "engine.events", "stores.contract", "stores.disk", "queues.contract", "keychain.plain_files"),
    "control": (*BASE, "dsl", "engine", "projections", "stores", "queues", "results", "keychain", "identity"),
    # it asks the desk, as people do: nothing of the server at work knows that it is there
    "starting": (*BASE, "dsl", "engine.events", "stores.contract", "queues.subjects", "keychain.contract", "control"),
    # contracts only: shapes of rows, and what a part offers; engine.events: how a time is written, and the shape of one
    "api": (
        *BASE,
        "identity",
        "control",
        "starting",
        "projections",
        "stores.contract",
        "results.contract",
        "engine.events",
        "ui",  # files, by their names
    ),
    **dict.fromkeys(("ui", "projects"), ()),  # files, by their names
    "cli": (*BASE, "dsl", "tools.registry", "projects", *ROLES),
    **dict.fromkeys(ROLES, EVERYTHING),
    "testing": EVERYTHING,
    "__main__": ("cli",),
    "": (),  # noetl/__init__.py
}

# package: the files that may import it, besides the roles and testing, which may import all of them
ANYWHERE = ("*",)
PACKAGES: dict[str, tuple[str, ...]] = {
    "msgspec": ANYWHERE,
    "jinja2": ("expressions.py", "expressions/*"),
    "markupsafe": ("expressions.py", "expressions/*"),
    "yaml": ("dsl/read.py",),
    "click": ("cli/*",),
    "rich": ("cli/*",),
    "starlette": ("api/*",),
    "uvicorn": (),
    "uvloop": (),
    "aiohttp": ("web/*", "tools/*"),
    "cryptography": ("keychain/*", "messaging/signing.py", "messaging/sealed.py"),
    "keyring": ("keychain/*",),
    "cronsim": ("starting/*", "dsl/cron.py"),  # pure Python: an expression in, times out
    "prometheus_client": ("control/*", "runner/*", "api/*"),
    "opentelemetry": ("control/*", "runner/*", "api/*"),
    "psycopg": ("stores/postgres*", "results/postgres*", "tools/postgres*", "tools/transfer*"),
    "psycopg_pool": ("stores/postgres*", "results/postgres*", "tools/postgres*"),
    "apsw": ("stores/sqlite*",),
    "nats": ("messaging/*", "queues/nats*", "results/nats*", "tools/nats*"),
    "obstore": ("results/s3*",),
    "duckdb": ("tools/duckdb*",),
    "jsonschema_rs": ("control/*", "runner/*"),
    "jwt": ("api/*",),
    "mcp": ("api/*",),
}

# The clock, the environment, files, the network and chance: made at the edge, never in a pure room.
PURE = ("dsl", "engine", "projections")
IMPURE_MODULES = frozenset(
    "asyncio ctypes fileinput getpass glob http io linecache locale logging mmap multiprocessing os pathlib platform "
    "random secrets select selectors shelve shutil signal socket sqlite3 ssl subprocess tempfile threading time "
    "urllib.request uuid zoneinfo importlib.resources importlib.metadata".split()
)
PURE_NAMES_OF_IMPURE_MODULES = {"io": {"StringIO", "BytesIO"}}  # in memory, no file
IMPURE_CALLS = frozenset(("open", "input", "print"))
IMPURE_ATTRIBUTES = frozenset(
    "datetime.now datetime.utcnow datetime.today date.today sys.stdin sys.stdout sys.stderr sys.argv".split()
)

# Server and worker at work run under a simulator too: time, chance and threads are handed in there (simulation.md).
# What waits by the loop (asyncio.timeout, call_later) may: the simulator has the loop. The engine is pure anyway.
STEERED = ("identity", "control", "starting", "runner")
UNSTEERED_MODULES = frozenset("time random uuid secrets threading multiprocessing concurrent.futures".split())
UNSTEERED_ATTRIBUTES = frozenset(
    "asyncio.sleep asyncio.to_thread asyncio.new_event_loop loop.run_in_executor datetime.now datetime.utcnow "
    "os.urandom os.getpid buggify.hook".split()
)

# What runs under a simulator must run the same again: the order of a set is that of hashes and addresses.
ORDERED = (*STEERED, "engine", "queues", "projections", "cluster", "embedded", "access")
SETS = frozenset(("set", "frozenset"))
IN_ORDER = frozenset(("list", "tuple", "enumerate", "iter", "join", "extend", "fromkeys"))

# What turns data into code, or a word into a shell.
DANGEROUS_MODULES = frozenset(("pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "runpy", "code"))
DANGEROUS_CALLS = frozenset(("eval", "exec", "compile", "__import__"))
DANGEROUS_ATTRIBUTES = frozenset(
    "yaml.load yaml.load_all yaml.unsafe_load yaml.unsafe_load_all yaml.full_load yaml.full_load_all "
    "importlib.import_module os.system os.popen subprocess.getoutput subprocess.getstatusoutput "
    "asyncio.create_subprocess_shell".split()
)

# (file, what): why
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "cli/group.py",
        "importlib.import_module",
    ): "a verb is loaded when it is asked for; the names are the table of cli/main.py",
    ("dsl/rules/__init__.py", "importlib.import_module"): "rules are loaded by the names listed in the file",
    ("dsl/time_zones.py", "zoneinfo"): "the names of time zones: a table of facts that every machine has, only read",
    ("tools/python_code.py", "compile"): "kind python runs its author's code, inside a child process",
    ("tools/python_code.py", "exec"): "as above",
    ("tools/python_code.py", "importlib.import_module"): "modules under libs, in the child",
    ("tools/registry.py", "importlib.import_module"): "a kind is loaded when it is asked for, by the names in the file",
}

Fault = tuple[str, int, str, str]  # file, line, what, why not


def imports(tree: ast.AST, file: str, modules: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Each imported module by its full name; `from a import b` is a.b where that is a module, else a."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = imported_from(node, file)
            for alias in node.names:
                name = f"{parent}.{alias.name}"
                yield node.lineno, name if name in modules else parent


def imported_from(node: ast.ImportFrom, file: str) -> str:
    if not node.level:
        return node.module or ""
    package = ["noetl", *Path(file).parts[:-1]]
    return ".".join(package[: len(package) - node.level + 1] + ([node.module] if node.module else []))


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def used_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each a.b that is read, and each `from a import b`, as the last two words: what a ban on a.b must see."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, ".".join(dotted(node).split(".")[-2:])
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def called_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.lineno, node.func.id


def room_of(file: str) -> str:
    name = Path(file).parts[0].removesuffix(".py")
    return "" if name == "__init__" else name


def is_within(name: str, limits: tuple[str, ...] | frozenset[str]) -> bool:
    return any(name == limit or name.startswith(f"{limit}.") for limit in limits)


def import_faults(file: str, tree: ast.AST, modules: frozenset[str]) -> Iterator[Fault]:
    room = room_of(file)
    if room not in ROOMS:
        yield file, 1, room, f'there is no room "{room}" in the table'
        return
    for line, name in imports(tree, file, modules):
        top, _, rest = name.partition(".")
        if top == "noetl":
            if rest and ROOMS[room] != EVERYTHING and not is_within(rest, (room, *ROOMS[room])):
                yield file, line, name, f'"{room}" may import only: {", ".join(ROOMS[room])}'
        elif top not in sys.stdlib_module_names and ROOMS[room] != EVERYTHING:
            places = PACKAGES.get(top, ())
            if not any(fnmatchcase(file, place) for place in places):
                yield file, line, name, f"this package is imported only in: {', '.join(places) or 'roles'}"


def purity_faults(file: str, tree: ast.AST, modules: frozenset[str]) -> Iterator[Fault]:
    if room_of(file) not in PURE:
        return
    why = f'"{room_of(file)}" is pure: no clock, environment, files, network or chance'
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            allowed = PURE_NAMES_OF_IMPURE_MODULES.get(module, set())
            names = [f"{module}.{alias.name}" for alias in node.names if alias.name not in allowed]
        else:
            continue
        yield from ((file, node.lineno, name, why) for name in names if is_within(name, IMPURE_MODULES))
    yield from ((file, line, name, why) for line, name in called_names(tree) if name in IMPURE_CALLS)
    yield from ((file, line, name, why) for line, name in used_names(tree) if name in IMPURE_ATTRIBUTES)


def steering_faults(file: str, tree: ast.AST, modules: frozenset[str]) -> Iterator[Fault]:
    if room_of(file) not in STEERED:
        return
    why = f'"{room_of(file)}" gets its clock, its chance and its waiting handed in'
    yield from (
        (file, line, name, why) for line, name in imports(tree, file, modules) if is_within(name, UNSTEERED_MODULES)
    )
    yield from ((file, line, name, why) for line, name in used_names(tree) if name in UNSTEERED_ATTRIBUTES)


def order_faults(file: str, tree: ast.AST, modules: frozenset[str]) -> Iterator[Fault]:
    if room_of(file) not in ORDERED:
        return
    names = names_of_sets(tree)
    why = "a set has another order in the next process: use a dict, or sort it"
    for node in ast.walk(tree):
        for gone_through in put_in_order(node):
            if is_set(gone_through, names):
                yield file, gone_through.lineno, ast.unparse(gone_through), why


def names_of_sets(tree: ast.AST) -> frozenset[str]:
    """Variables and attributes of a file that are annotated as sets, or that a set is given to."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and is_set_type(node.annotation):
            found.add(dotted(node.target))
        elif isinstance(node, ast.Assign) and is_set(node.value, frozenset()):
            found.update(map(dotted, node.targets))
    return frozenset(found - {""})


def is_set_type(node: ast.AST) -> bool:
    return dotted(node.value if isinstance(node, ast.Subscript) else node) in SETS


def is_set(node: ast.AST, names: frozenset[str]) -> bool:
    if isinstance(node, ast.BinOp):
        return is_set(node.left, names) or is_set(node.right, names)
    if isinstance(node, ast.Call):
        return dotted(node.func) in SETS
    return isinstance(node, ast.Set | ast.SetComp) or dotted(node) in names


def put_in_order(node: ast.AST) -> list[ast.expr]:
    """What a statement or an expression goes through one by one, so that the order of it shows."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return [node.iter]
    if isinstance(node, ast.ListComp | ast.DictComp):
        return [generator.iter for generator in node.generators]
    if isinstance(node, ast.Call):
        starred = [argument.value for argument in node.args if isinstance(argument, ast.Starred)]
        is_listed = isinstance(node.func, ast.Name | ast.Attribute) and dotted(node.func).split(".")[-1] in IN_ORDER
        return [*starred, *(node.args if is_listed else ())]
    return []


def danger_faults(file: str, tree: ast.AST, modules: frozenset[str]) -> Iterator[Fault]:
    why = "data must not become code"
    for line, name in imports(tree, file, modules):
        if is_within(name, DANGEROUS_MODULES):
            yield file, line, name, why
    yield from ((file, line, name, why) for line, name in called_names(tree) if name in DANGEROUS_CALLS)
    yield from ((file, line, name, why) for line, name in used_names(tree) if name in DANGEROUS_ATTRIBUTES)
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "shell" and not is_false(node.value):
            yield file, node.value.lineno, "shell=True", "a word must not become a shell command"


def is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


CHECKS = (import_faults, purity_faults, steering_faults, order_faults, danger_faults)


def faults(file: str, text: str, modules: frozenset[str] = frozenset()) -> list[Fault]:
    tree = ast.parse(text, filename=f"src/noetl/{file}")
    return [fault for check in CHECKS for fault in check(file, tree, modules)]


def module_name(file: str) -> str:
    parts = ["noetl", *Path(file).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_texts() -> dict[str, str]:
    files = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in files}


@cache  # two tests ask, and it takes seconds
def package_faults() -> list[Fault]:
    texts = package_texts()
    modules = frozenset(map(module_name, texts))
    return [fault for file, text in texts.items() for fault in faults(file, text, modules)]


def test_the_package_keeps_to_its_rooms():
    found = [fault for fault in package_faults() if (fault[0], fault[2]) not in EXCEPTIONS]

    assert not found, "\n" + "\n".join(f"src/noetl/{file}:{line}: {what}: {why}" for file, line, what, why in found)


def test_every_exception_is_still_needed():
    needed = {(file, what) for file, _, what, _ in package_faults()}

    assert not set(EXCEPTIONS) - needed


def test_the_map_names_every_room():
    page = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))) or ""
    words = frozenset(re.findall(r"\w+", page))

    assert not {room for room in ROOMS if room.strip("_") and not room.startswith("__")} - words


MODULES = frozenset(("noetl.dsl.model", "noetl.dsl.read", "noetl.engine.events", "noetl.stores.sqlite"))


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("dsl/read.py", "import noetl.engine.events", "noetl.engine.events"),
        ("dsl/read.py", "def late():\n    from noetl.engine import events", "noetl.engine.events"),
        ("dsl/rules/nl101.py", "from ...engine.events import StepDone", "noetl.engine.events"),
        ("engine/decide.py", "from noetl.dsl.read import read", "noetl.dsl.read"),
        ("engine/decide.py", "from noetl.dsl import read", "noetl.dsl.read"),
        ("engine/decide.py", "import noetl.dsl", "noetl.dsl"),
        ("errors.py", "from noetl.dsl.model import Playbook", "noetl.dsl.model"),
        ("stores/sqlite.py", "from noetl.queues.memory import Queue", "noetl.queues.memory"),
        ("cli/run.py", "from noetl.stores import sqlite", "noetl.stores.sqlite"),
        ("cli/run.py", "from noetl.engine.decide import decide", "noetl.engine.decide"),
        ("control/intake.py", "import noetl.testing.services", "noetl.testing.services"),
        ("__init__.py", "from noetl.cli import main", "noetl.cli"),
        ("helpers/strings.py", "", "helpers"),
        ("dsl/parse.py", "import yaml", "yaml"),
        ("dsl/read.py", "from ruamel.yaml import YAML", "ruamel.yaml"),
        ("dsl/normalize.py", "import jinja2", "jinja2"),
        ("dsl/check.py", "import click", "click"),
        ("engine/decide.py", "from rich.table import Table", "rich.table"),
        ("cli/check.py", "import pydantic", "pydantic"),
        ("engine/decide.py", "import time", "time"),
        ("engine/decide.py", "from os import environ", "os.environ"),
        ("engine/decide.py", "def now():\n    import random", "random"),
        ("engine/decide.py", "from uuid import uuid4", "uuid.uuid4"),
        ("engine/decide.py", "from datetime import datetime\ndatetime.now()", "datetime.now"),
        ("engine/decide.py", "import datetime\ndatetime.datetime.now()", "datetime.now"),
        ("engine/decide.py", "import sys\nsys.argv", "sys.argv"),
        ("dsl/read.py", "import pathlib", "pathlib"),
        ("dsl/read.py", "import urllib.request", "urllib.request"),
        ("dsl/read.py", "from urllib import request", "urllib.request"),
        ("dsl/read.py", "from io import open", "io.open"),
        ("dsl/read.py", "open('playbook.yaml')", "open"),
        ("dsl/read.py", "import yaml\nyaml.load('a')", "yaml.load"),
        ("dsl/read.py", "from yaml import unsafe_load", "yaml.unsafe_load"),
        ("control/timers.py", "import time", "time"),
        ("runner/worker.py", "from random import random", "random"),
        ("runner/worker.py", "import asyncio\nasyncio.sleep(1)", "asyncio.sleep"),
        ("control/intake.py", "import os\nos.urandom(8)", "os.urandom"),
        ("control/desk.py", "from noetl.chance import SYSTEM", "noetl.chance"),
        ("control/intake.py", "def stop(self):\n    for task in {1, 2}: task.cancel()", "{1, 2}"),
        ("runner/worker.py", "tasks: set[str] = make()\n[task for task in tasks]", "tasks"),
        ("runner/worker.py", "self.tasks: set[str] = make()\nfor task in list(self.tasks): pass", "self.tasks"),
        ("engine/decide.py", "found = set(names)\nfor name in found - {1}: emit(name)", "found - {1}"),
        ("queues/nats.py", "gather(*set(tasks))", "set(tasks)"),
        ("tools/python.py", "eval('1')", "eval"),
        ("tools/python.py", "exec('1')", "exec"),
        ("tools/python.py", "import pickle", "pickle"),
        ("tools/shell.py", "import subprocess\nsubprocess.run('ls', shell=True)", "shell=True"),
        ("tools/shell.py", "import subprocess\nsubprocess.run('ls', shell=chosen)", "shell=True"),
        ("tools/http.py", "import importlib\nimportlib.import_module('x')", "importlib.import_module"),
        ("tools/http.py", "from importlib import import_module", "importlib.import_module"),
    ],
)
def test_a_forbidden_import_or_call_is_found(file, text, what):
    assert [found for _, _, found, _ in faults(file, text, MODULES)] == [what]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("dsl/read.py", "import yaml, re, msgspec"),
        ("dsl/dialects/v10.py", "from io import StringIO"),
        ("dsl/rules/nl101.py", "from ..findings import Finding"),
        ("dsl/read.py", "from datetime import date\ndate(2026, 3, 1)"),
        ("dsl/read.py", "from urllib.parse import urlsplit"),
        ("expressions/compile.py", "import jinja2.sandbox\nfrom noetl.errors import PlaybookError"),
        ("engine/decide.py", "from noetl.dsl import model\nfrom noetl.dsl.model import Step"),
        ("control/intake.py", "import asyncio\nfrom noetl.dsl import read"),
        ("cli/check.py", "import click\nfrom noetl import __version__\nfrom noetl.dsl.check import check"),
        (
            "control/intake.py",
            "found = set(names)\nlast = sorted(found), len(found), 1 in found, {one for one in found}",
        ),
        ("runner/worker.py", "import asyncio\nasyncio.timeout(1)\nasyncio.wait({1, 2})"),
        ("server.py", "import uvicorn\nfrom noetl.stores import sqlite"),
        ("testing/services.py", "import psycopg"),
        ("tools/shell.py", "import subprocess\nsubprocess.run(['ls'], shell=False)"),
    ],
)
def test_what_the_tables_allow_passes(file, text):
    assert not faults(file, text, MODULES)
