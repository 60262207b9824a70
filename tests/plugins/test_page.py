"""docs/plugins.md from start to finish: the kind that it builds is checked, runs, and passes the suite."""

import os
import re
import subprocess
import sys

import pytest

from tests.cli.running import document, noetl
from tests.dsl.front import PLAYBOOKS

PAGE = (PLAYBOOKS.parent.parent / "docs" / "plugins.md").read_text("utf-8")


@pytest.fixture
def package(tmp_path, packages):
    """The files of the page, each named in its first line, and the package as installed."""
    for block in re.findall(r"^```(?:python|toml|yaml)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        file = tmp_path / block.splitlines()[0].removeprefix("# ")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block)
    packages.add("noetl-words", version="0.1.0", kinds={"words": "noetl_words"}, modules={})
    packages.places.append(tmp_path / "src")
    return tmp_path


@pytest.mark.slow
@pytest.mark.spec("TL-02")
def test_the_kind_of_the_page_is_refused_enabled_and_run(package, packages):
    enabling = (package / "noetl.toml").rename(package / "aside.toml")
    refused = noetl("check", "count.yaml", home=package, **packages.environ)
    enabling.rename(package / "noetl.toml")
    found = document(noetl("run", "count.yaml", "--format", "json", home=package, **packages.environ))

    assert refused.stdout in PAGE
    assert found["output"]["data"] == {"be": 2, "not": 1, "or": 1, "to": 2}
    assert found["output"]["words"] == {"total": 6}


@pytest.mark.slow
@pytest.mark.spec("TL-02")
def test_the_tests_of_the_page_pass(package, packages):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=package,
        env={**os.environ, **packages.environ},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert "4 passed" in done.stdout, done.stdout
