"""What stands around every page: signing in, going about, themes, phones, the policy, a lost server."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.house import ROLES, house
from tests.browser.pages import PHONE, go, is_wider_than_its_window, keep, no_serious_faults

PLACES = {
    "Home": "/",
    "Playbooks": "/playbooks",
    "Executions": "/executions",
    "Schedules": "/schedules",
    "Workers": "/workers",
    "Keychain": "/keychain",
    "Open file…": "/open",
}
FIRST_PAGE_BYTES_MAX = 170_000


# --- signing in ------------------------------------------------------------------------------------------------------


def test_a_token_in_the_address_is_taken_off_it_and_kept_by_the_tab_alone(visit, site):
    page = visit("viewer", "/executions?status=failed")

    assert page.url == f"{site.url}/ui/executions?status=failed"
    assert site.tokens["viewer"] not in page.evaluate("JSON.stringify({...localStorage}) + document.cookie + name")
    assert page.evaluate("sessionStorage['noetl.token']") == site.tokens["viewer"]
    page.reload()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def test_a_page_without_a_token_asks_for_one_and_tries_it_first(visit, site):
    visit.allowed.append(r"401")
    page = visit(None, "/workers")
    keep(page, "sign-in")
    no_serious_faults(page)

    page.get_by_label("Token").fill("not one of ours")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not know this token")
    assert page.evaluate("sessionStorage.length") == 0
    page.get_by_label("Token").fill(f"  {site.tokens['runner']} ")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Workers")
    expect(page.get_by_role("navigation")).to_contain_text("runner")


def test_another_tab_is_signed_in_too_until_somebody_signs_out(visit):
    first = visit("viewer")
    second = first.context.new_page()
    second.goto(first.url)
    expect(second.get_by_role("navigation")).to_contain_text("viewer")

    second.get_by_role("button", name="Sign out").click()

    expect(first.get_by_label("Token")).to_be_visible()
    expect(second.get_by_label("Token")).to_be_visible()
    assert first.evaluate("sessionStorage.length") == 0


def test_a_token_that_is_revoked_leads_back_to_the_question(visit, site):
    visit.allowed.append(r"401")
    made = site.post("/tokens", {"role": "viewer"})
    site.tokens["short"] = made["token"]
    page = visit("short")
    site.ask("DELETE", f"/tokens/{made['id']}")

    page.keyboard.press("g")
    page.keyboard.press("e")

    expect(page.get_by_label("Token")).to_be_visible()


@pytest.mark.parametrize("role", ROLES)
def test_the_frame_says_who_one_is(visit, role):
    expect(visit(role).get_by_role("navigation")).to_contain_text(role)


# --- going about -----------------------------------------------------------------------------------------------------


def test_every_place_is_reached_by_a_link_and_by_two_keys(visit):
    page = visit()
    links = page.get_by_role("navigation", name="Pages")

    for title, path in PLACES.items():
        links.get_by_role("link", name=title, exact=True).click()
        expect(page).to_have_url(re.compile(rf"/ui{re.escape(path)}$"))
        expect(links.get_by_role("link", name=title, exact=True)).to_have_attribute("aria-current", "page")
    for title, path in PLACES.items():
        page.keyboard.press("g")
        page.keyboard.press({"Keychain": "k", "Open file…": "o"}.get(title, title[0].lower()))
        expect(page).to_have_url(re.compile(rf"/ui{re.escape(path)}$"))


def test_the_palette_finds_a_page_a_playbook_and_an_execution(visit, seed):
    page = visit()
    field = page.get_by_role("combobox", name="Page, playbook, execution or action")

    page.keyboard.press("Control+k")
    field.fill("work")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/ui/workers$"))
    page.keyboard.press("Control+k")
    field.fill("shop/he")
    page.get_by_role("option", name="shop/hello playbook").click()
    expect(page).to_have_url(re.compile("/ui/playbooks/shop%2Fhello$"))
    page.keyboard.press("Control+k")
    field.fill(seed["hello"])
    keep(page, "palette")
    page.get_by_role("option", name=re.compile(rf"^{seed['hello']} success")).click()
    expect(page).to_have_url(re.compile(rf"/ui/executions/{seed['hello']}$"))


def test_the_keys_that_work_are_listed_and_typing_is_left_alone(visit):
    page = visit()

    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Go to Executions")
    keep(page, "keys")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("ge?")

    expect(page.get_by_role("combobox")).to_have_value("ge?")
    expect(page).to_have_url(re.compile("/ui/$"))


def test_the_first_key_reaches_a_link_past_the_navigation(visit):
    page = visit()

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "main"


def test_an_address_without_a_page_says_so(visit):
    page = visit()

    go(page, "/nowhere/at/all")

    expect(page.get_by_text("There is no page here")).to_be_visible()


# --- looks -----------------------------------------------------------------------------------------------------------


def test_colours_follow_the_system_until_somebody_chooses(visit):
    page = visit(theme="dark")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")

    page.get_by_role("button", name="Light colours").click()
    expect(root).to_have_attribute("data-theme", "light")
    page.reload()
    expect(root).to_have_attribute("data-theme", "light")


@pytest.mark.parametrize("title", PLACES)
def test_every_page_keeps_nobody_out_and_is_photographed(visit, seed, title):
    page = visit("admin", PLACES[title])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("load")
    expect(page.locator(".state-loading")).to_have_count(0)

    keep(page, title.strip("…").replace(" ", "-").lower())
    no_serious_faults(page)


@pytest.mark.parametrize("title", PLACES)
def test_every_page_is_readable_on_a_phone(visit, seed, title):
    page = visit("admin", PLACES[title], size=PHONE)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".state-loading")).to_have_count(0)

    keep(page, f"phone-{title.strip('…').replace(' ', '-').lower()}")
    assert not is_wider_than_its_window(page)
    assert page.get_by_role("link", name=title, exact=True).is_visible()


# --- what it is served with ------------------------------------------------------------------------------------------


def test_the_policy_lets_nothing_in_that_is_not_the_servers_own(visit):
    visit.allowed.append(r"policy: |Content Security Policy|requires 'Trusted")
    page = visit()

    refused = page.evaluate(
        """() => {
        const script = document.createElement("script");
        const ways = [
            () => { script.textContent = "window.cameIn = true" },
            () => { script.src = "data:text/javascript,window.cameIn = true" },
            () => { document.body.innerHTML = "<img src='data:,' onerror='window.cameIn = true'>" },
            () => { document.body.insertAdjacentHTML("beforeend", "<b>bold</b>") },
            () => { document.body.setAttribute("onclick", "window.cameIn = true") },
        ];
        const tried = ways.map((way) => { try { way(); return "came in" } catch (error) { return error.name } });
        const sheet = document.createElement("style");
        sheet.textContent = "body { opacity: 0.5 }";
        document.body.append(script, sheet);
        document.body.click();
        return tried;
        }"""
    )

    assert refused == ["TypeError"] * 5
    assert page.evaluate("[window.cameIn, getComputedStyle(document.body).opacity]") == [None, "1"]
    assert any("style-src" in fault for fault in visit.faults)


def test_the_first_page_is_light(visit, browser, site):
    sizes: dict[str, int] = {}
    page = visit()
    page.on(
        "requestfinished",
        lambda request: sizes.__setitem__(request.url, request.sizes()["responseBodySize"]),
    )

    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("load")

    loaded = {url: size for url, size in sizes.items() if "/ui/" in url}
    assert len(loaded) > 3
    assert sum(loaded.values()) <= FIRST_PAGE_BYTES_MAX, loaded
    assert not any(re.search("/(editor|graph)-", url, re.IGNORECASE) for url in loaded)


def test_a_lost_server_is_said_quietly_and_forgotten_when_it_is_back(visit, tmp_path):
    visit.allowed.append(r"ERR_|Failed to load|401")
    with house(tmp_path) as own:
        page = visit("admin", house=own)
        mark = page.locator(".nav-live")
        expect(mark).to_have_attribute("data-state", "live")

        own.server.stop()
        expect(mark).to_have_text("reconnecting…")
        keep(page, "reconnecting")
        own.server.start()

        expect(mark).to_have_attribute("data-state", "live")
        expect(mark).to_have_text("")


def test_tabs_share_one_stream_of_changes_and_hand_it_on(visit, site):
    first = visit("viewer", "/executions")
    expect(first.locator(".nav-live")).to_have_attribute("data-state", "live")
    asked: list[str] = []
    first.context.on("request", lambda request: asked.append(request.url) if request.url.endswith("/changes") else None)
    second = first.context.new_page()
    second.goto(f"{site.url}/ui/executions")
    expect(second.locator(".nav-live")).to_have_attribute("data-state", "live")

    one = site.run("shop/hello")
    for page in (first, second):
        expect(page.get_by_role("link", name=one, exact=True)).to_be_visible()
    before = len(asked)
    with second.expect_response(lambda answer: answer.url.endswith("/changes")):
        first.close()
    other = site.run("shop/hello")

    assert before == 0, "the second tab asked for a stream of its own"
    expect(second.get_by_role("link", name=other, exact=True)).to_be_visible()
