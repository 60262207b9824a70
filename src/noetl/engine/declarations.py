"""What a playbook declares of its keychain, with its templates rendered: all that is needed to look an entry up."""

from __future__ import annotations

from typing import Any

from noetl.dsl.model import Credential
from noetl.engine.values import rendered
from noetl.secret import Declared


def declared(credential: Credential, workload: dict[str, Any]) -> Declared:
    """One entry. Its settings may read the workload, which is all there is before the workflow starts (KC-01)."""
    scope = {**workload, "workload": workload}
    settings = {name: rendered(value, scope) for name, value in credential.settings.items()}
    return Declared(name=credential.name, kind=credential.kind, settings=settings)
