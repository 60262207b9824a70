"""Plugins that cannot be used: what is said of them, and that the other kinds go on working."""

import json
import sys

import pytest

from noetl.tools.registry import Declarations
from tests.cli.running import GREET, HEAD, document, noetl

ODD = (
    HEAD
    + """workflow:
  - step: start
    tool: {kind: odd, input: {does: "DOES"}}
"""
)
ENABLED = {"NOETL_TOOLS_PLUGINS": "odd"}
DECLARED = """
import asyncio
from noetl.dsl.kinds import Field, Kind
from noetl.engine.output import Output, failure

KIND = Kind(name="odd", summary="For tests.", fields=(Field(name="does"),), error_kinds={"odd.known": "a word"})

class Strange(BaseException):
    pass

class Odd:
    async def run(self, call):
        does = call.input["does"]
        if does == "exit":
            raise SystemExit(3)
        if does == "give up":
            raise asyncio.CancelledError
        if does == "raise":
            raise KeyError("no such thing")
        return {
            "known": failure("odd.known", "as declared"),
            "undeclared": failure("odd.unheard_of", "on no list", details={"more": 1}),
            "nothing": None,
            "mapping": {"data": 1},
            "odd data": Output(data=object()),
        }[does]

    async def close(self):
        raise RuntimeError("it does not want to")

def make(hands):
    return Odd()
"""


def with_module(packages, text, name="odd"):
    packages.add("noetl-odd", kinds={name: "noetl_odd"}, modules={"noetl_odd": text})
    return packages.environ


def playbook(tmp_path, does):
    (tmp_path / "odd.yaml").write_text(ODD.replace("DOES", does))
    return "odd.yaml"


@pytest.mark.spec("TL-02")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_library", "importing noetl_odd fails: ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise SystemExit(7)", "importing noetl_odd fails: SystemExit: 7"),
        ("KIND = 1\nmake = print", "it has no KIND, a noetl.dsl.kinds.Kind that declares the kind"),
        (DECLARED.replace("def make", "def made"), "it has no make(hands), which gives the tool"),
        (DECLARED.replace('name="odd", summ', 'name="even", summ'), 'KIND is named "even", but the entry point "odd"'),
        (DECLARED.replace("For tests.", " "), "it has no summary"),
        (DECLARED.replace('name="does"', 'name="Does It"'), 'the field "Does It": a name has small letters'),
        (DECLARED.replace('name="does"', 'name="spec"'), 'the field "spec" has a name that means something else'),
        (DECLARED.replace('name="does"', 'name="does", types=("txt",)'), "types that there are not: txt; there are:"),
        (DECLARED.replace('(Field(name="does"),)', '(Field(name="a"),) * 2'), 'two of the fields are "a"'),
        (DECLARED.replace('(Field(name="does"),)', '("does",)'), "it is not made of what a declaration is made of"),
        (DECLARED.replace("odd.known", "known"), 'the error kind "known": it must be "odd." and a name'),
        (DECLARED.replace("error_kinds=", 'helper="data", helper_fields=("x",), error_kinds='), 'the helper "data"'),
        (DECLARED.replace("error_kinds=", 'helper="odd", error_kinds='), "helper and helper_fields go together"),
        (DECLARED.replace("error_kinds=", 'one_of=(("a",),), error_kinds='), 'names "a", which is no field'),
        (DECLARED.replace("error_kinds=", 'defaults={"a": 1}, error_kinds='), 'defaults has "a", which is no knob'),
        (DECLARED.replace("error_kinds=", 'module="numpy", error_kinds='), "extra and module are for kinds of NoETL"),
    ],
)
def test_what_is_wrong_with_a_plugin_is_said_and_it_is_no_kind(packages, monkeypatch, text, why):
    with_module(packages, text)
    monkeypatch.syspath_prepend(packages.folder)
    monkeypatch.delitem(sys.modules, "noetl_odd", raising=False)
    kinds = Declarations(lambda: ("odd",))

    assert "odd" not in kinds
    assert "odd" not in list(kinds)
    absence = kinds.absence("odd")
    assert absence.why.startswith("noetl-odd 1.0 brings this kind, but ")
    assert why in absence.why
    assert absence.fix == 'repair or update that package, or take "odd" out of tools.plugins'


@pytest.mark.spec("TL-02")
def test_a_plugin_that_cannot_be_used_is_named_where_a_playbook_uses_it(tmp_path, packages):
    environ = with_module(packages, "raise RuntimeError('broken')")

    done = noetl("check", playbook(tmp_path, "known"), "--format", "json", home=tmp_path, **environ, **ENABLED)

    (finding,) = [finding for finding in json.loads(done.stdout) if finding["severity"] == "error"]
    assert (done.returncode, finding["code"]) == (1, "NL303")
    assert "importing noetl_odd fails: RuntimeError: broken" in finding["why"]


@pytest.mark.slow
@pytest.mark.spec("TL-02")
def test_the_other_kinds_go_on_working_beside_a_broken_plugin(tmp_path, packages):
    environ = with_module(packages, "raise RuntimeError('broken')")
    (tmp_path / "greet.yaml").write_text(GREET)

    found = document(noetl("run", "greet.yaml", "--format", "json", home=tmp_path, **environ, **ENABLED))
    schema = noetl("schema", home=tmp_path, **environ, **ENABLED)

    assert found["status"] == "success"
    assert (schema.returncode, "kind.odd" in schema.stdout, "kind.http" in schema.stdout) == (0, False, True)


@pytest.mark.spec("TL-02")
def test_a_plugin_cannot_take_the_name_of_a_kind(tmp_path, packages):
    packages.add("noetl-evil", kinds={"noop": "evil"}, modules={"evil": "raise SystemExit('imported')"})
    (tmp_path / "greet.yaml").write_text(GREET)

    checked = noetl("check", "greet.yaml", home=tmp_path, **packages.environ, NOETL_TOOLS_PLUGINS="noop")
    schema = noetl("schema", home=tmp_path, **packages.environ, NOETL_TOOLS_PLUGINS="noop")

    assert checked.returncode == 0
    assert (schema.returncode, schema.stdout.count('"kind.noop": ')) == (0, 1)
    assert "imported" not in checked.stderr + schema.stderr


@pytest.mark.spec("TL-02")
def test_an_enabled_name_that_no_package_brings_is_an_error_at_the_start(tmp_path, packages):
    packages.add("noetl-other", kinds={"other": "other"}, modules={})
    (tmp_path / "greet.yaml").write_text(GREET)

    done = noetl("run", "greet.yaml", home=tmp_path, **packages.environ, **ENABLED)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        'error: tools.plugins names "odd", but no installed package brings a kind of that name; those installed bring: '
        "other. Install the package that does into the environment of noetl, or take the name out\nnext: noetl doctor\n"
    )
    assert not (tmp_path / ".noetl").exists()


@pytest.mark.spec("TL-02")
def test_two_packages_that_bring_one_kind_are_an_error_at_the_start(tmp_path, packages):
    packages.add("noetl-odd", kinds={"odd": "one"}, modules={})
    packages.add("noetl-odder", kinds={"odd": "two"}, modules={})
    (tmp_path / "greet.yaml").write_text(GREET)

    done = noetl("run", "greet.yaml", home=tmp_path, **packages.environ, **ENABLED)

    assert done.returncode == 2
    assert "which two packages bring: noetl-odd 1.0 and noetl-odder 1.0. Remove one of them" in done.stderr


@pytest.mark.slow
@pytest.mark.spec("TL-02")
def test_a_package_that_is_installed_and_not_enabled_is_left_alone_and_logged(tmp_path, packages):
    packages.add("noetl-quiet", kinds={"quiet": "quiet"}, modules={"quiet": "raise SystemExit('imported')"})
    environ = with_module(packages, DECLARED)

    noetl("run", playbook(tmp_path, "known"), home=tmp_path, **environ, **ENABLED)

    lines = [json.loads(line) for line in (tmp_path / ".noetl" / "noetl.log").read_text().splitlines()]
    ignored = [line for line in lines if line.get("action") == "plugin_ignored"]
    assert [(line["plugin"], line["package"]) for line in ignored] == [("quiet", "noetl-quiet 1.0")]


@pytest.mark.slow
@pytest.mark.spec("TL-02", "TK-19")
@pytest.mark.parametrize(
    ("does", "kind", "message"),
    [
        ("known", "odd.known", "as declared"),
        ("undeclared", "exception", "on no list"),
        ("raise", "exception", "the tool failed: KeyError: 'no such thing'"),
        ("exit", "exception", "the tool failed: SystemExit: 3"),
        ("give up", "exception", "the tool failed: it gave up as if it had been cancelled"),
        ("nothing", "exception", "the tool failed: it answered with NoneType, not an Output"),
        ("mapping", "exception", "the tool failed: it answered with dict, not an Output"),
        ("odd data", "type", ""),
    ],
)
def test_whatever_a_plugin_does_is_the_output_of_its_task(tmp_path, packages, does, kind, message):
    environ = with_module(packages, DECLARED)

    done = noetl("run", playbook(tmp_path, does), "--format", "json", home=tmp_path, **environ, **ENABLED)

    found = document(done)
    assert (done.returncode, found["status"], found["error"]["kind"]) == (1, "failed", kind)
    assert found["error"]["message"].startswith(message)
