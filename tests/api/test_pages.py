"""The web pages as they are served: to anybody, with a strict policy, from a table of files and from nowhere else."""

import gzip
import re
from pathlib import Path

import pytest
import pytest_asyncio
from yarl import URL

from noetl.api import pages
from noetl.ui import page_files
from tests.api.site import NONE, site

SOURCE = Path(__file__).parent.parent.parent / "ui" / "src"
INDEX = page_files()["index.html"]
ASSETS = sorted(name for name in page_files() if name.startswith("assets/"))
A_SCRIPT = next(name for name in ASSETS if name.endswith(".js"))
PLAIN = {"Accept-Encoding": "identity"}
MODULE = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory):
    async with site(tmp_path_factory.mktemp("pages")) as found:
        yield found


async def raw(api, path: str, **headers: str):
    """Status, headers and the bytes on the wire; nothing is followed and nothing unpacked."""
    url = URL(api.url + path, encoded=True)
    async with api.session.get(url, headers=PLAIN | headers, allow_redirects=False, auto_decompress=False) as answer:
        return answer.status, answer.headers, await answer.read()


@pytest.mark.parametrize("path", ["/", "/ui", "/ui?x=1"])
@MODULE
async def test_the_root_leads_to_the_pages(api, path):
    status, headers, _ = await raw(api, path)

    assert (status, headers["Location"]) == (307, "/ui/")


@pytest.mark.parametrize(
    "path", ["/ui/", "/ui/playbooks", "/ui/playbooks/team%2Forders", "/ui/executions/12/timeline?at=3"]
)
@MODULE
async def test_every_page_is_the_same_document_which_nobody_keeps(api, path):
    status, headers, body = await raw(api, path)

    assert (status, body) == (200, INDEX)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/ui/", f"/ui/{A_SCRIPT}", "/ui/icon.svg"], ids=["page", "script", "icon"])
@MODULE
async def test_the_policy_of_the_pages_allows_nothing_inline_and_nothing_from_elsewhere(api, path):
    _, headers, _ = await raw(api, path)
    policy = dict(part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";"))

    assert policy["default-src"] == policy["style-src"] == "'self'"
    assert policy["img-src"] == "'self' data:"
    assert {policy[name] for name in ("object-src", "base-uri", "form-action", "frame-ancestors")} == {"'none'"}
    assert (policy["require-trusted-types-for"], policy["trusted-types"]) == ("'script'", "'none'")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "script-src" not in policy
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_document_has_nothing_inline_and_loads_only_its_own_files():
    text = INDEX.decode()
    loaded = re.findall(r'(?:src|href)="([^"]+)"', text)

    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:|https?://", text)
    assert loaded
    assert {path.removeprefix("/ui/") for path in loaded} <= set(page_files())


@MODULE
async def test_a_file_whose_name_holds_its_hash_is_kept_for_good(api):
    for name in ASSETS:
        assert re.search(r"-[\w-]{8,}\.\w+$", name), name
        status, headers, body = await raw(api, f"/ui/{name}")

        assert (status, body) == (200, page_files()[name])
        assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert headers["Content-Type"].startswith(("text/javascript", "text/css"))


@MODULE
async def test_who_has_a_file_already_is_told_so(api):
    _, headers, _ = await raw(api, f"/ui/{A_SCRIPT}")

    status, again, body = await raw(api, f"/ui/{A_SCRIPT}", **{"If-None-Match": headers["ETag"]})
    other, _, _ = await raw(api, f"/ui/{A_SCRIPT}", **{"If-None-Match": '"another"'})

    assert (status, body, again["ETag"]) == (304, b"", headers["ETag"])
    assert other == 200


@pytest.mark.parametrize("accepted", ["gzip, br", "br;q=1.0, gzip;q=0.2", "*"])
@MODULE
async def test_whoever_takes_it_compressed_gets_it_so(api, accepted):
    status, headers, body = await raw(api, f"/ui/{A_SCRIPT}", **{"Accept-Encoding": accepted})

    assert (status, headers["Content-Encoding"], headers["Vary"]) == (200, "gzip", "Accept-Encoding")
    assert gzip.decompress(body) == page_files()[A_SCRIPT]


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "gzip; q=0.000"])
@MODULE
async def test_whoever_does_not_gets_it_plain(api, accepted):
    _, headers, body = await raw(api, f"/ui/{A_SCRIPT}", **{"Accept-Encoding": accepted})

    assert "Content-Encoding" not in headers
    assert body == page_files()[A_SCRIPT]


OUTSIDE = """
/ui/assets/..%2findex.html /ui/assets/..%2f..%2f__init__.py /ui/assets/../index.html
/ui/assets/%2e%2e%2f%2e%2e%2fserver.py
/ui/assets/..%5c..%5cx /ui/assets/ /ui/assets/none.js /ui/assets//x /ui/assets/%2fetc%2fpasswd /ui/assets/index.html
/ui/index.html /ui/server.token /ui/../server.token /ui/nothing /ui/playbooks/ /ui//playbooks /ui/playbooks/a/b/c
/UI/ /ui/Playbooks /ui/icon.svg/ /ui/assets%2findex.html /ui/api/v1/executions /index.html /favicon.ico
""".split()


@pytest.mark.parametrize("path", OUTSIDE)
@MODULE
async def test_no_path_leads_to_anything_else(api, path):
    status, headers, body = await raw(api, path)

    assert status == 404
    assert headers["Content-Type"] == "application/problem+json"
    assert INDEX not in body


@MODULE
async def test_pages_take_no_body_and_no_token_opens_more(api):
    assert (await api.raw("POST", "/ui/", role=NONE))[0] == 405
    assert (await api.raw("GET", "/ui/server.token", role="admin"))[0] == 404


def test_every_page_of_the_front_end_has_its_path_on_the_server():
    patterns = re.findall(r'pattern: "([^"]+)"', (SOURCE / "routes.ts").read_text())
    first = {pattern.split("/")[1] for pattern in patterns}

    assert first == {"", *pages.PAGES}
    assert max(len(pattern.split("/")) for pattern in patterns) <= 4
