"""kind: python — what code sees, what its value is, and how it fails."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec import structs

from noetl.testing.hands import call, run
from noetl.tools.contract import Tool
from tests.tools.python_parts import KIND, error_of, failed, one_slot_tool, value


@pytest_asyncio.fixture
async def tool() -> AsyncIterator[Tool]:
    async with one_slot_tool() as made:
        yield made


# what the code sees


@pytest.mark.spec("UP-02")
async def test_each_named_value_is_a_variable(tool):
    assert await value(tool, "result = page + 1", page=2) == 3


@pytest.mark.spec("UP-02")
@pytest.mark.parametrize("name", ["input", "args", "input_data"])
async def test_the_named_values_are_one_mapping_too(tool, name):
    assert await value(tool, f"result = {name}", **{"page": 2, "not-a-name": 3, "class": 4}) == {
        "page": 2,
        "not-a-name": 3,
        "class": 4,
    }


@pytest.mark.spec("UP-02")
async def test_code_knows_its_execution_and_an_empty_context(tool):
    assert await value(tool, "result = [execution_id, context]") == ["1", {}]


@pytest.mark.spec("UP-02")
async def test_code_reads_step_values_and_the_workload_in_context(tool):
    made = call(KIND, code="result = context['fetch']['rows'] + context['workload']['add']")

    output = await run(tool, structs.replace(made, context={"fetch": {"rows": 2}, "workload": {"add": 1}}))

    assert output.data == 3


async def test_a_value_cannot_take_the_place_of_the_builtins(tool):
    assert await value(tool, "result = len(input)", **{"__builtins__": {}, "input": "mine"}) == 2


@pytest.mark.parametrize(
    ("auth", "found"),
    [
        ("pg", {"password": "p"}),
        (["pg", "api"], {"pg": {"password": "p"}, "api": {"token": "t"}}),
        ({"db": "pg"}, {"db": {"password": "p"}}),
    ],
)
async def test_the_credentials_under_auth_reach_the_code(tool, auth, found):
    assert await value(tool, "result = input['auth'] if input['auth'] == auth else None", auth=auth) == found


async def test_an_unknown_credential_fails_before_the_code_runs(tool):
    kind, message = error_of(await failed(tool, "result = 1", auth="nope"))

    assert kind == "auth"
    assert '"nope"' in message


async def test_libs_are_imported_first(tool):
    assert await value(tool, "result = [math.pi > 3, os.path.sep]", libs=["math", "os.path"]) == [True, "/"]
    assert await value(tool, "result = m.floor(1.5)", libs={"m": "math"}) == 1


async def test_a_missing_lib_is_named(tool):
    assert error_of(await failed(tool, "result = 1", libs=["no_such_module"])) == (
        "not_found",
        'libs asks for the module "no_such_module", but there is no "no_such_module" in this environment',
    )


# what its value is


@pytest.mark.spec("UP-02", "TK-04")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("result = 1", 1),
        ("x = 1", None),
        ("", None),
        ("def main(): return 1\nresult = 2", 1),
        ("def main(a, b=5): return [a, b]", [1, 2]),
        ("def main(a, *, c): return [a, c]", [1, 3]),
        ("def main(a, **rest): return rest", {"b": 2, "c": 3}),
        ("def main(input): return input", {"a": 1, "b": 2, "c": 3}),
        ("async def main(a):\n  import asyncio\n  await asyncio.sleep(0)\n  return a", 1),
        ("import functools\n@functools.wraps(len)\ndef main(*args, **kw): return kw", {}),
        ("return a", 1),
        ("if a > 1:\n  return 'more'\nreturn 'less'", "less"),
        ("a = a + 1\nreturn a", 2),
        ("x: int = a\ny: int\nreturn x", 1),
        ("def f():\n  return a + one\none = 1\nreturn f()", 2),
        ("import os.path as p, os\nwith open(os.devnull) as f:\n  return [p.sep, f.read()]", ["/", ""]),
        ("try:\n  1 / 0\nexcept ZeroDivisionError as e:\n  return str(e)", "division by zero"),
        ("match input:\n  case {'a': one, **rest}: return rest", {"b": 2, "c": 3}),
        ("import sys\nresult = 1\nsys.exit()\nresult = 2", 1),
        ("import dataclasses\n@dataclasses.dataclass\nclass P:\n  x: 'int' = 1\nresult = P().x", 1),
    ],
)
async def test_the_value_is_a_return_or_that_of_main_or_result(tool, code, expected):
    assert await value(tool, code, a=1, b=2, c=3) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("result = (1, {3, 2})", [1, [2, 3]]),
        (
            "import datetime as d\nresult = [d.date(2026, 3, 1), d.datetime(2026, 3, 1, 5)]",
            ["2026-03-01", "2026-03-01T05:00:00"],
        ),
        ("import decimal\nresult = decimal.Decimal('1.10')", "1.10"),
        ("import uuid\nresult = uuid.UUID(int=1)", "00000000-0000-0000-0000-000000000001"),
        ("import pathlib\nresult = {1: pathlib.Path('a') / 'b'}", {"1": "a/b"}),
        ("result = [2**64 - 1, -2**63, '9' * 30]", [2**64 - 1, -(2**63), "9" * 30]),
        ("result = [[]] * 1000", [[]] * 1000),
    ],
)
async def test_a_result_is_turned_into_data(tool, code, expected):
    assert await value(tool, code) == expected


@pytest.mark.spec("TK-19")
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("result = {'rows': [1, object()]}", "result['rows'][1] is an object of type object; "),
        ("result = {'a': b'x'}", "result['a'] is bytes; "),
        ("result = [float('nan')]", "result[0] is nan, "),
        ("result = {'a': {(1, 2): 3}}", "result['a'] has a key that is an object of type tuple; "),
        ("result = 2**64", "result is an integer of more than 64 bits"),
        ("result = []\nresult.append(result)", "is nested more than 64 levels deep"),
        ("result = []\nfor _ in range(70): result = [result]", "is nested more than 64 levels deep"),
        ("result = 'a\\ud800'", "result is text with half a character"),
        ("import decimal\nresult = [decimal.Context]", "result[0] is an object of type type"),
    ],
)
async def test_a_result_that_is_not_data_is_refused_with_its_place(tool, code, message):
    kind, found = error_of(await failed(tool, code))

    assert kind == "type"
    assert message in found


async def test_what_is_printed_is_kept_as_log_lines(tool):
    output = await run(tool, call(KIND, code="import sys\nprint('one')\nprint('two', file=sys.stderr)"))

    assert output.logs == ("one", "two")
    assert output.helpers["py"]["stdout"] == "one\ntwo\n"


async def test_printing_is_bounded(tool):
    output = await run(tool, call(KIND, code="for i in range(100_000): print(i)"))

    assert output.logs[:2] == ("0", "1")
    assert len(output.logs) == 201
    assert output.logs[-1] == "… 99800 more lines"
    assert len(output.helpers["py"]["stdout"]) == 16 * 1024


async def test_code_may_close_standard_output(tool):
    await value(tool, "import sys; sys.stdout.close()")

    assert (await run(tool, call(KIND, code="print('still')"))).logs == ("still",)


# how it fails


@pytest.mark.spec("TK-04", "TK-19")
@pytest.mark.parametrize(
    ("code", "exception_type", "message"),
    [
        ("a = 1\nb = 0\na / b", "ZeroDivisionError", "ZeroDivisionError: division by zero (line 3 of the code)"),
        ("\n\nif True return", "SyntaxError", "SyntaxError: invalid syntax (line 3 of the code)"),
        ("import json\njson.loads('{')", "JSONDecodeError", "(line 2 of the code)"),
        ("def main(needed): pass", "TypeError", "TypeError: main() missing 1 required positional argument: 'needed'"),
        ("import sys\nsys.exit(3)", "SystemExit", "SystemExit: 3 (line 2 of the code)"),
        ("a = 1\nif a: return 1 / 0", "ZeroDivisionError", "ZeroDivisionError: division by zero (line 2 of the code)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt (line 1 of the code)"),
        ("class E(Exception):\n  def __str__(self): 1 / 0\nraise E", "E", "E (line 3 of the code)"),
        ("def f(): f()\nf()", "RecursionError", "RecursionError: maximum recursion depth exceeded"),
    ],
)
async def test_an_exception_says_its_type_and_the_line_of_the_code(tool, code, exception_type, message):
    output = await failed(tool, code)

    assert output.error.kind == "exception"
    assert not output.error.retryable
    assert message in output.error.message
    assert output.helpers["py"]["exception_type"] == exception_type


async def test_what_was_printed_before_an_exception_is_kept(tool):
    assert (await failed(tool, "print('so far')\n1 / 0")).logs == ("so far",)


@pytest.mark.parametrize(
    ("code", "steps"),
    [
        ("a = 1\na / 0", ["line 2: a / 0"]),
        (
            "def inner(x):\n    return 1 / x\n\ndef main():\n    return inner(0)",
            ["line 5, in main: return inner(0)", "line 2, in inner: return 1 / x"],
        ),
        ("import json\ntext = '{'\nreturn json.loads(text)", ["line 3: return json.loads(text)"]),
        ("async def main():\n    raise KeyError('k')", ["line 2, in main: raise KeyError('k')"]),
        ("x = 1\nif x return", ["line 2: if x return"]),
    ],
)
async def test_a_traceback_has_the_lines_of_the_code_and_no_others(tool, code, steps):
    output = await failed(tool, code)

    assert output.error.details["traceback"] == steps
    assert output.error.details["line"] == int(steps[-1].split(":")[0].split(",")[0].removeprefix("line "))


async def test_a_long_traceback_is_cut_in_its_middle(tool):
    output = await failed(tool, "def f(n):\n    return f(n - 1) if n else 1 / 0\nf(200)")

    traceback = output.error.details["traceback"]
    assert (len(traceback), traceback[0], traceback[5]) == (11, "line 3: f(200)", "… 192 more")
