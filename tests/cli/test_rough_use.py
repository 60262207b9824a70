"""What a terminal, a shell and a file system can do to a verb, and what a verb must not do to them."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: x}
workflow:
  - step: start
    tool:
      kind: python
      args: {name: ada}
      code: |
        result = 1
"""


def noetl(*words: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "noetl", *words], capture_output=True, timeout=60, **more)  # type: ignore[call-overload]


def test_a_file_cannot_talk_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil\x1b]0;x\x07.yaml"
    path.write_text(GOOD.replace("workflow:", '"\\e]0;pwn\\a\\e[2J": 1\nworkflow:'))

    said = noetl("check", str(path)).stdout

    assert b"NL114" in said
    assert not any(byte in said for byte in (b"\x1b", b"\x07"))


def test_a_device_or_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    done = noetl("graph", "-", "-o", str(pipe), input=GOOD.encode())

    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert done.returncode == 0
    assert os.read(reader, 9) == b"flowchart"
    os.close(reader)


def test_a_pipe_below_a_directory_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "good.yaml").write_text(GOOD)

    assert noetl("check", str(tmp_path)).stdout.splitlines()[-1].startswith(b"checked 1 file")


@pytest.mark.parametrize("verb", [("--version",), ("explain", "NL301")])
def test_closed_output_is_no_fault(verb: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m noetl {' '.join(verb)} >&-"], capture_output=True, timeout=60
    )

    assert b"fault of NoETL" not in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_name_that_is_no_utf_8_is_spelt_out_in_json(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/bad\xff.yaml"
    Path(os.fsdecode(path)).write_text(GOOD)

    done = noetl("check", "--format", "json", os.fsdecode(path))

    assert done.returncode == 0
    assert b"bad\\\\udcff.yaml" in done.stdout


def test_a_file_that_cannot_be_written_keeps_its_findings() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("wb") as nowhere:
        done = subprocess.run(
            [sys.executable, "-m", "noetl", "check", "--fix", "-"],
            input=GOOD.encode(),
            stdout=nowhere,
            stderr=subprocess.PIPE,
            timeout=60,
        )

    assert done.returncode == 2
    assert b'cannot write "-"' in done.stderr
    assert b"NL901" in done.stderr


@pytest.mark.spec("PB-11")
def test_a_playbook_that_ends_in_a_block_of_code_is_migrated() -> None:
    done = noetl("migrate", "-", input=GOOD.encode())

    assert done.returncode == 0
    assert done.stdout.decode() == GOOD.replace("args:", "input:")


@pytest.mark.spec("KC-05")
def test_a_value_that_its_key_calls_a_secret_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD.replace("    tool:", '    password: "S3CRET-canary"\n    tool:'))

    said = noetl("check", str(tmp_path)).stdout

    assert b"NL203" in said
    assert b"S3CRET" not in said


def test_many_reads_in_one_folded_text_are_placed_in_linear_time() -> None:
    lines = "\n".join("          {{ b }}" for _ in range(500))
    body = "workload: {b: 1}\nworkflow:\n  - step: s\n    tool:\n      kind: noop\n      input:\n"
    text = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: x}\n" + body
    text += "".join(f"        a{number}: >-\n{lines}\n" for number in range(10))

    assert noetl("check", "-", input=text.encode()).returncode == 0


def test_a_hundred_arcs_between_two_steps_are_drawn_before_anyone_gives_up() -> None:
    arcs = "".join(f"        - {{step: b, when: '{{{{ ctx.a == {number} }}}}'}}\n" for number in range(100))
    text = (
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: x}\nworkflow:\n  - step: a\n    tool: {kind: noop}\n"
    )
    text += f"    next:\n      arcs:\n{arcs}  - {{step: b, tool: {{kind: noop}}}}\n"

    done = noetl("graph", "-", "--format", "svg", input=text.encode())

    assert done.stdout.count(b"ctx.a == ") >= 100
