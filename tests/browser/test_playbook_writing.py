"""A playbook is written in the browser: marked where it is wrong, explained, repaired, registered, and run."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.pages import go, keep, no_serious_faults
from tests.browser.writing import editor, graph_step, line_with, write, written

ADDRESS = "/playbooks/team%2F{name}"


def draft(name: str, kind: str = "noop") -> str:
    return f"""apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: {name}
  path: team/{name}
workload:
  who: world
workflow:
  - step: first
    tool:
      kind: {kind}
    next:
      arcs:
        - step: second
  - step: second
    tool:
      kind: noop
      input: {{text: "hello {{{{ workload.who }}}}"}}
"""


def test_a_text_that_is_longer_than_its_editor_is_scrolled_by_keys(visit, site):
    lines = "".join(f"# line {number}\n" for number in range(200))
    site.register(draft("lengthy") + lines)
    page = visit("viewer", "/playbooks/team%2Flengthy")
    expect(editor(page)).to_have_attribute("tabindex", "0")
    expect(line_with(page, "metadata")).to_be_visible()

    no_serious_faults(page)
    editor(page).focus()
    page.keyboard.press("ControlOrMeta+End")

    expect(line_with(page, "# line 199")).to_be_in_viewport()


def test_a_mistake_is_marked_explained_repaired_and_the_playbook_runs(visit, site):
    page = visit("author", "/playbooks")
    page.get_by_role("button", name="New playbook").click()
    page.get_by_role("textbox", name="Path").fill("team/story")
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("team/story")
    expect(page.get_by_text("no faults")).to_be_visible()

    # a mistake: it is marked in the gutter, listed, and nothing can be registered
    write(page, draft("story", kind="nop"))
    findings = page.get_by_role("region", name="Findings")
    finding = findings.get_by_role("button", name=re.compile("nop.*did you mean", re.DOTALL))
    expect(finding).to_be_visible()
    expect(page.locator(".cm-lint-marker-error")).to_be_visible()
    register = page.get_by_role("button", name="Register", exact=True)
    expect(register).to_have_attribute("aria-disabled", "true")
    keep(page, "playbook-mistake")
    no_serious_faults(page)

    # its rule is explained, and a click on it goes to its place
    findings.get_by_role("button", name="NL303").click()
    expect(page.get_by_role("dialog")).to_contain_text("noetl explain NL303")
    keep(page, "playbook-explained")
    page.get_by_role("button", name="Close", exact=True).first.click()
    finding.click()
    expect(page.locator(".cm-activeLine")).to_contain_text("kind: nop")

    # repaired, it is registered and run with another input
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.type("op")
    page.keyboard.press("Escape")
    expect(page.get_by_text("no faults")).to_be_visible()
    register.click()
    expect(page.get_by_text("Registered team/story@1.")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/ui/playbooks/team%2Fstory$"))
    page.get_by_role("tab", name="Run").click()
    page.get_by_label("who").fill("Oslo")
    expect(page.get_by_text("noetl run team/story --set who=Oslo")).to_be_visible()
    keep(page, "playbook-run")
    no_serious_faults(page)
    page.get_by_role("button", name="Run team/story").click()
    expect(page).to_have_url(re.compile(r"/ui/executions/\d+$"))
    execution_id = page.url.rpartition("/")[2]
    site.follow(execution_id)
    assert site.get(f"/executions/{execution_id}/moment")["workload"] == {"who": "Oslo"}


def test_the_graph_follows_the_cursor_and_leads_back_to_the_text(visit, site):
    site.register(draft("graphed"))
    page = visit("author", ADDRESS.format(name="graphed"))

    line_with(page, "text:").click()
    expect(graph_step(page, "second").locator(".step.is-chosen")).to_be_visible()
    line_with(page, "step: first").click()
    expect(graph_step(page, "first").locator(".step.is-chosen")).to_be_visible()
    keep(page, "playbook")
    graph_step(page, "second").click()

    expect(page.locator(".cm-activeLine")).to_contain_text("step: second")
    expect(graph_step(page, "second").locator(".step.is-chosen")).to_be_visible()


def test_the_graph_grows_while_one_types_and_stays_when_the_text_cannot_be_read(visit, site):
    site.register(draft("growing"))
    page = visit("author", ADDRESS.format(name="growing"))
    expect(graph_step(page, "second")).to_be_visible()

    write(page, draft("growing") + "    next: {arcs: [{step: third}]}\n  - step: third\n    tool: {kind: noop}\n")
    expect(graph_step(page, "third")).to_be_visible()
    write(page, "workflow: [\n")

    expect(page.get_by_text("of the last text that could be read")).to_be_visible()
    expect(graph_step(page, "third")).to_be_visible()


def test_the_page_of_the_kind_under_the_cursor_stands_beside_the_text(visit, site):
    site.register(draft("described"))
    page = visit("author", ADDRESS.format(name="described"))
    docs = page.get_by_role("region", name="Page of what is under the cursor")

    line_with(page, "kind: noop").click()

    expect(docs.get_by_role("heading").first).to_contain_text("noop")


def test_keys_and_kinds_are_completed(visit, site):
    site.register(draft("completed"))
    page = visit("author", ADDRESS.format(name="completed"))

    line_with(page, "kind: noop").click()
    page.keyboard.press("End")
    for _ in "noop":
        page.keyboard.press("Backspace")
    page.keyboard.type("py")
    option = page.locator(".cm-tooltip-autocomplete li", has_text="python")
    expect(option).to_be_visible()
    keep(page, "playbook-completion")
    option.click()

    expect(line_with(page, "kind: python")).to_be_visible()


def test_mechanical_faults_are_repaired_at_once(visit, site):
    page = visit("author", "/playbooks/team%2Frepaired?new")
    expect(page.get_by_text("no faults")).to_be_visible()

    loop = '\n  - step: second\n    loop: {in: "{{ [1] }}", iterator: one, mode: parallel}\n'
    write(page, draft("repaired").replace("\n  - step: second\n", loop))
    page.get_by_role("button", name="Repair 1 fault").click()

    expect(page.get_by_text("no faults")).to_be_visible()
    assert "spec" in written(page)


def test_changes_that_are_not_registered_are_not_lost(visit, site):
    site.register(draft("kept"))
    page = visit("author", ADDRESS.format(name="kept"))
    expect(page.get_by_text("no faults")).to_be_visible()
    editor(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("# mine\n")
    expect(page.get_by_text("not registered", exact=True)).to_be_visible()

    # another tab, another page and back: they are still there
    page.get_by_role("tab", name="Versions").click()
    page.get_by_role("tab", name="Write").click()
    expect(line_with(page, "# mine")).to_be_visible()
    page.get_by_role("link", name="Home", exact=True).click()
    page.get_by_role("status").get_by_role("link", name="Go back").click()
    expect(line_with(page, "# mine")).to_be_visible()

    # to load the page again is asked about, and they can be thrown away
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.evaluate("setTimeout(() => location.reload(), 0)")
    page.wait_for_event("dialog") if not asked else None
    assert asked == ["beforeunload"]
    page.get_by_role("button", name="Discard changes").click()
    expect(page.get_by_text("not registered", exact=True)).to_have_count(0)
    expect(page.locator(".cm-line", has_text="# mine")).to_have_count(0)


def test_a_refusal_is_shown_beside_the_text(visit, site):
    visit.allowed.append("403")
    site.tokens["narrow"] = site.token(role="author", path_prefix="team/narrow")
    page = visit("narrow", "/playbooks/team%2Fnarrow%2Fone?new")
    expect(page.get_by_text("no faults")).to_be_visible()

    write(page, draft("elsewhere"))
    page.get_by_role("button", name="Register", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("team/elsewhere")
    expect(page.get_by_text("not registered", exact=True)).to_be_visible()


def test_versions_are_compared_side_by_side_and_an_old_one_is_taken_up(visit, site):
    site.register(draft("versioned"))
    site.register(draft("versioned").replace("who: world", "who: moon"))
    page = visit("author", ADDRESS.format(name="versioned") + "/versions")
    diff = page.get_by_role("region", name="Changes from version 1 to version 2")

    expect(diff.get_by_role("row", name=re.compile("who: world.*who: moon"))).to_be_visible()
    keep(page, "playbook-versions")
    no_serious_faults(page)
    page.get_by_role("button", name="Unified").click()
    expect(diff.get_by_role("row", name=re.compile("who: moon"))).not_to_contain_text("world")
    page.get_by_role("listitem").filter(has_text="version 1").get_by_role("button", name="Text").click()
    page.get_by_role("button", name="Take into the editor").click()

    expect(line_with(page, "who: world")).to_be_visible()
    expect(page.get_by_text("not registered", exact=True)).to_be_visible()


def test_on_a_phone_a_difference_is_unified(visit, site):
    site.register(draft("narrowly"))
    site.register(draft("narrowly").replace("who: world", "who: moon"))
    page = visit("author", ADDRESS.format(name="narrowly") + "/versions", size=(390, 844))

    expect(page.get_by_role("button", name="Unified")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("row", name=re.compile("who: moon"))).not_to_contain_text("world")


def test_the_run_form_is_typed_and_says_what_is_wrong_where(visit, site):
    workload = 'workload: {text: a, number: 2, is_on: false, list: [1], mapping: {a: {b: 1}}, note: "<b>bold</b>"}'
    site.register(draft("formed").replace("workload:\n  who: world", workload).replace("workload.who", "workload.text"))
    page = visit("runner", ADDRESS.format(name="formed") + "/run")

    page.get_by_label("number number").fill("two")
    expect(page.get_by_role("alert")).to_contain_text("must be a number")
    page.get_by_label("number number").fill("2.5")
    page.get_by_role("switch", name="is_on").check()
    page.get_by_label("list JSON").fill("[1, 2]")
    expect(page.get_by_label("note text")).to_have_value("<b>bold</b>")
    page.get_by_role("button", name="Run team/formed").click()

    expect(page).to_have_url(re.compile(r"/ui/executions/\d+$"))
    execution_id = page.url.rpartition("/")[2]
    site.follow(execution_id)
    given = site.get(f"/executions/{execution_id}/moment")["workload"]
    assert (given["number"], given["is_on"], given["list"], given["text"]) == (2.5, True, [1, 2], "a")


@pytest.mark.parametrize("role", ["viewer", "runner"])
def test_who_may_not_write_reads_and_is_told_why(visit, site, role):
    site.register(draft("looked_at"))
    page = visit(role, ADDRESS.format(name="looked_at"))

    expect(page.get_by_text(f"Read-only: this needs the role author; this token has {role}.")).to_be_visible()
    expect(graph_step(page, "second")).to_be_visible()
    line_with(page, "who: world").click()
    page.keyboard.type("x")
    assert "who: world" in written(page)
    expect(page.get_by_role("button", name="Register", exact=True)).to_have_count(0)
    keep(page, f"playbook-{role}")
    go(page, ADDRESS.format(name="looked_at") + "/run")
    run = page.get_by_role("button", name="Run team/looked_at")
    if role == "viewer":
        expect(run).to_have_attribute("aria-disabled", "true")
        expect(run).to_have_attribute("title", "this needs the role runner; this token has viewer")
    else:
        expect(run).not_to_have_attribute("aria-disabled", "true")


def test_a_path_that_nobody_registered_says_so(visit, site):
    visit.allowed.append("404")
    page = visit("author", "/playbooks/team%2Fnobody")

    expect(page.get_by_text("No playbook is registered here")).to_be_visible()
    page.get_by_role("button", name="Write it").click()
    expect(line_with(page, "name: nobody")).to_be_visible()


def test_texts_full_of_markup_show_as_text(visit, site):
    odd = "<img src=x onerror=alert(1)>"
    page = visit("author", "/playbooks/team%2Fodd?new")
    expect(page.get_by_text("no faults")).to_be_visible()

    write(page, draft("odd").replace("second", f'"{odd}"').replace("hello", f"<script>{odd}</script>"))

    expect(page.get_by_role("region", name="Findings").get_by_text(odd).first).to_be_visible()
    assert page.locator("img[src='x']").count() == 0


def test_playbooks_show_their_last_runs_as_links(visit, seed):
    page = visit("viewer", "/playbooks")
    bars = page.get_by_role("list", name="Last runs of shop/broken, oldest first")

    expect(bars.get_by_role("link", name=re.compile(rf"^{seed['broken']}: failed, "))).to_be_visible()
    page.get_by_role("searchbox", name="Search playbooks by path").fill("shop/l")
    expect(page).to_have_url(re.compile(r"/ui/playbooks\?q=shop%2Fl$"))
    expect(page.get_by_role("link", name="shop/loop", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="shop/broken", exact=True)).to_have_count(0)
    page.get_by_role("searchbox", name="Search playbooks by path").fill("nothing of the kind")

    expect(page.get_by_text("No path has “nothing of the kind” in it")).to_be_visible()
