"""Provider env: a variable of the worker, if the operator allows it.

An author names the variable, and a worker's environment holds more than is meant for authors: the master key, the
provider's own tokens. So only names that `keychain.env_allow` lists can be had, with * for any characters at the end;
none by default, and never a name that begins with NOETL_.
"""

from __future__ import annotations

from noetl.keychain.providers.contract import Fetched, Means, wanted
from noetl.secret import Declared

OWN_PREFIX = "NOETL_"


class EnvProvider:
    def __init__(self, means: Means) -> None:
        self._means = means

    async def fetch(self, declared: Declared) -> Fetched:
        name = wanted(declared, "variable", "var", "env", "key", "path")
        if not is_allowed(name, self._means.settings.keychain_env_allow):
            raise LookupError(
                f'the variable "{name}" is not allowed: an operator lists it in keychain.env_allow '
                f"(NOETL_KEYCHAIN_ENV_ALLOW); names that begin with {OWN_PREFIX} are never allowed"
            )
        text = self._means.environment.get(name)
        if not text:
            raise LookupError(f'the variable "{name}" is not set where the worker runs')
        return Fetched(text=text)

    async def close(self) -> None:
        """There is nothing to give back."""


def is_allowed(name: str, allow: tuple[str, ...]) -> bool:
    if name.upper().startswith(OWN_PREFIX):  # variables of Windows have no case
        return False
    return any(name.startswith(word[:-1]) if word.endswith("*") else name == word for word in allow)
