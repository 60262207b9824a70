"""A folder for packages, empty."""

import pytest

from tests.plugins.packages import Packages


@pytest.fixture
def packages(tmp_path):
    return Packages(tmp_path / "packages")
