"""What a worker cannot run fails the task, and says what is missing."""

import msgspec
import pytest

from noetl.dsl.kinds import Kind
from noetl.errors import MissingLibrary, UnusablePlugin
from noetl.runner.toolbox import Toolbox
from noetl.testing.hands import hands
from noetl.tools.registry import Declarations


class Bare(Declarations):
    """A worker without the library of duckdb."""

    def __getitem__(self, name: str) -> Kind:
        kind = super().__getitem__(name)
        return msgspec.structs.replace(kind, module="no_such_library") if name == "duckdb" else kind


def test_a_kind_whose_library_is_not_installed_here_names_the_extra():
    with pytest.raises(MissingLibrary, match=r'kind: duckdb, which needs: pip install "noetl\[duckdb\]"'):
        Toolbox(hands(), Bare()).tool("duckdb")


def test_a_kind_that_only_the_server_has_is_named():
    with pytest.raises(UnusablePlugin, match="this worker has no kind: quantum"):
        Toolbox(hands(), Declarations()).tool("quantum")
