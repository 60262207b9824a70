"""Pictures of a Graph: Mermaid text, and SVG with a layout of our own, so that nothing else need be installed.

| stage | file | gives |
|---|---|---|
| ranks | `ranks.py` | which edges run back up, which row each node stands in |
| rows | `rows.py` | the order in each row, with few crossings |
| columns | `columns.py` | where each node stands in its row, edges as straight as can be |
| plan | `plan.py` | boxes, curves and labels with their places |
| picture | `svg.py` | the SVG text |

`words.py` knows how wide words are and what may stand in a picture. `mermaid.py` leaves the layout to others. All of it
is deterministic: the same playbook gives the same picture.
"""
