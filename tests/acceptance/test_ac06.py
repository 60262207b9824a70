"""AC-6, nested loops: the outer one in parallel, the inner paging in order for each item, iter.parent in between."""

import json
from itertools import pairwise

import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named

SHOPS = ("north", "south", "east")
KINDS = ("books", "tools")
PAGES = 3
PLAYBOOK = """
workload:
  api: ""
  shops:
    - {name: north, kinds: [books, tools]}
    - {name: south, kinds: [books, tools]}
    - {name: east, kinds: [books, tools]}
workflow:
  - step: collect
    loop:
      in: "{{ workload.shops }}"
      iterator: shop
      spec: {mode: parallel, max_in_flight: 3}
      loop:
        in: "{{ iter.shop.kinds }}"
        iterator: kind
        spec: {mode: sequential}
    tool:
      - name: begin
        kind: noop
        set: {iter.page: 1}
      - name: fetch
        kind: http
        url: "{{ workload.api }}/{{ iter.parent.shop.name }}"
        params: {kind: "{{ iter.kind }}", page: "{{ iter.page }}"}
      - name: store
        kind: http
        method: POST
        url: "{{ workload.api }}/store"
        json:
          shop: "{{ iter.parent.shop.name }}"
          shop_index: "{{ iter.parent.index }}"
          kind: "{{ iter.kind }}"
          kind_index: "{{ iter.index }}"
          page: "{{ iter.page }}"
      - name: decide
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{ fetch.data.has_more }}"
                then: {do: jump, to: fetch, set: {iter.page: "{{ iter.page + 1 }}"}}
              - else:
                  then: {do: break}
    next:
      arcs:
        - step: report
          when: "{{ event.name == 'loop.done' }}"
  - step: report
    tool: {kind: noop, input: {lists: "{{ collect.data }}"}}
"""


@pytest.fixture
def shops(api: ApiServer) -> ApiServer:
    for shop in SHOPS:
        for kind in KINDS:
            for page in range(1, PAGES + 1):
                answer = Answer(json={"shop": shop, "page": page, "has_more": page < PAGES}, delay_seconds=0.1)
                api.script(f"/{shop}?kind={kind}&page={page}", answer)
    api.script("/store", Answer(json={}))
    return api


@pytest.mark.slow
@pytest.mark.spec("AC-6", "LP-06", "LP-09", "SC-04")
def test_shops_are_paged_side_by_side_and_each_one_page_by_page(noetl: Noetl, shops: ApiServer) -> None:
    noetl.succeed(PLAYBOOK, "--set", f"api={shops.url}")

    in_order = [([kind], [str(page)]) for kind in KINDS for page in range(1, PAGES + 1)]
    for shop in SHOPS:
        seen = shops.requests(f"/{shop}")
        assert [(one.query["kind"], one.query["page"]) for one in seen] == in_order
        assert all(earlier.ended_at <= later.started_at for earlier, later in pairwise(seen))
    assert shops.concurrency_max() == len(SHOPS)


@pytest.mark.slow
@pytest.mark.spec("AC-6", "LP-09", "SC-04", "SC-03")
def test_an_inner_iteration_knows_its_own_item_and_its_parents(noetl: Noetl, shops: ApiServer) -> None:
    noetl.succeed(PLAYBOOK, "--set", f"api={shops.url}")

    stored = [json.loads(seen.body) for seen in shops.requests("/store")]
    assert sorted(stored, key=lambda one: (one["shop_index"], one["kind_index"], one["page"])) == [
        {"shop": shop, "shop_index": row, "kind": kind, "kind_index": column, "page": page}
        for row, shop in enumerate(SHOPS)
        for column, kind in enumerate(KINDS)
        for page in range(1, PAGES + 1)
    ]


@pytest.mark.slow
@pytest.mark.spec("AC-6", "LP-08", "LP-09", "RT-03")
def test_the_nest_ends_in_one_boundary_and_nested_lists(noetl: Noetl, shops: ApiServer) -> None:
    found = noetl.succeed(
        PLAYBOOK.replace("{mode: parallel, max_in_flight: 3}", "{mode: parallel}"), "--set", f"api={shops.url}"
    )

    routed = named(noetl.events(), "next.evaluated", step="collect")
    assert [event["payload"]["boundary"] for event in routed] == ["loop.done"]
    assert [row["runs"] for row in found["steps"]] == [1, 1]
    lists = found["output"]["data"]["lists"]
    assert [len(row) for row in lists] == [len(KINDS)] * len(SHOPS)
