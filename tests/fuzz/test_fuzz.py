"""A share of the fuzzing that `make fuzz` does at length."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.inputs import make_input
from tests.fuzz.run import run_one

EXAMPLES = int(os.environ.get("NOETL_FUZZ_EXAMPLES", "200"))
REGRESSIONS = Path(__file__).parent / "regressions"
RUN = Path(__file__).parent / "run.py"
SHARE = int(os.environ.get("NOETL_FUZZ_INPUTS", "1500"))


@pytest.mark.slow
@pytest.mark.spec("TP-05")
@pytest.mark.parametrize("seed", [1, 2])
def test_no_input_raises_or_takes_long_or_much_memory(seed: int) -> None:
    """In a process of its own, whose memory is that of these inputs and nothing else."""
    command = [sys.executable, str(RUN), "--inputs", str(SHARE), "--seed", str(seed), "--jobs", "1"]

    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{SHARE:,} inputs" in done.stdout
    assert ", 0 valid" not in done.stdout


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32), st.binary(max_size=40), st.integers(0, 10_000))
def test_bytes_put_into_a_playbook_never_raise(seed: int, more: bytes, at: int) -> None:
    data, flags = make_input(seed, 0)
    place = at % (len(data) + 1)

    run_one(data[:place] + more + data[place:], flags)


@settings(max_examples=EXAMPLES)
@given(st.text(max_size=60))
def test_any_text_as_a_template_is_findings_or_a_model(text: str) -> None:
    body = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n  - step: start\n    tool:\n"
    body += f"      kind: noop\n      input: {{x: {yaml_text('{{' + text)}}}\n"

    run_one(body.encode(), {})


def yaml_text(text: str) -> str:
    return "'" + text.replace("'", "''").replace("\n", "\n\n        ") + "'"


@pytest.mark.parametrize("path", sorted(REGRESSIONS.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_once_raised_does_not_raise_again(path: Path) -> None:
    for flags in ({}, {"is_legacy": True}, {"is_upstream": True}):
        run_one(path.read_bytes(), flags)
