"""Pages in a real Chromium: opened with a role, watched for faults, photographed, and tried for accessibility."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from scripts.browser import AXE
from tests.browser.house import House

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
WIDE, PHONE = (1280, 800), (390, 844)
THEMES = ("light", "dark")
WAIT_MS_MAX = 15_000
SCREENSHOTS = Path(__file__).parent.parent.parent / "build" / "screenshots"
SERIOUS = ("serious", "critical")
# A violation of the policy is told by an event; the console has it too, but not in every version.
WATCH = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""
Opener = Callable[..., Page]


class Visitors:
    """Opens pages, each in a browser profile of its own, and notes what goes wrong in any of them."""

    def __init__(self, browser: Browser, house: House) -> None:
        self._browser = browser
        self._house = house
        self._contexts: list[BrowserContext] = []
        self.faults: list[str] = []
        self.allowed: list[str] = []  # patterns of faults that a test brings about on purpose

    def __call__(
        self,
        role: str | None = "admin",
        path: str = "/",
        *,
        size: tuple[int, int] = WIDE,
        theme: str = "light",
        house: House | None = None,
        **context: Any,
    ) -> Page:
        """A page, signed in as a role (None: as nobody), at a path below /ui, when its frame is there."""
        place = house or self._house
        opened = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme, reduced_motion="reduce", **context
        )
        self._contexts.append(opened)
        opened.add_init_script(WATCH)
        opened.on("page", self._watch)
        page = opened.new_page()
        fragment = f"#token={place.tokens[role]}" if role else ""
        page.goto(f"{place.url}/ui{path}{fragment}")
        page.locator("main").first.wait_for()
        return page

    def _watch(self, page: Page) -> None:
        page.set_default_timeout(WAIT_MS_MAX)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    @property
    def unexpected(self) -> list[str]:
        return [one for one in self.faults if not any(re.search(pattern, one) for pattern in self.allowed)]


def go(page: Page, path: str) -> None:
    """To another page, as a link does: nothing is loaded again."""
    page.evaluate(
        "path => { history.pushState(null, '', '/ui' + path); dispatchEvent(new PopStateEvent('popstate')) }", path
    )


def wear(page: Page, theme: str) -> None:
    """Light or dark, with every colour arrived: half-way from one to the other a text may be hard to read."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.locator(f'html[data-theme="{theme}"]').wait_for()
    page.evaluate(
        """() => Promise.all(document.getAnimations()
               .filter(one => one.effect.getComputedTiming().endTime !== Infinity)
               .map(one => one.finished.catch(() => null)))"""
    )


def keep(page: Page, name: str, *, is_whole: bool = False) -> list[Path]:
    """Photographs of a page as it is now, light and dark, in build/screenshots; for people to look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    expect(page.locator(".state-loading")).to_have_count(0, timeout=WAIT_MS_MAX)
    kept = []
    for theme in THEMES:
        wear(page, theme)
        kept.append(SCREENSHOTS / f"{name}-{theme}.png")
        page.screenshot(path=kept[-1], full_page=is_whole)
    return kept


def serious_faults(page: Page) -> list[str]:
    """What axe finds that keeps somebody out, one line each."""
    page.evaluate(AXE.read_text(encoding="utf-8"))  # by the debugger: the policy of the page does not speak of that
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {', '.join(map(_told, one['nodes'][:3]))}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
    ]


def _told(node: dict[str, Any]) -> str:
    return f"{node['html'][:160]} ({node.get('failureSummary', '')[:300]})"


def no_serious_faults(page: Page) -> None:
    """In both themes."""
    for theme in THEMES:
        wear(page, theme)
        faults = serious_faults(page) and serious_faults(page)  # what came in while axe looked is somewhere else by now
        assert not faults, "\n".join([f"{page.url}, {theme}:", *faults])


def is_wider_than_its_window(page: Page) -> bool:
    """Whether somebody must scroll sideways to read it."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"))
