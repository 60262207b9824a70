"""Which of many fixed texts are in another: forms of secrets and a text in, those that are there out.

One pattern of all forms would be the obvious way, but the engine of `re` tries the alternatives one by one at every
character: 124 ms per MB for 20 secrets (100 forms). `form in text` for each form, which skips ahead, takes 13 ms, and
is what is done for a few.

For more, samples: of a text that has a form of at least 16 characters, one of every 9 places begins 8 characters that
are the form's, whatever the place of the form. So every ninth is looked up among all runs of 8 characters that begin at
the first 9 places of a form, and only forms that were hit are looked for. The same with 4 characters at every third
place for shorter ones. That takes 50 ms per MB however many forms there are, and no memory that grows with the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain

FORM_CHARACTERS_MIN = 6
LONG_CHARACTERS_MIN = 16
SHORT_SAMPLE_CHARACTERS, LONG_SAMPLE_CHARACTERS = 4, 8
FORMS_EACH_MAX = 64  # looked for one by one
GROWTH = 8  # a generation is so many times as large as the next, or they become one


class Samples:
    """Forms of at least so many characters, found by a few of them."""

    def __init__(self, forms: Iterable[str], form_characters_min: int, sample_characters: int) -> None:
        self._size = sample_characters
        self._stride = form_characters_min - sample_characters + 1
        self._forms: dict[str, list[str]] = {}
        for form in forms:
            for start in range(self._stride):
                self._forms.setdefault(form[start : start + self._size], []).append(form)

    def hit(self, text: str) -> Iterable[str]:
        """The forms that may be in this text."""
        if not self._forms:
            return ()
        found = {
            sample
            for start in range(0, len(text), self._stride)
            if (sample := text[start : start + self._size]) in self._forms
        }
        return chain.from_iterable(self._forms[sample] for sample in found)


class Generation:
    """A fixed set of forms."""

    def __init__(self, forms: frozenset[str]) -> None:
        self.forms = forms
        self.characters_max = max(map(len, forms), default=0)

    def present(self, text: str) -> Iterable[str]:
        candidates: Iterable[str] = self.forms
        if len(self.forms) > FORMS_EACH_MAX:
            candidates = {form for samples in self._samples for form in samples.hit(text)}
        return (form for form in candidates if form in text)

    @cached_property
    def _samples(self) -> tuple[Samples, Samples]:
        long = {form for form in self.forms if len(form) >= LONG_CHARACTERS_MIN}
        return (
            Samples(long, LONG_CHARACTERS_MIN, LONG_SAMPLE_CHARACTERS),
            Samples(self.forms - long, FORM_CHARACTERS_MIN, SHORT_SAMPLE_CHARACTERS),
        )


class SearchedForms:
    """All forms, in a few generations: one more form does not cost a copy of thousands. Never changes."""

    def __init__(self, generations: tuple[Generation, ...] = ()) -> None:
        self._generations = generations  # the largest first
        self.characters_max = max((generation.characters_max for generation in generations), default=0)

    @classmethod
    def of(cls, forms: Iterable[str]) -> SearchedForms:
        found = frozenset(forms)
        return cls((Generation(found),) if found else ())

    def with_more(self, forms: Iterable[str]) -> SearchedForms:
        older, newest = list(self._generations), frozenset(forms)
        while older and _are_one(len(older[-1].forms), len(newest)):
            newest |= older.pop().forms
        return SearchedForms((*older, Generation(newest))) if newest else self

    def present(self, text: str) -> set[str]:
        return {form for generation in self._generations for form in generation.present(text)}


def _are_one(older_count: int, newer_count: int) -> bool:
    return older_count + newer_count <= FORMS_EACH_MAX or older_count < GROWTH * newer_count
