"""Short ways to check and normalise a text."""

import textwrap
from pathlib import Path

import msgspec

from noetl.dsl.check import Checked, check
from noetl.dsl.findings import as_text
from noetl.dsl.kinds import Kind
from noetl.dsl.model import Playbook
from noetl.dsl.normalize import normalize
from noetl.tools.registry import Declarations, declarations

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"
PLAYBOOKS = Path(__file__).parent.parent / "playbooks"
FLAGS = {"--legacy": "is_legacy", "--strict": "is_strict", "--upstream": "is_upstream"}


def checked(path: Path) -> Checked:
    """Check a playbook with the flags that its first line names: `# check: --legacy`."""
    data = path.read_bytes()
    first = data.split(b"\n", 1)[0].decode("utf-8", "replace")
    words = first.removeprefix("# check:").split() if "# check:" in first else []
    flags = {FLAGS[word]: True for word in words if word in FLAGS}
    lacking = {word.removeprefix("--without=") for word in words if word not in FLAGS}
    kinds = KindsWithout(lacking) if lacking else declarations
    return check(data, f"{path.parent.name}/{path.name}", kinds, **flags)


class KindsWithout(Declarations):
    """All kinds, some without their library: `# check: --without=duckdb`."""

    def __init__(self, missing: set[str]) -> None:
        super().__init__()
        self.missing = missing

    def __getitem__(self, name: str) -> Kind:
        return msgspec.structs.replace(super().__getitem__(name), is_missing=name in self.missing)


def printed(result: Checked) -> str:
    """All findings as the command line prints them."""
    return "\n\n".join(as_text(finding, result.source) for finding in result.findings) + "\n"


class Front:
    """The front end on a body without its head."""

    def check(self, body: str, **flags: bool) -> Checked:
        return check(HEAD + textwrap.dedent(body), "t.yaml", declarations, **flags)

    def codes(self, body: str, **flags: bool) -> list[str]:
        return [finding.code for finding in self.check(body, **flags).findings]

    def playbook(self, body: str, **flags: bool) -> Playbook:
        result = self.check(body, **flags)
        assert [f"{finding.code} {finding.message}" for finding in result.findings if finding.severity == "error"] == []
        return normalize(result.drafts[0])
