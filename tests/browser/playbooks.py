"""Playbooks that the browser tests run."""

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}, path: {path}}}\n"

HELLO = (
    HEAD.format(name="hello", path="shop/hello")
    + """workload:
  name: Oslo
  count: 3
workflow:
  - step: start
    tool:
      kind: noop
      input: {text: "hello {{ workload.name }}"}
    set:
      ctx.text: "{{ output.data.text }}"
    next:
      arcs:
        - step: never
          when: "{{ ctx.text == 'never' }}"
        - step: end
  - step: end
    tool: {kind: noop}
  - step: never
    tool: {kind: noop}
"""
)
# Fails at its second step until the workload says otherwise.
BROKEN = (
    HEAD.format(name="broken", path="shop/broken")
    + """workload:
  divisor: 0
workflow:
  - step: start
    tool: {kind: noop}
    next:
      arcs: [{step: divide}]
  - step: divide
    tool:
      - name: divide
        kind: python
        input: {divisor: "{{ workload.divisor }}"}
        code: |
          print("dividing by", input["divisor"])
          result = {"share": 100 / input["divisor"]}
    next:
      arcs: [{step: end}]
  - step: end
    tool: {kind: noop}
"""
)
LOOP = (
    HEAD.format(name="loop", path="shop/loop")
    + """workload:
  orders: [1, 2, 3, 4, 5, 6, 7, 8]
workflow:
  - step: each
    loop:
      in: "{{ workload.orders }}"
      iterator: order
      spec: {mode: parallel, max_in_flight: 4}
    tool:
      - name: price
        kind: noop
        input: {price: "{{ iter.order * 10 }}"}
    next:
      arcs: [{step: end}]
  - step: end
    tool: {kind: noop}
"""
)
WAITING = (
    HEAD.format(name="waiting", path="shop/waiting")
    + """workflow:
  - step: start
    tool: {kind: noop}
    next:
      arcs: [{step: approve}]
  - step: approve
    spec:
      policy:
        admit:
          on_deny: wait
          rules:
            - when: "{{ ctx.approved }}"
              then: {allow: true}
            - else:
                then: {allow: false}
    tool: {kind: noop}
"""
)
ALL = (HELLO, BROKEN, LOOP, WAITING)
