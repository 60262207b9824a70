"""A machine without Chromium: it is said how to get one, the browser tests are skipped, and in CI they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ONE = "tests/browser/test_frame.py::test_an_address_without_a_page_says_so"


def run(*words: str, is_ci: bool) -> subprocess.CompletedProcess[str]:
    """Python where no program is found by its name."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "NOETL_CHROMIUM", "PATH")}
    environment = {**kept, "PATH": "/nowhere", **({"CI": "true"} if is_ci else {})}
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(("is_ci", "code"), [(False, 0), (True, 1)])
def test_the_script_says_how_to_get_one_and_fails_only_in_ci(is_ci, code):
    done = run("scripts/browser.py", is_ci=is_ci)

    assert done.returncode == code
    assert "apt-get install chromium" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("is_ci", "word"), [(False, "1 skipped"), (True, "1 error")])
def test_the_browser_tests_are_skipped_and_in_ci_never(is_ci, word):
    done = run("-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", ONE, is_ci=is_ci)

    assert word in done.stdout
    assert "install Chromium" in done.stdout
