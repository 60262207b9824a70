"""The systemd units: what they confine, how long they wait, and that systemd itself takes them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.texts import UNITS, unit

CONFINED = {
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "DynamicUser": "yes",
    "CapabilityBoundingSet": "",
    "UMask": "0077",
    "Restart": "always",
    "KillMode": "mixed",
}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_confines_what_it_starts_and_keeps_no_secret(path):
    found = unit(path)

    assert {name: found.get(name, [None])[0] for name in CONFINED} == CONFINED
    assert found["StateDirectory"]
    assert not re.search(r"://[^/\s]*:[^/\s]*@|noetl_[A-Za-z0-9_-]{43}", path.read_text("utf-8"))


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_waits_longer_than_what_it_starts_drains(path):
    found = unit(path)
    drain = re.search(r"--drain (\d+)", found["ExecStart"][0])

    assert int(found["TimeoutStopSec"][0]) > (int(drain[1]) if drain else 30)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_takes_the_unit(path, tmp_path):
    text = path.read_text("utf-8")
    copy = tmp_path / path.name.replace("@.", "@default.")
    copy.write_text(text.replace("/opt/noetl/bin/noetl", str(Path(sys.executable).with_name("noetl"))))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60, check=False
    )

    # what it says of other units of this machine is none of ours
    assert [
        line for line in done.stderr.splitlines() if path.name.partition("@")[0].removesuffix(".service") in line
    ] == []
