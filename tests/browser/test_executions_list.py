"""The list of executions: filters that are chips, a line and an address at once; live rows; several at once; roles."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.house import house
from tests.browser.pages import go, keep, no_serious_faults
from tests.browser.playbooks import HELLO

PAGE_ROWS = 100
DRAWN_MAX = 90  # rows in the document, however many there are


def row(page: Page, execution_id: str):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=execution_id, exact=True))


def waiting_ones(site, count: int) -> list[str]:
    """Executions that wait for a signal, oldest first."""
    ids = [site.start("shop/waiting") for _ in range(count)]
    for execution_id in ids:
        site.follow(execution_id, "step.waiting")
    return ids


def test_chips_the_line_and_the_address_are_one_thing(visit, seed):
    page = visit("viewer", "/executions")
    line = page.get_by_role("searchbox", name="Filter executions")
    chip = page.get_by_role("button", name="failed", exact=True)

    chip.click()
    expect(line).to_have_value("status:failed")
    expect(page).to_have_url(re.compile(r"/ui/executions\?status=failed$"))
    expect(row(page, seed["broken"])).to_be_visible()
    expect(row(page, seed["hello"])).to_have_count(0)
    line.fill("status:success path:shop/* since:24h is:root hel")
    expect(page).to_have_url(re.compile(r"status=success&path=shop%2F\*&since=24h&is_root=true&q=hel$"))
    expect(chip).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_role("button", name="last day")).to_have_attribute("aria-pressed", "true")
    expect(row(page, seed["hello"])).to_be_visible()
    keep(page, "executions-filtered")
    page.reload()
    expect(line).to_have_value("status:success path:shop/* since:24h is:root hel")
    page.get_by_role("button", name="Clear all").click()

    expect(line).to_have_value("")
    expect(row(page, seed["broken"])).to_be_visible()


def test_a_line_that_is_not_understood_says_what_may_stand_there(visit, seed):
    page = visit("viewer", "/executions")

    page.get_by_role("searchbox", name="Filter executions").fill("status:faild")

    expect(page.get_by_text('"faild" is no status: running, waiting')).to_be_visible()


def test_filters_that_nothing_answers_to_say_what_to_do(visit, seed):
    page = visit("viewer", "/executions?path=no/such/path")

    expect(page.get_by_text("No execution is like this")).to_be_visible()
    page.get_by_role("button", name="Clear all filters").click()
    expect(row(page, seed["hello"])).to_be_visible()


def test_rows_come_and_change_by_themselves_and_never_under_the_pointer(visit, site, seed):
    page = visit("runner", "/executions")
    expect(row(page, seed["hello"])).to_be_visible()
    page.mouse.move(5, 5)

    [first] = waiting_ones(site, 1)
    expect(row(page, first)).to_contain_text("waiting")
    row(page, seed["hello"]).hover()
    [second] = waiting_ones(site, 1)
    expect(page.get_by_role("button", name="Show 1 new")).to_be_visible()
    expect(row(page, second)).to_have_count(0)
    site.post(f"/executions/{first}/cancel", {})
    expect(row(page, first)).to_contain_text("cancelled")
    page.get_by_role("button", name="Show 1 new").click()

    expect(row(page, second)).to_be_visible()
    site.post(f"/executions/{second}/cancel", {})


def test_several_are_chosen_by_keys_and_cancelled_together(visit, site, seed):
    ids = waiting_ones(site, 3)
    page = visit("runner", "/executions?status=waiting&path=shop/waiting")
    expect(row(page, ids[0])).to_be_visible()

    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog", name="Cancel 2 executions?")
    dialog.get_by_label("Reason").fill("a test")
    expect(dialog).to_contain_text(f"noetl cancel {ids[2]} --reason 'a test'")
    keep(page, "executions-cancel")
    no_serious_faults(page)
    dialog.get_by_role("button", name="Cancel 2 executions").click()

    expect(page.get_by_text("2 of 2 cancelled.")).to_be_visible()
    keep(page, "executions-cancelled")
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    expect(row(page, ids[2])).to_contain_text("cancelled")
    expect(row(page, ids[0])).to_contain_text("waiting")
    assert [site.status(one) for one in ids] == ["waiting", "cancelled", "cancelled"]
    site.post(f"/executions/{ids[0]}/cancel", {})


def test_what_has_ended_is_left_out_of_a_cancel_and_can_be_run_again(visit, site, seed):
    page = visit("runner", "/executions?path=shop/hello")
    row(page, seed["hello"]).get_by_role("checkbox").check()

    page.get_by_role("button", name="Cancel…").click()
    expect(page.get_by_text("1 of the 1 that are selected is left out: ended already.")).to_be_visible()
    page.get_by_role("button", name="Leave them").click()
    page.get_by_role("button", name="Rerun…").click()
    page.get_by_role("button", name="Rerun 1 execution").click()
    expect(page.get_by_text("1 of 1 started again.")).to_be_visible()
    again = page.get_by_role("dialog").get_by_role("link").last
    execution_id = again.inner_text()
    again.click()

    expect(page).to_have_url(re.compile(rf"/ui/executions/{execution_id}$"))
    assert execution_id != seed["hello"]
    site.follow(execution_id)


@pytest.mark.parametrize("action", ["Cancel…", "Rerun…", "Resume…"])
def test_a_viewer_may_choose_and_is_told_why_not_act(visit, seed, action):
    page = visit("viewer", "/executions")
    row(page, seed["hello"]).get_by_role("checkbox").check()

    button = page.get_by_role("button", name=action)

    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", "this needs the role runner; this token has viewer")
    button.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_token_of_one_path_sees_nothing_of_the_others(visit, site, seed):
    site.tokens["elsewhere"] = site.token(role="admin", path_prefix="elsewhere")
    page = visit("elsewhere", "/executions")

    expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(0)


def test_a_long_list_is_drawn_in_part_and_asked_for_page_by_page(visit, tmp_path):
    visit.allowed.append("ERR_")  # this server ends before the page does
    with house(tmp_path) as full:
        full.register(HELLO)
        ids = [full.start("shop/hello") for _ in range(PAGE_ROWS + 60)]
        full.follow(ids[-1])
        page = visit("viewer", "/executions", house=full)
        expect(row(page, ids[-1])).to_be_visible()

        assert page.get_by_role("row").count() < DRAWN_MAX
        table = page.locator(".table")
        table.evaluate("one => one.scrollTo(0, one.scrollHeight)")
        expect(page.get_by_text("160 executions, all there are.")).to_be_visible()
        page.wait_for_function(
            "id => { const one = document.querySelector('.table'); one.scrollTo(0, one.scrollHeight);"
            " return one.querySelector(`a[href$='/executions/${id}']`) !== null }",
            arg=ids[0],
        )

        expect(row(page, ids[0])).to_be_visible()
        assert page.get_by_role("row").count() < DRAWN_MAX


def test_enter_opens_the_row_that_the_keys_are_at(visit, seed):
    page = visit("viewer", "/executions?path=shop/broken")
    expect(row(page, seed["broken"])).to_be_visible()

    page.keyboard.press("j")
    expect(row(page, seed["broken"])).to_have_attribute("aria-current", "true")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(rf"/ui/executions/{seed['broken']}$"))
    go(page, "/executions")
