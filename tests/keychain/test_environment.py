"""Credentials out of NOETL_SECRET_ variables."""

import pytest

from noetl.keychain.environment import EnvironmentSource, variable_of
from tests.keychain.parts import PLANTED, declared


@pytest.mark.spec("KC-03")
async def test_a_variable_with_a_json_mapping_is_the_entry():
    source = EnvironmentSource({"NOETL_SECRET_ORDERS_API": '{"token": "planted-s3cret"}'})

    entry = await source.entry(declared("orders-api"))

    assert entry == {"token": PLANTED}


@pytest.mark.parametrize("text", [PLANTED, "[1, 2]", '"quoted"', "12345678"])
async def test_any_other_text_is_the_value_of_the_entry(text):
    source = EnvironmentSource({"NOETL_SECRET_A": text})

    entry = await source.entry(declared("a"))

    assert entry == {"value": text}


@pytest.mark.parametrize("environment", [{}, {"NOETL_SECRET_MY_API": ""}])
async def test_an_unset_or_empty_variable_is_no_entry(environment):
    entry = await EnvironmentSource(environment).entry(declared("my.api"))

    assert entry is None


@pytest.mark.parametrize("text", ['{"token": planted-s3cret}', '{"planted-s3cret"', '{"a": "planted-s3cret" "b"}'])
async def test_a_broken_mapping_is_refused_without_being_shown(text):
    source = EnvironmentSource({"NOETL_SECRET_A": text})

    with pytest.raises(LookupError) as raised:
        await source.entry(declared("a"))

    assert "NOETL_SECRET_A begins as a JSON mapping, but is none" in str(raised.value)
    assert PLANTED not in str(raised.value)


async def test_a_changed_variable_counts_at_once():
    environment = {"NOETL_SECRET_A": "before"}
    source = EnvironmentSource(environment)
    environment["NOETL_SECRET_A"] = "after"

    entry = await source.entry(declared("a"))

    assert entry == {"value": "after"}


@pytest.mark.parametrize(
    ("name", "variable"),
    [("api", "NOETL_SECRET_API"), ("a.b-c d", "NOETL_SECRET_A_B_C_D"), ("é", "NOETL_SECRET__")],
)
def test_a_name_has_one_variable(name, variable):
    assert variable_of(name) == variable


@pytest.mark.parametrize("text", ["planted-s3cret\udcff", '{"token": "planted-s3cret\udcff"}'])
async def test_a_variable_that_is_no_text_is_refused_without_being_shown(text):
    source = EnvironmentSource({"NOETL_SECRET_A": text})

    with pytest.raises(LookupError, match="NOETL_SECRET_A is not UTF-8 text") as raised:
        await source.entry(declared("a"))

    assert PLANTED not in str(raised.value)
