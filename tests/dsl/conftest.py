"""Fixtures of the front end's tests."""

import pytest

from tests.dsl.front import Front


@pytest.fixture
def front() -> Front:
    return Front()
