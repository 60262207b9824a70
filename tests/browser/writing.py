"""The editor of a playbook, as somebody at the keyboard uses it. It lives in a shadow root; locators reach into it."""

from playwright.sync_api import Locator, Page


def editor(page: Page) -> Locator:
    return page.locator(".cm-content")


def written(page: Page) -> str:
    """The text that the editor shows, as far as it is in sight."""
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def write(page: Page, text: str) -> None:
    """Puts a whole text in place of the one there is."""
    editor(page).click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")  # by the editor itself: what Chromium removes by its own way it styles inline
    page.keyboard.insert_text(text)


def line_with(page: Page, text: str) -> Locator:
    return page.locator(".cm-line", has_text=text).first


def graph_step(page: Page, name: str) -> Locator:
    return page.locator(f'.react-flow__node[data-id="{name}"]')
