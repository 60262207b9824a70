"""The stored credentials as a source of the keychain: opened at each use, so a change or a removal counts at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from noetl.errors import OperatorError
from noetl.keychain.field_references import with_values
from noetl.keychain.kinds import kind_named
from noetl.keychain.stored import StoredCredentials
from noetl.keychain.strongbox import REFERENCES, Row
from noetl.secret import Declared

ANY_KIND = "secret_manager"  # declared so, a credential may be stored as whatever it is


class StoredSource:
    """See `noetl.keychain.sources.Source`."""

    def __init__(self, stored: StoredCredentials, environ: Mapping[str, str]) -> None:
        self._stored = stored
        self._environ = environ

    async def entry(self, declared: Declared) -> Mapping[str, Any] | None:
        try:
            found = await self._stored.read(declared.name)
        except OperatorError as error:
            raise LookupError(str(error)) from error
        if found is None:
            return None
        row, fields = found
        _refuse_other_kind(row, declared.kind)
        if row.origin != REFERENCES:
            return fields
        return await asyncio.to_thread(with_values, row.name, fields, self._environ)


def _refuse_other_kind(row: Row, kind: str) -> None:
    wanted, found = kind_named(kind), kind_named(row.kind)
    if wanted and wanted.name != ANY_KIND and found is not wanted:
        raise LookupError(
            f'the playbook declares the credential "{row.name}" as {kind}, but it is stored as {row.kind}. '
            "Declare it as what it is, or set it again with that kind"
        )
