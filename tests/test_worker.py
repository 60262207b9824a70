"""What an operator set reaches the tools of a worker."""

import pytest

from noetl.config import load
from noetl.worker import tool_settings


def settings_with(folder, **variables):
    return load(environ={"HOME": str(folder), **variables}, folder=folder)


@pytest.mark.parametrize(
    ("is_embedded", "variable", "expected"),
    [(True, "", True), (False, "", False), (True, "false", False), (False, "true", True)],
)
def test_loopback_is_reached_by_an_embedded_worker_and_not_in_a_cluster_unless_it_is_said(
    tmp_path, is_embedded, variable, expected
):
    settings = settings_with(tmp_path, NOETL_HTTP_LOOPBACK=variable)

    assert tool_settings(settings, is_embedded=is_embedded).is_loopback_allowed is expected


def test_inline_code_is_off_unless_it_is_said(tmp_path):
    silent, told = settings_with(tmp_path), settings_with(tmp_path, NOETL_PYTHON_INLINE="1")

    assert not tool_settings(silent, is_embedded=True).is_inline_allowed
    assert tool_settings(told, is_embedded=True).is_inline_allowed
    assert tool_settings(told, is_embedded=True).home == told.home
