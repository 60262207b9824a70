"""What every acceptance test works with: the command line over a fresh home, and a web API on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from noetl.testing.http_server import ApiServer, running_api
from tests.acceptance.noetl import Noetl


@pytest.fixture
def noetl(tmp_path: Path) -> Noetl:
    return Noetl(tmp_path)


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with running_api() as running:
        yield running
