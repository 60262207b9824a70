"""Text in, Playbook out (pure): read → dialects → parse → check → normalize.

| stage | file | gives |
|---|---|---|
| YAML text | `read.py` | nodes that know file, line, column |
| any surface | `dialects/` | the same nodes in the 2026 surface, with marks |
| what the author wrote | `parse.py`, `draft.py` | Draft |
| what is wrong with it | `check.py`, `rules/`, `analyze.py` | findings |
| what it means | `normalize.py`, `model.py` | Playbook |
"""
