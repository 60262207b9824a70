"""Our part of JSON Schema means what the standard says: compared with the library, and message by message."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.dsl.schema_faults import schema_faults
from noetl.json_schema import TYPES, mismatch, needs_library

NAMES = st.sampled_from(("a", "b", "id"))
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from((0.5, 1.0, -2.0)) | st.text("ab", max_size=3)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
SMALL = st.integers(0, 3)


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(inner, min_size=1, max_size=2)
    types = st.sampled_from(TYPES)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
            "enum": st.lists(values, min_size=1, max_size=3),
            "const": values,
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": inner,
            "prefixItems": some,
            "items": inner,
            "minimum": SMALL,
            "exclusiveMaximum": SMALL,
            "minLength": SMALL,
            "maxLength": SMALL,
            "minItems": SMALL,
            "maxItems": SMALL,
            "minProperties": SMALL,
            "maxProperties": SMALL,
            "anyOf": some,
            "oneOf": some,
            "allOf": some,
            "not": inner,
        },
    )


schemas: st.SearchStrategy[Any] = st.recursive(st.booleans() | keywords(st.booleans()), keywords, max_leaves=6)


@pytest.mark.spec("RS-07")
@settings(max_examples=400, deadline=None)
@given(schema=schemas, data=values)
def test_a_schema_means_what_the_library_says(schema: Any, data: Any) -> None:
    is_valid = jsonschema_rs.Draft202012Validator(schema).is_valid(data)

    assert (mismatch(schema, data) is None) == is_valid


@pytest.mark.spec("RS-07")
@given(schema=schemas)
def test_a_sound_schema_has_no_faults_and_needs_no_library(schema: Any) -> None:
    assert list(schema_faults(schema)) == []
    assert needs_library(schema) is None


@pytest.mark.spec("RS-07")
@pytest.mark.parametrize(
    ("schema", "data", "message"),
    [
        ({"type": "integer"}, "x", "data: wanted integer, found a string of 1 characters"),
        ({"type": ["integer", "null"]}, 1.5, "data: wanted integer or null, found a number"),
        (
            {"items": {"properties": {"id": {"type": "integer"}}}},
            [{"id": 1}, {"id": "7"}],
            "data[1].id: wanted integer, found a string of 1 characters",
        ),
        ({"required": ["id"]}, {}, 'data: wanted the property "id", found none of that name'),
        (
            {"properties": {"a": True}, "additionalProperties": False},
            {"b": 1},
            'data: wanted no further properties, found "b"',
        ),
        (
            {"enum": ["new", "done"]},
            "old",
            'data: wanted one of ["new","done"], found another value (a string of 3 characters)',
        ),
        ({"minimum": 3}, 2, "data: wanted at least 3, found another number"),
        ({"maxLength": 2}, "abc", "data: wanted at most 2 characters, found a string of 3 characters"),
        (
            {"anyOf": [{"type": "null"}, {"required": ["a"]}]},
            {},
            'data: wanted one of these: data null; data the property "a", found an object of 0 properties',
        ),
    ],
)
def test_a_mismatch_says_where_what_and_what_instead(schema: Any, data: Any, message: str) -> None:
    assert str(mismatch(schema, data)) == message


@pytest.mark.parametrize("keyword", ["pattern", "format", "$ref", "uniqueItems", "patternProperties"])
def test_a_keyword_that_is_not_ours_is_found_wherever_it_stands(keyword: str) -> None:
    schema = {"properties": {"a": {"anyOf": [{"items": {keyword: "x"}}]}}}

    assert needs_library(schema) == keyword


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("text", ()),
        ({"type": "list"}, ("type",)),
        ({"type": 5}, ("type",)),
        ({"type": []}, ("type",)),
        ({"requird": ["a"]}, ("requird",)),
        ({"required": "a"}, ("required",)),
        ({"properties": ["a"]}, ("properties",)),
        ({"properties": {"a": 5}}, ("properties", "a")),
        ({"anyOf": []}, ("anyOf",)),
        ({"anyOf": [True, 5]}, ("anyOf", 1)),
        ({"enum": "a"}, ("enum",)),
        ({"minimum": True}, ("minimum",)),
        ({"maxLength": -1}, ("maxLength",)),
        ({"not": {"items": None}}, ("not", "items")),
    ],
)
def test_a_fault_of_a_schema_is_found_at_its_place(schema: Any, path: tuple[str | int, ...]) -> None:
    assert [fault.path for fault in schema_faults(schema)] == [path]
