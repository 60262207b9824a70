"""The surfaces a playbook may be written in, each read by turning it into the one that `parse.py` knows.

A dialect is a function over a tree: it moves and renames what its surface spells differently, keeps every place, and
marks each deprecated spelling. The same function serves `noetl run` and `noetl check` (over our nodes, `nodetree.py`)
and `noetl migrate` (over the same nodes with the text they were read from, `texttree.py`), so a migrated file means
what the old one meant.

Order matters: legacy (003) gives v10, upstream gives v10, v10 gives 2026, sugar expands last.
"""
