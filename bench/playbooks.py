"""Playbooks of any length, shaped as people write them: paging, retries, storage, routing; no two steps alike."""

from __future__ import annotations

HEAD = """apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: generated
  path: bench/generated
keychain:
  - name: warehouse
    kind: postgres_credential
workload:
  api_url: https://api.example.com
  page_size: 100
  regions: [north, south, east, west]
workflow:
  - step: start
    next:
      arcs:
        - step: fetch_{first}
"""

STEP = """  - step: fetch_{n}
    desc: Read every page of report {n} and keep it
    spec:
      policy:
        lifecycle: {{ timeout_s: 600 }}
    loop:
      in: "{{{{ workload.regions }}}}"
      iterator: region
      spec:
        mode: parallel
        max_in_flight: 4
    tool:
      - name: init_page
        kind: noop
        set:
          iter.page: 1
      - name: fetch_page
        kind: http
        input:
          url: "{{{{ workload.api_url }}}}/reports/{n}/{{{{ iter.region }}}}"
          params:
            page: "{{{{ iter.page }}}}"
            size: "{{{{ workload.page_size }}}}"
        spec:
          timeout: {{ connect: 5, read: 30 }}
          policy:
            rules:
              - when: "{{{{ output.status == 'error' and output.http.status in [429, 500, 502, 503] }}}}"
                then: {{ do: retry, attempts: {attempts}, backoff: exponential, delay: 1 }}
              - when: "{{{{ output.status == 'error' }}}}"
                then: {{ do: fail }}
              - else:
                  then:
                    do: continue
                    set:
                      iter.has_more: "{{{{ output.data.page < output.data.pages_{n} }}}}"
      - name: store_page
        kind: postgres
        auth: warehouse
        command: |
          INSERT INTO report_{n} (region, page, rows)
          VALUES ({{{{ iter.region }}}}, {{{{ iter.page }}}}, {{{{ fetch_page.data.rows | tojson }}}})
      - name: paginate
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{{{ iter.has_more }}}}"
                then:
                  do: jump
                  to: fetch_page
                  set:
                    iter.page: "{{{{ iter.page + 1 }}}}"
              - else:
                  then: {{ do: break }}
    next:
      arcs:
        - step: fetch_{next}
          when: "{{{{ event.name == 'loop.done' }}}}"
          set:
            ctx.report_{n}: "{{{{ output.loop.done }}}}"
        - step: alarm
          when: "{{{{ event.name == 'step.failed' }}}}"
"""

TAIL = """  - step: fetch_{n}
    tool:
      kind: noop
  - step: alarm
    tool:
      kind: noop
"""


def playbook(lines: int, first: int = 0) -> str:
    """A playbook of about so many lines that checks without findings; `first` numbers its steps and templates."""
    steps = max(1, (lines - HEAD.count("\n") - TAIL.count("\n")) // STEP.count("\n"))
    numbers = range(first, first + steps)
    body = "".join(STEP.format(n=n, next=n + 1, attempts=3 + n % 5) for n in numbers)
    return HEAD.replace("{first}", str(first)) + body + TAIL.format(n=first + steps)
