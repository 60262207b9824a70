"""Playbooks whose executions the tests of the execution's pages look at."""

from tests.browser.playbooks import HEAD

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"

# Writes to ctx, goes two ways, tries a task again, prints, and fails until ctx.divisor is another one.
ORDERS = (
    HEAD.format(name="orders", path="desk/orders")
    + """workload:
  divisor: 0
workflow:
  - step: start
    tool:
      kind: python
      input:
        code: |
          print("fetching orders")
          print("WARNING two orders have no address")
          result = [{"id": n, "total": n * 3} for n in range(8)]
    set:
      ctx.orders: "{{ output.data }}"
      ctx.divisor: "{{ workload.divisor }}"
    next:
      spec: {mode: inclusive}
      arcs:
        - step: price
        - step: notify
          when: "{{ ctx.orders | length > 5 }}"
        - step: archive
          when: "{{ ctx.orders | length > 50 }}"
  - step: price
    tool:
      kind: python
      input:
        orders: "{{ ctx.orders }}"
        divisor: "{{ ctx.divisor }}"
        code: result = sum(one["total"] for one in input["orders"]) / input["divisor"]
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' }}"
              then: {do: retry, attempts: 2, delay: 0.1}
            - else:
                then: {do: continue}
    set:
      ctx.mean: "{{ output.data }}"
    next:
      arcs: [{step: report}]
  - step: notify
    loop:
      in: "{{ ctx.orders }}"
      iterator: order
      spec: {mode: parallel, max_in_flight: 4}
    tool:
      kind: noop
      input: {order: "{{ iter.order.id }}"}
  - step: report
    tool: {kind: noop}
  - step: archive
    tool: {kind: noop}
"""
)
# Goes on until somebody stops it.
LONG = (
    HEAD.format(name="long", path="desk/long")
    + """workflow:
  - step: each
    loop:
      in: "{{ range(5000) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 2}
    tool:
      kind: python
      input:
        n: "{{ iter.n }}"
        code: |
          import time
          print("iteration", input["n"])
          time.sleep(0.05)
          result = input["n"]
"""
)
# 10,000 iterations of four tasks: a log of 100,000 events.
HUGE = (
    HEAD.format(name="huge", path="desk/huge")
    + """workflow:
  - step: each
    loop:
      in: "{{ range(10000) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 64}
    tool:
      - {name: one, kind: noop}
      - {name: two, kind: noop}
      - {name: three, kind: noop}
      - {name: four, kind: noop}
    next:
      arcs: [{step: end}]
  - step: end
    tool: {kind: noop}
"""
)
# A payload that does not fit into an event.
LARGE = (
    HEAD.format(name="large", path="desk/large")
    + """workflow:
  - step: make
    tool:
      kind: python
      input:
        code: |
          result = [{"id": n, "name": f"row {n}", "text": "x" * 80} for n in range(2000)]
"""
)
# Markup wherever text can stand that somebody else wrote.
MARKUP = (
    HEAD.format(name="markup", path="desk/markup")
    + """workload:
  text: "{{ '' }}"
workflow:
  - step: speak
    desc: "<b>bold</b>"
    tool:
      kind: python
      input:
        text: "{{ workload.text }}"
        code: |
          print(input["text"])
          result = [{input["text"]: input["text"]}]
    set:
      ctx.text: "{{ output.data }}"
    next:
      arcs: [{step: fail}]
  - step: fail
    tool:
      kind: python
      input:
        text: "{{ workload.text }}"
        code: raise ValueError(input["text"])
"""
)
ALL = (ORDERS, LONG, HUGE, LARGE, MARKUP)
