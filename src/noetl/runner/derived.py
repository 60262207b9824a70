"""Secrets that templates make of secrets: a task's rendered input in, texts to be redacted out (KC-05).

`{{ keychain.api.token | sha256 }}` is as secret as the token, but no longer looks like it, so the redactor would let
it pass. A text counts if its template reads a field that is secret, and the redactor does not find a known secret in
it anyway: `user:password` needs nothing more. Texts made only of public fields (a host, a user) are left alone, and so
is what stands in the template itself ('prod' if keychain.api.token else 'test'): redacting those would destroy data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from noetl.dsl.model import Credential, Parts, Playbook, Task
from noetl.expressions import Template
from noetl.keychain.kinds import kind_named
from noetl.keychain.known import PUBLIC_FIELDS, is_public
from noetl.keychain.redaction import Redactor
from noetl.secret import revealed

KEYCHAIN, INPUT = "keychain", "input"
WORD_CHARACTERS_MIN = 16  # of a word of a longer text, such as the signature in `Signature 5f2c…`
TEXT_CHARACTERS_MAX = 8 * 1024  # a longer one is a document, which nobody echoes whole


def credentials_read(task: Task) -> set[str]:
    """The names of the entries that a task's templates read."""
    templates = (template for value in task.input.values() for template in _templates_in(value.parts))
    paths = (read.path for template in templates for read in template.reads if read.name == KEYCHAIN)
    return {str(path[1]) for path in paths if len(path) > 1}


class Secrecy(msgspec.Struct, frozen=True, kw_only=True):
    """What is secret among the names that a template reads."""

    credentials: dict[str, Credential]
    inputs: frozenset[str] = frozenset()  # what the caller of a workbook task made of a secret: `input.<name>` there

    def is_read_by(self, template: Template) -> bool:
        return any(self._has(read.path) for read in template.reads)

    def _has(self, path: tuple[str | int, ...]) -> bool:
        if path[0] == KEYCHAIN:
            return len(path) < 3 or not self._is_public(str(path[1]), str(path[2]))
        return path[0] == INPUT and bool(self.inputs) and (len(path) < 2 or path[1] in self.inputs)

    def _is_public(self, name: str, field: str) -> bool:
        credential = self.credentials.get(name)
        return is_public(field, kind_named(credential.kind) if credential else None)


def derived_secrets(
    playbook: Playbook,
    task: Task,
    given: dict[str, Any],
    redactor: Redactor,
    secret_inputs: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """The texts of a rendered input that were made of a secret and do not show it."""
    secrecy = Secrecy(credentials=playbook.credentials, inputs=secret_inputs)
    sources = {KEYCHAIN, INPUT} if secret_inputs else {KEYCHAIN}
    for name, value in task.input.items():
        if value.reads & sources and name in given:
            for text, template in _made(value.parts, revealed(given[name]), secrecy):
                yield from _unrecognised(text, template, redactor)


def secret_inputs_of(playbook: Playbook, task: Task) -> frozenset[str]:
    """The fields of a task that are made of a secret."""
    secrecy = Secrecy(credentials=playbook.credentials)
    return frozenset(
        name for name, value in task.input.items() if any(map(secrecy.is_read_by, _templates_in(value.parts)))
    )


def _unrecognised(text: str, template: Template, redactor: Redactor) -> Iterator[str]:
    if len(text) > TEXT_CHARACTERS_MAX or redactor.find(text) is not None:
        return
    words = [word for word in text.split() if len(word) >= WORD_CHARACTERS_MIN]
    for part in dict.fromkeys((text, *words)):
        if part not in template.source:
            yield part


def _made(parts: Parts, data: Any, secrecy: Secrecy) -> Iterator[tuple[str, Template]]:
    """The texts that come from a template which reads a secret, each with its template."""
    if isinstance(parts, Template):
        if secrecy.is_read_by(parts):
            yield from ((text, parts) for text in _texts_in(data))
    elif isinstance(parts, dict):
        for name, part in parts.items():
            yield from _made(part, data[name], secrecy)
    elif isinstance(parts, list):
        for part, item in zip(parts, data, strict=True):
            yield from _made(part, item, secrecy)


def _texts_in(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for name, value in data.items():
            if name not in PUBLIC_FIELDS:
                yield from _texts_in(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts_in(item)


def _templates_in(parts: Parts) -> Iterator[Template]:
    if isinstance(parts, Template):
        yield parts
    elif isinstance(parts, dict | list):
        for part in parts.values() if isinstance(parts, dict) else parts:
            yield from _templates_in(part)
