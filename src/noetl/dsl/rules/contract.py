"""What a rule is: a code, a name, a page, and a function from a Draft (or a Reading) to findings.

A rule's module is its documentation: the docstring is the page that `noetl explain` prints and `docs/rules/` holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from noetl.dsl.findings import ERROR, Edit, Finding
from noetl.dsl.source import Place

Check = Callable[[Any], Iterator[Finding]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """The name and weight of a fault."""

    code: str
    name: str
    spec: tuple[str, ...]  # the requirements it enforces
    severity: str = ERROR
    also: tuple[str, ...] = ()  # the severities that some of its findings have instead
    is_of_text: bool = False  # looks at the Reading, before there is a Draft

    def at(
        self,
        place: Place,
        message: str,
        *,
        why: str = "",
        fix: str = "",
        edits: tuple[Edit, ...] = (),
        severity: str | None = None,
        is_about_secret: bool = False,
    ) -> Finding:
        """A finding of this rule."""
        return Finding(
            code=self.code,
            rule=self.name,
            severity=severity or self.severity,
            place=place,
            message=message,
            why=why,
            fix=fix,
            edits=edits,
            is_about_secret=is_about_secret,
        )
