"""The first walk of docs/keychain.md, as it stands there."""

import re

import pytest

from tests.cli.running import noetl
from tests.dsl.front import PLAYBOOKS

PAGE = (PLAYBOOKS.parent.parent / "docs" / "keychain.md").read_text("utf-8")
PLAYBOOK, DOCUMENT = [
    text for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if text.startswith("apiVersion")
]
SHOWN = {
    command: " ".join(lines.split())
    for command, lines in re.findall(r"^\$ noetl (.*)\n((?:(?!^\$|```).*\n)*)", PAGE, re.M)
}
PASSING = re.compile(r"\d{4}-\d\d-\d\d [\d:]{8}|\d+(\.\d+)? m?s\b|\b[0-9a-f]{16}\b|\S*/keychain\.keys")


def said(done):
    """What a command printed, without what differs from run to run and without advice, which the page leaves out."""
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("next: ")]
    return PASSING.sub("…", " ".join(" ".join(lines).split()))


@pytest.mark.slow
@pytest.mark.spec("KC-01", "KC-04", "KC-05")
def test_the_walk_from_nothing_to_a_used_credential_goes_as_shown(tmp_path):
    (tmp_path / "orders.yaml").write_text(PLAYBOOK)
    (tmp_path / "token.txt").write_text("s3cr3t-from-the-provider\n")
    (tmp_path / "credentials.yaml").write_text(DOCUMENT)

    for command, shown in SHOWN.items():
        words, _, file = command.partition(" < ")
        stdin = (tmp_path / file).read_bytes() if file else b""

        done = noetl(*words.split(), home=tmp_path, stdin=stdin)

        assert said(done) == PASSING.sub("…", shown), command
