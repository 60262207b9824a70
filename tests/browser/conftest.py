"""For the browser tests: they go to one process together, and without a Chromium they are skipped, except in CI."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.browser import AXE, HOW, HOW_AXE, chromium, is_ci
from tests.browser.house import House, house
from tests.browser.playbooks import ALL

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before tests.shares puts them in order
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.xdist_group("browser"))
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def program() -> str:
    """The system's Chromium."""
    found = chromium()
    missing = [how for how, is_there in ((HOW, found), (HOW_AXE, AXE.exists())) if not is_there]
    if missing and is_ci():
        pytest.fail(f"CI never skips the browser tests: {'; '.join(missing)}")
    if missing or found is None:
        pytest.skip("; ".join(missing))
    return found


@pytest.fixture(scope="module")
def browser(program: str) -> Iterator["Browser"]:  # noqa: F821  # imported below, where a skip comes first
    """One Chromium a module: while it runs no event loop of another test can."""
    from playwright.sync_api import expect, sync_playwright

    from tests.browser.pages import FLAGS, WAIT_MS_MAX

    expect.set_options(timeout=WAIT_MS_MAX)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def site(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One server for all tests that leave it usable for the others."""
    with house(tmp_path_factory.mktemp("browser")) as found:
        for text in ALL:
            found.register(text)
        yield found


@pytest.fixture(scope="session")
def seed(site: House) -> dict[str, str]:
    """Executions of every sort, by name: hello, broken, loop, waiting."""
    ended = {name: site.run(f"shop/{name}") for name in ("hello", "broken", "loop")}
    waiting = site.start("shop/waiting")
    site.follow(waiting, "step.waiting")
    return {**ended, "waiting": waiting}


@pytest.fixture
def visit(browser, site: House) -> Iterator["Visitors"]:  # noqa: F821
    """`visit("viewer", "/executions")`: a page. An error in its console, or a breach of its policy, fails the test."""
    from tests.browser.pages import Visitors

    visitors = Visitors(browser, site)
    yield visitors
    visitors.close()
    assert visitors.unexpected == []
