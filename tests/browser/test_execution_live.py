"""An execution that goes on: watched, followed, signalled, cancelled, without anything asked twice."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.execution_playbooks import LONG
from tests.browser.pages import keep, no_serious_faults


@pytest.fixture
def long(site):
    """A loop of 5,000 that nobody waits for to end."""
    site.register(LONG)
    execution_id = site.start("desk/long")
    site.follow(execution_id, "loop.iteration.done")
    yield execution_id
    if site.status(execution_id) == "running":
        site.post(f"/executions/{execution_id}/cancel", {})


def done(page: Page) -> int:
    return int(page.locator(".step-loop").inner_text().split("/")[0].strip().replace(",", ""))


def test_a_loop_is_watched_on_the_graph_and_cancelled(visit, site, long):
    page = visit("runner", f"/executions/{long}")
    page.locator(".loop-bar").wait_for()
    before = done(page)
    page.wait_for_function(
        "before => Number(/[\\d]+/.exec(document.querySelector('.step-loop').innerText)) > before", arg=before
    )
    keep(page, "execution-live")

    page.get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("seen enough")
    expect(dialog).to_contain_text(f"noetl cancel {long} --reason 'seen enough'")
    no_serious_faults(page)
    dialog.get_by_role("button", name="Cancel the execution").click()

    expect(page.locator(".execution-title")).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)
    assert site.status(long) == "cancelled"


def test_the_log_is_followed_until_somebody_scrolls_up(visit, long):
    page = visit("viewer", f"/executions/{long}/logs")
    lines = page.get_by_role("log")
    follow = page.get_by_role("button", name=re.compile("Follow"))
    expect(follow).to_have_attribute("aria-pressed", "true")
    page.wait_for_function("() => { const box = document.querySelector('[role=log]'); return box.scrollTop > 600 }")

    lines.hover()
    page.mouse.wheel(0, -400)

    expect(follow).to_have_attribute("aria-pressed", "false")
    keep(page, "execution-logs-live")
    follow.click()
    expect(follow).to_have_attribute("aria-pressed", "true")


def test_the_timeline_of_a_running_execution_grows(visit, long):
    page = visit("viewer", f"/executions/{long}/timeline")
    name = page.locator(".execution-gantt-name").first
    expect(name).to_contain_text("each")
    words = name.inner_text()

    expect(name).not_to_have_text(words)


def test_what_goes_wrong_in_a_dialog_is_said_in_front_of_it_and_can_be_dismissed(visit, site):
    visit.allowed.append("409")
    execution_id = site.start("shop/waiting")
    site.follow(execution_id, "step.waiting")
    page = visit("runner", f"/executions/{execution_id}")
    page.get_by_role("button", name="Signal…").click()
    page.get_by_label("Name in ctx").fill("approved")
    site.post(f"/executions/{execution_id}/cancel", {})

    page.get_by_role("button", name="Write it").click()

    dialog = page.get_by_role("dialog")
    said = dialog.get_by_role("status").get_by_text("has ended (cancelled)")
    expect(said).to_be_visible()
    dialog.get_by_role("button", name="Dismiss").click()
    expect(said).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("note")).to_have_text("Cancelled on request")


def test_a_step_that_waits_is_signalled(visit, site):
    execution_id = site.start("shop/waiting")
    site.follow(execution_id, "step.waiting")
    page = visit("runner", f"/executions/{execution_id}")
    expect(page.get_by_role("note")).to_contain_text("Step approve waits for a signal")

    page.get_by_role("button", name="Signal…").click()
    page.get_by_label("Name in ctx").fill("approved")
    expect(page.get_by_role("dialog")).to_contain_text(f"noetl signal {execution_id} --set ctx.approved=true")
    keep(page, "execution-signal")
    page.get_by_role("button", name="Write it").click()

    expect(page.locator(".execution-title")).to_contain_text("success")
    expect(page.locator(".react-flow__node").filter(has_text="approve")).to_contain_text("success")
