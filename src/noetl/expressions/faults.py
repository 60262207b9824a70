"""Faults of the expression language: the two that callers see, and the one that travels inside.

A `TemplateSyntaxFault` says that a text is not a template of ours; an `EvaluationFault` says that a good template met
values it cannot use. Neither ever carries a value of the scope: names, types and the template's own text only.
(TP-03, TP-07, KC-05)
"""

from collections.abc import Iterable
from typing import Final, Literal

SyntaxKind = Literal["syntax", "length"]
FaultKind = Literal["undefined", "security", "limit", "type", "template", "reference"]

EXPRESSION_CHARS_MAX: Final = 200


class TemplateSyntaxFault(Exception):
    """The text is not a template; `offset` counts characters from 0."""

    def __init__(self, message: str, offset: int, kind: SyntaxKind = "syntax") -> None:
        super().__init__(message, offset, kind)
        self.message = message
        self.offset = offset
        self.kind: SyntaxKind = kind

    def __str__(self) -> str:
        return f"{self.message} (at character {self.offset + 1})"


class EvaluationFault(Exception):
    """A template could not be evaluated; `names` are those that exist where an undefined one was looked for."""

    def __init__(
        self,
        message: str,
        expression: str,
        offset: int | None,
        kind: FaultKind,
        names: tuple[str, ...] = (),
    ) -> None:
        cut = expression[:EXPRESSION_CHARS_MAX]
        super().__init__(message, cut, offset, kind, names)
        self.message = message
        self.expression = cut
        self.offset = offset
        self.kind: FaultKind = kind
        self.names = names

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at character {self.offset + 1}"
        return f"{self.message} (in {self.expression}{place})"


class Refusal(Exception):
    """Raised deep inside an evaluation; becomes an `EvaluationFault` at its edge. Never leaves the package."""

    def __init__(self, kind: FaultKind, message: str, offset: int | None = None, names: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message
        self.offset = offset
        self.names = names

    def place(self, offset: int) -> None:
        """Remember where it happened, unless something further in already did."""
        if self.offset is None:
            self.offset = offset


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, 1)), None)
