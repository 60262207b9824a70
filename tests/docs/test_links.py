"""Every link between pages leads somewhere, down to the heading; and the checker sees one that does not."""

from pathlib import Path

import pytest

from scripts.links import anchors, dead_links, dead_references, markdown_pages, slug

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    page
    for page in markdown_pages(ROOT, ("docs", "examples", "deploy", "ui", "src"))
    if page.parent != ROOT / "docs" / "tools" / "guides"  # a part of its kind's page, and its links are those of that
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    assert dead_links(page) == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("noetl --version, noetl --help", "noetl---version-noetl---help"),
        ("`store.url`", "storeurl"),
        ("lease_seconds", "lease_seconds"),
        ("A [link](x.md) in *it*", "a-link-in-it"),
        ("GET /api/v1/executions/{execution_id}", "get-apiv1executionsexecution_id"),
        ("Über Öl", "über-öl"),
    ],
)
def test_an_anchor_is_the_one_that_github_makes(heading, anchor):
    assert slug(heading) == anchor


def test_a_link_to_nowhere_is_named_with_its_line(tmp_path):
    page = tmp_path / "a.md"
    page.write_text(
        "# A\n\n[one](b.md) [two](#a) [three](#b)\n\n```\n[four](c.md)\n```\n`[five](c.md)` [six](a.md#c)\n"
    )

    found = [fault.removeprefix(f"{tmp_path}/") for fault in dead_links(page)]

    assert found == [
        "a.md:3: b.md: there is no such file",
        "a.md:3: #b: there is no such heading",
        "a.md:8: a.md#c: there is no such heading",
    ]


def test_the_second_heading_of_a_name_has_a_number(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# A\n## Errors\n## Errors\n")

    assert anchors(page) == {"a", "errors", "errors-1"}


def test_the_site_may_refer_to_nothing_that_is_not_in_it(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1>')
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.example.com/x.js"></script><a href="https://example.com">fine</a>'
        '<a href="b.html#there">fine</a><a href="b.html#gone">x</a><img src="gone.svg"><a href="../out.html">x</a>'
    )

    faults, pages, references = dead_references(tmp_path)

    assert faults == [
        "a.html: https://cdn.example.com/x.js: script src asks another machine",
        "a.html: b.html#gone: there is no such place on that page",
        "a.html: gone.svg: there is no such file",
        "a.html: ../out.html: leads out of the site",
    ]
    assert (pages, references) == (2, 6)
