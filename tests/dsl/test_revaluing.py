"""A value in a document becomes another one: what differs is spelt anew, everything else stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.dsl.nodes import plain
from noetl.dsl.read import read
from noetl.dsl.rewriting.revaluing import is_same, revalued
from noetl.dsl.rewriting.writing import block
from noetl.rehearsal.updating import applied

SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab: #\n\"'-é", max_size=6)
NAMES = st.text("abcd", min_size=1, max_size=2)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def rewritten(text, new):
    (root,) = read(text, "a.yaml").documents
    return applied(text, list(revalued(root.entries["it"], new)))


def test_parts_that_come_and_go_leave_the_comments_of_the_others():
    text = """\
it:   # all of it
  # the first
  a: 1   # one
  b: 2   # two
  # before the list
  c:   # a list
    # its items
    - x: 1   # x
      y: 2   # y
    - 2   # second
    - 3   # third
  d: &kept { e: 1 }   # in braces
after: *kept   # that
"""

    found = rewritten(text, {"a": 5, "c": [{"x": 1, "y": 3, "z": [1]}, {"n": None}], "d": {"e": 1}, "new": {"f": True}})

    assert (
        found
        == """\
it:   # all of it
  # the first
  a: 5   # one
  # before the list
  c:   # a list
    # its items
    - x: 1   # x
      y: 3   # y
      z: [1]
    - { n: null }   # second
  d: &kept { e: 1 }   # in braces
  new: { f: true }
after: *kept   # that
"""
    )


def test_a_user_of_an_alias_gets_a_value_of_its_own_and_the_anchor_stays():
    text = "first: &a {n: 1}\nit: {x: *a, y: *a} # both\n"

    assert rewritten(text, {"x": {"n": 2}, "y": {"n": 1}}) == "first: &a {n: 1}\nit: {x: { n: 2 }, y: *a} # both\n"


def test_a_list_of_another_length_in_the_midst_of_others_keeps_their_order():
    text = "it:\n  a:\n    - 1\n    - 2 # two\n  b: 1\n"

    assert (
        rewritten(text, {"a": [1, 2, 3], "b": 1, "c": 2})
        == "it:\n  a:\n    - 1\n    - 2 # two\n    - 3\n  b: 1\n  c: 2\n"
    )


def test_a_text_with_a_hash_in_braces_is_no_comment():
    assert rewritten('it: {a: " #", "b #": 1}\n', None) == "it: null\n"
    assert rewritten("it: {a: 1, # said\n     b: 2}\n", None) == "it: {a: 1, # said\n     b: 2}\n"


@pytest.mark.parametrize(("one", "other"), [(True, 1), ([False], [0]), ({"a": {"b": 1}}, {"a": {"b": True}})])
def test_true_is_not_one_at_any_depth(one, other):
    assert not is_same(one, other)
    assert is_same(one, one)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(old=st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), new=VALUES)
def test_any_value_becomes_any_other(end, old, new):
    lines = block({"it": old, "after": 1}, 0)
    text = end.join(["# above", *(f"{line}   # c" for line in lines), ""])

    found = read(rewritten(text, new), "a.yaml")

    assert not found.faults
    assert is_same(plain(found.documents[0]), {"it": new, "after": 1})


@given(old=st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), data=st.data())
def test_comments_beside_what_stays_are_kept(old, data):
    kept = data.draw(st.sets(st.sampled_from(sorted(old)), min_size=1))
    added = data.draw(st.dictionaries(NAMES.filter(lambda name: name not in old), VALUES, max_size=2))
    lines = ["it:", *(line for key in old for line in (f"  # of {key}", *block({key: old[key]}, 2)))]
    new = {**{key: old[key] for key in old if key in kept}, **added}

    found = rewritten("\n".join([*lines, ""]), new)

    assert is_same(plain(read(found, "a.yaml").documents[0]), {"it": new})
    assert all(f"  # of {key}\n" in found for key in old)
