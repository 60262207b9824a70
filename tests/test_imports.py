"""What each verb imports when it starts: the start-up table of docs/dependencies.md.

Every verb is started for real with `-X importtime`; what a bare interpreter of this environment imports is taken off.
A package outside the verb's row fails, and so does a slow module of the standard library that no row has yet.
"""

import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from noetl.cli.main import VERBS

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: start_up
workload:
  greeting: hello
workflow:
  - step: start
    tool:
      kind: noop
      set:
        ctx.greeting: "{{ workload.greeting }}"
"""

HELLO = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: hello
workflow:
  - step: start
    tool:
      kind: noop
"""

COMMAND_LINE = {"click"}
STORE = {"sqlite3"}
RUNNING = STORE | {"asyncio", "concurrent", "logging", "selectors", "socket", "ssl", "subprocess"}
PLAYBOOKS = {"yaml", "msgspec", "jinja2"}
READING = COMMAND_LINE | PLAYBOOKS
BROUGHT_ALONG = {"msgspec": {"typing_extensions"}, "jinja2": {"markupsafe"}}

# arguments: the packages they may import; {file} is a playbook
ROWS = {
    ("--version",): COMMAND_LINE,
    ("--help",): COMMAND_LINE,
    ("completion", "bash"): COMMAND_LINE,
    ("check", "{file}"): READING,
    ("check", "--format", "json", "{file}"): READING,
    ("explain", "NL301"): READING,
    ("init", "{file}.project"): READING,
    ("schema",): READING,
    ("graph", "{file}"): READING,
    ("fmt", "{file}"): READING,
    ("migrate", "{file}"): READING,
}
LOOKING = COMMAND_LINE | {"msgspec"}
# the verbs about executions, in a home where the playbook has run once: packages, and slow modules, they may import
EXECUTION_ROWS: dict[tuple[str, ...], tuple[set[str], set[str]]] = {
    ("run", "{file}"): (PLAYBOOKS, RUNNING),  # a plain run is understood without click
    ("run", "--format", "json", "{file}"): (PLAYBOOKS, RUNNING),
    ("run", "--set", "greeting=hi", "{file}"): (READING, RUNNING),
    ("list",): (LOOKING, STORE),
    ("show", "last"): (LOOKING, STORE),
    ("events", "last"): (LOOKING, RUNNING),
    ("replay", "last"): (READING, RUNNING),
    ("why", "last", "start"): (READING, RUNNING),
    ("eval", "last", "ctx.greeting"): (READING, RUNNING),
    ("diff", "last", "last"): (READING, RUNNING),
    ("replay-test", "{file}", "--against", "last"): (READING, RUNNING),
    ("export", "last", "--output", "-"): (READING, RUNNING),
    ("catalog", "list"): (READING, RUNNING),
    ("sweep", "--dry-run"): (READING, RUNNING),
    ("plan", "{file}"): (READING, RUNNING),
    ("schedule", "list"): (READING | {"cronsim"}, RUNNING),
    ("trigger", "list"): (READING, RUNNING),
    ("token", "list"): (LOOKING, RUNNING),
    ("server", "--help"): (LOOKING, set()),
    ("worker", "--help"): (LOOKING, set()),
    ("ui", "--help"): (LOOKING, set()),
    ("doctor",): (LOOKING, RUNNING | {"http", "email"}),  # no driver, unless there is something to ask with it
    ("test", "--help"): (READING, set()),
    ("keychain", "list"): (LOOKING, RUNNING),  # no key is needed for it, so no cryptography
}
ANSWERS = {"resume", "rerun", "cancel", "signal", "import"}  # they need an execution, and there is none here
SLOW = frozenset(
    "asyncio concurrent ctypes email http logging multiprocessing pydoc selectors socket sqlite3 ssl subprocess "
    "unittest urllib.request xml".split()
)
# of the standard library and slow to import; hello world was once started with each of them
SPARED = frozenset("difflib gettext json pickle shutil tempfile http email urllib.request dataclasses".split())
HELLO_MODULES_MAX = 201  # of our own, 0.3 ms each
FRONT_FILES = ("main", "exits", "plain", "voice", "group")
FRONT_DOOR = {"noetl", "noetl.__main__", "noetl.cli"} | {f"noetl.cli.{name}" for name in FRONT_FILES}


def imported(*arguments: str, home: Path | None = None) -> set[str]:
    """The modules that a Python with these arguments imports."""
    environment = {**os.environ, **({"NOETL_HOME": str(home)} if home else {})}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    lines = done.stderr.splitlines()
    said = [line for line in lines if not line.startswith("import time:")]
    assert done.returncode == 0, "\n".join(said)
    return {line.rpartition("|")[2].strip() for line in lines if line not in said}


@cache
def bare() -> frozenset[str]:
    return frozenset(imported("-c", "pass"))


def imported_by(arguments: tuple[str, ...], folder: Path, text: str = PLAYBOOK) -> set[str]:
    file = folder / "playbook.yaml"
    file.write_text(text, encoding="utf-8")
    return (
        imported("-m", "noetl", *(argument.format(file=file) for argument in arguments), home=folder / "home") - bare()
    )


def packages(modules: set[str]) -> set[str]:
    """Those that exist: the listing also names what was tried and not found, as copy does with org.python.core."""
    names = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"noetl"}
    return {name for name in names if find_spec(name)}


def slow_modules(modules: set[str]) -> set[str]:
    return {module for module in modules if module in SLOW or module.partition(".")[0] in SLOW}


def with_company(row: set[str]) -> set[str]:
    return row.union(*(BROUGHT_ALONG.get(package, set()) for package in row))


@pytest.mark.parametrize("arguments", ROWS, ids=" ".join)
def test_a_verb_imports_only_what_its_row_allows(arguments, tmp_path):
    modules = imported_by(arguments, tmp_path)

    assert packages(modules) <= with_company(ROWS[arguments])
    assert not slow_modules(modules)


@pytest.mark.parametrize("arguments", EXECUTION_ROWS, ids=" ".join)
def test_a_verb_about_executions_imports_only_what_its_row_allows(arguments, home):
    allowed, slow = EXECUTION_ROWS[arguments]

    modules = imported_by(arguments, home)

    assert packages(modules) <= with_company(allowed)
    assert {module.partition(".")[0] for module in slow_modules(modules)} <= slow


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder in whose home the playbook has run once."""
    folder = tmp_path_factory.mktemp("start_up")
    imported_by(("run", "{file}"), folder)
    return folder


@pytest.mark.parametrize("arguments", [("--version",), ("--help",)], ids=" ".join)
def test_version_and_help_load_no_verb(arguments, tmp_path):
    modules = imported_by(arguments, tmp_path)

    assert {module for module in modules if module.partition(".")[0] == "noetl"} <= FRONT_DOOR


def test_hello_world_imports_no_more_than_it_must(tmp_path):
    first, second = (imported_by(("run", "{file}"), tmp_path, HELLO) for _ in range(2))

    assert packages(first) == packages(second) == with_company({"yaml", "msgspec"})
    assert not second & SPARED
    assert rules_in(first)
    assert not rules_in(second), "what is in the catalog was checked when it came there"
    assert len({module for module in second if module.partition(".")[0] == "noetl"}) <= HELLO_MODULES_MAX


def rules_in(modules: set[str]) -> set[str]:
    return {module for module in modules if module.startswith("noetl.dsl.rules")}


def test_every_verb_has_a_row():
    assert {arguments[0] for arguments in (*ROWS, *EXECUTION_ROWS)} | ANSWERS >= set(VERBS)


def test_a_module_outside_the_row_is_seen():
    modules = imported("-c", "import asyncio, rich.table") - bare()

    assert packages(modules) - with_company(READING) == {"rich"}
    assert "asyncio" in slow_modules(modules)
