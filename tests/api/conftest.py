"""One running server for a test."""

import pytest

from tests.api.site import site


@pytest.fixture
async def api(tmp_path):
    async with site(tmp_path) as found:
        yield found
