"""The playbooks that are measured, as people write them: chains, loops, requests, code, paging. Text comes out."""

from __future__ import annotations

HEAD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {{ name: {name} }}
workload:
  url: http://127.0.0.1:8080
workflow:
"""
STEP = """  - step: step_{n}
    tool: {{ kind: noop }}
    next: {{ arcs: [{{ step: step_{next} }}] }}
"""
LAST_STEP = """  - step: step_{n}
    tool: {{ kind: noop }}
"""
FILLING_STEP = """  - step: fill_{n}
    tool: {{ kind: noop }}
    set: {{ ctx.part_{n}: "{value}" }}
    next: {{ arcs: [{{ step: {next} }}] }}
"""
LOOP = """  - step: each
    loop:
      in: "{{{{ range({count}) }}}}"
      iterator: number
      spec: {{ mode: parallel, max_in_flight: {in_flight} }}
    tool: {{ {tool} }}
"""
CODE = """  - step: each
    loop:
      in: "{{{{ range({count}) }}}}"
      iterator: number
      spec: {{ mode: parallel, max_in_flight: {in_flight} }}
    tool:
      kind: python
      spec: {{ isolation: {isolation} }}
      input:
        number: "{{{{ iter.number }}}}"
        code: |
{code}
"""
BURNING_CODE = """import time
end = time.process_time() + {seconds}
while time.process_time() < end:
    pass
result = number"""
WAITING = """apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: waiting }
workflow:
  - step: gate
    spec:
      policy:
        admit:
          rules:
            - when: "{{ ctx.go | default(false) }}"
              then: { allow: true }
            - else: { then: { allow: false } }
    tool: { kind: noop }
"""
PAGING = """apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: paging }
keychain:
  - name: warehouse
    kind: postgres_credential
workload:
  url: http://127.0.0.1:8080
  items: 500
workflow:
  - step: fetch_items
    loop:
      in: "{{ range(workload.items) }}"
      iterator: item
      spec: { mode: parallel, max_in_flight: IN_FLIGHT }
    tool:
      - name: first_page
        kind: noop
        set:
          iter.page: 1
      - name: fetch_page
        kind: http
        input:
          url: "{{ workload.url }}items/{{ iter.item }}"
          params: { page: "{{ iter.page }}" }
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' and output.http.status in [429, 500, 502, 503] }}"
                then: { do: retry, attempts: 5, backoff: none, delay: RETRY_SECONDS }
              - when: "{{ output.status == 'error' }}"
                then: { do: fail }
              - else:
                  then: { do: continue }
      - name: store_page
        kind: postgres
        auth: warehouse
        command: |
          INSERT INTO paged (item, page, id, name)
          SELECT {{ iter.item }}::int, {{ iter.page }}::int, id, name
          FROM jsonb_to_recordset({{ fetch_page.data.rows | tojson }}::jsonb) AS row (id int, name text)
      - name: next_page
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{ fetch_page.data.has_more }}"
                then:
                  do: jump
                  to: fetch_page
                  set:
                    iter.page: "{{ iter.page + 1 }}"
              - else:
                  then: { do: break }
"""
CTX_VALUE_KIBIBYTES = 20  # a value of ctx, in one event with its step, must fit into 64 KiB


def chain(steps: int) -> str:
    """Steps one after another."""
    return HEAD.format(name=f"chain_of_{steps}") + _chain(steps)


def _chain(steps: int) -> str:
    return "".join(STEP.format(n=n, next=n + 1) for n in range(1, steps)) + LAST_STEP.format(n=steps)


def loop(count: int, in_flight: int) -> str:
    """One parallel loop over tasks that do nothing."""
    return HEAD.format(name="loop") + _loop(count, in_flight)


def _loop(count: int, in_flight: int) -> str:
    return LOOP.format(count=count, in_flight=in_flight, tool="kind: noop")


def chain_beside_ctx(steps: int, kibibytes: int) -> str:
    """A chain, in an execution whose ctx has so much in it."""
    return HEAD.format(name="chain_beside_ctx") + _filling(kibibytes, "step_1") + _chain(steps)


def loop_beside_ctx(count: int, in_flight: int, kibibytes: int) -> str:
    """A loop, in an execution whose ctx has so much in it."""
    return HEAD.format(name="loop_beside_ctx") + _filling(kibibytes, "each") + _loop(count, in_flight)


def _filling(kibibytes: int, then: str) -> str:
    parts = kibibytes // CTX_VALUE_KIBIBYTES
    value = "0123456789abcdef" * (CTX_VALUE_KIBIBYTES * 1024 // 16)
    following = [f"fill_{n}" for n in range(1, parts)] + [then]
    return "".join(FILLING_STEP.format(n=n, value=value, next=following[n]) for n in range(parts))


def requests(count: int, in_flight: int) -> str:
    """One parallel loop over GETs to `workload.url`."""
    tool = 'kind: http, input: { url: "{{ workload.url }}" }'
    return HEAD.format(name="requests") + LOOP.format(count=count, in_flight=in_flight, tool=tool)


def code(count: int, in_flight: int, isolation: str) -> str:
    """One parallel loop over code that gives back what it is given."""
    return _code(count, in_flight, isolation, "result = number")


def burning(count: int, in_flight: int, seconds: float) -> str:
    """One parallel loop over code that takes so much processor time."""
    return _code(count, in_flight, "process", BURNING_CODE.format(seconds=seconds))


def _code(count: int, in_flight: int, isolation: str, text: str) -> str:
    indented = "\n".join(f"          {line}" for line in text.splitlines())
    body = CODE.format(count=count, in_flight=in_flight, isolation=isolation, code=indented)
    return HEAD.format(name="code") + body


def paging(in_flight: int, retry_seconds: float) -> str:
    """Items of `workload.url`, a page after another, each stored in a table; what is too often is asked again."""
    return PAGING.replace("IN_FLIGHT", str(in_flight)).replace("RETRY_SECONDS", str(retry_seconds))
