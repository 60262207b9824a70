"""The glossary settles doubts: one row for a word, and a word for whatever the language and the pages speak of."""

import re
from collections import Counter
from pathlib import Path

import pytest

from noetl.engine.events import NAMES

DOCS = Path(__file__).parent.parent.parent / "docs"
ROWS = [
    row.split("|")[1].strip() for row in (DOCS / "glossary.md").read_text("utf-8").splitlines() if row.startswith("| ")
][1:]
WORDS = [word.strip().lower() for row in ROWS for word in row.split(",")]
OF_THE_LANGUAGE = (  # the sections of a playbook and what stands in them
    "playbook workflow step admission loop iteration pipeline task kind policy directive router arc guard join "
    "compensation planner set output reference reducer scope workbook keychain catalog execution token event log replay"
).split()
SPEAKERS = {"loop.iteration": "iteration", "child": "child", "signal": "signal", "next": "router", "engine": "incident"}


def test_a_word_has_one_row():
    assert [word for word, count in Counter(WORDS).items() if count > 1] == []


@pytest.mark.parametrize("word", OF_THE_LANGUAGE)
def test_a_word_of_the_language_is_explained(word):
    assert word in WORDS


@pytest.mark.parametrize("subject", sorted({name.partition(".")[0] for name in NAMES.values()}))
def test_what_an_event_is_about_is_explained(subject):
    assert SPEAKERS.get(subject, subject) in WORDS


def test_words_in_bold_where_the_model_is_explained_are_in_the_glossary():
    bold = re.findall(r"\*\*([\w ]+)\*\*", (DOCS / "model.md").read_text("utf-8"))

    assert len(bold) > 10
    assert [
        word for word in bold if not any(part in WORDS for part in (word, word.removesuffix("s"), *word.split()))
    ] == []
