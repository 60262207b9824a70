"""Write the .out beside each bad playbook: python -m tests.playbooks.update [rule-name ...] (then read the diff)."""

import sys

from noetl.dsl.rules import MODULES, module
from tests.dsl.front import PLAYBOOKS, checked, printed

for name in sys.argv[1:] or [module(name).RULE.name for name in MODULES]:
    path = PLAYBOOKS / "bad" / f"{name}.yaml"
    path.with_suffix(".out").write_text(printed(checked(path)), encoding="utf-8")
