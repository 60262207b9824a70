"""The stored credentials of one home: which strongbox, which keys. Nothing is opened or made here.

Strongbox and key file stand in the home, both of them. A store that servers share has a strongbox of its own, and so a
ring of its own: keys are dropped when one strongbox needs them no more, so a ring must not have a second one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from noetl.clock import Clock
from noetl.config import Settings
from noetl.config.values import KEYS_IN_SERVICE
from noetl.keychain import key_file, key_variable, strongbox_sqlite
from noetl.keychain.key_file import KeyFile
from noetl.keychain.key_service import KeyService
from noetl.keychain.key_variable import KeyVariable
from noetl.keychain.ring import Keys
from noetl.keychain.stored import StoredCredentials
from noetl.keychain.strongbox_sqlite import SqliteStrongbox

SHARED = "cluster"


def stored_credentials(settings: Settings, environ: Mapping[str, str], clock: Clock) -> StoredCredentials:
    """The credentials that `noetl keychain` keeps in the home of these settings."""
    return StoredCredentials(SqliteStrongbox(box_path(settings.home)), keys_of(settings, environ), clock)


def box_path(home: Path) -> Path:
    return home / strongbox_sqlite.FILE_NAME


def keys_of(settings: Settings, environ: Mapping[str, str]) -> Keys:
    """NOETL_MASTER_KEY if it is set, else what the setting `keychain.key` says."""
    if given := environ.get(key_variable.VARIABLE):
        return KeyVariable(given)
    if settings.keychain_key == KEYS_IN_SERVICE:
        return KeyService(settings.home, SHARED if settings.is_shared else "")
    return KeyFile(settings.home / (key_file.SHARED_FILE_NAME if settings.is_shared else key_file.FILE_NAME))
