"""Peers: figures from their rounds, what is said when there are none, and that nothing of them stays behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.peers import PEERS, installing, measured, measuring
from bench.peers.installing import NotInstalled, installed
from bench.peers.measuring import PeerFigure, PeerRounds, figure_of, told
from bench.peers.processes import started
from bench.peers.table import SIZES, Peer

STUBBORN = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""
PROGRAM = """
import contextlib, threading
def once():
    {once}
@contextlib.contextmanager
def chain(job):
    try:
        yield once
    finally:
        print("ended well", flush=True)
WORKLOADS = {{"W1": chain}}
"""
WAIT_FOR_EVER = 'print("begun", flush=True); threading.Event().wait()'
WAIT_SECONDS_MAX = 30.0


def test_every_peer_has_a_program_and_knows_its_workloads() -> None:
    for name, peer in PEERS.items():
        assert (measuring.PROGRAMS / f"{peer.module}.py").is_file(), name
        assert set(peer.workloads) <= set(SIZES), name
        assert not peer.home or PEERS[peer.home].packages == peer.packages, name


def test_every_package_of_a_peer_is_pinned() -> None:
    loose = [package for peer in PEERS.values() for package in peer.packages if "==" not in package]

    loose += [package for peer in PEERS.values() for package in peer.npm_packages if "@" not in package[1:]]

    assert loose == []


def test_a_chain_is_told_in_milliseconds_for_a_step_and_a_loop_in_iterations_a_second() -> None:
    taken = PeerRounds([2.0, 1.0, 4.0], 50.0)

    chain, loop = told("luigi", "W1", 200, taken), told("luigi", "W2", 200, taken)

    assert chain == PeerFigure("luigi", "W1", 10.0, "ms", 5.0, 20.0, 3, 50.0, None)
    assert loop == PeerFigure("luigi", "W2", 100.0, "/s", 50.0, 200.0, 3, 50.0, None)


def test_an_unknown_peer_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(ValueError, match=r"no such peer: lugi; there are .*luigi"):
        next(measured(["luigi", "lugi"], ["W1"], 1))


@pytest.mark.slow
def test_a_peer_that_cannot_be_installed_gives_a_figure_that_says_why(monkeypatch, tmp_path) -> None:
    def refuse(name: str, peer: Peer) -> Path:
        return installed(name, peer, tmp_path)

    monkeypatch.setattr(measuring, "installed", refuse)
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))

    figure = figure_of("nobody", Peer(module="on_nobody", packages=("no-such-peer==1.0",)), "W1", 1)

    assert figure.error is not None
    assert figure.error.startswith("cannot install it: uv pip: ")
    assert "no-such-peer" in figure.error
    assert not (tmp_path / "nobody" / installing.STAMP).exists()


def test_an_environment_in_the_wanted_versions_is_used_as_it_is(tmp_path) -> None:
    peer = Peer(module="on_nobody", packages=("no-such-peer==1.0",))
    folder = tmp_path / "nobody"
    folder.mkdir()
    (folder / installing.STAMP).write_text("no-such-peer==1.0", encoding="utf-8")

    found = installed("nobody", peer, tmp_path)

    assert found == folder


def test_a_missing_program_is_a_reason_not_to_be_installed() -> None:
    with pytest.raises(NotInstalled, match="no-such-program"):
        installing.run(["no-such-program", "install"])


def test_a_round_of_a_program_is_a_figure(monkeypatch, tmp_path) -> None:
    (tmp_path / "on_nobody.py").write_text(PROGRAM.format(once="pass"), encoding="utf-8")

    figure = figure_here(monkeypatch, tmp_path)

    assert figure.error is None
    assert figure.rounds == 1
    assert figure.unit == "ms"
    assert figure.value > 0


def test_a_program_that_fails_gives_its_last_words_without_folders(monkeypatch, tmp_path) -> None:
    (tmp_path / "on_nobody.py").write_text(f"raise SystemExit('no server at {tmp_path}/server')\n", encoding="utf-8")

    figure = figure_here(monkeypatch, tmp_path)

    assert figure.error == "ended with 1: no server at server"


def figure_here(monkeypatch, folder: Path) -> PeerFigure:
    """The figure of a peer whose program is in `folder`, by this interpreter."""
    environment = folder / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(measuring, "installed", lambda *_: environment)
    return figure_of("nobody", Peer(module="on_nobody", packages=()), "W1", 1)


def test_whatever_a_program_leaves_behind_is_ended(tmp_path) -> None:
    with started([sys.executable, "-c", STUBBORN], tmp_path, dict(os.environ)) as program:
        program.wait(WAIT_SECONDS_MAX, None)
        (left,) = map(int, program.lines())
        assert is_running(left)

    deadline = time.monotonic() + WAIT_SECONDS_MAX  # it was killed; the kernel may take its time
    while is_running(left) and time.monotonic() < deadline:
        os.sched_yield()
    assert not is_running(left)


def is_running(pid: int) -> bool:
    """A killed process that nobody has waited for is still listed, as Z."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_ends_when_whoever_started_it_is_gone(tmp_path) -> None:
    (tmp_path / "on_nobody.py").write_text(PROGRAM.format(once=WAIT_FOR_EVER), encoding="utf-8")
    command = [sys.executable, "rounds.py", "on_nobody", "W1", "--count", "1", "--in-flight", "1", "--rounds", "1"]
    variables = os.environ | {"PYTHONPATH": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=measuring.PROGRAMS, env=variables, text=True, **pipes) as program:
        try:
            begun = program.stdout.readline()

            said, _ = program.communicate(timeout=WAIT_SECONDS_MAX)  # which closes its standard input
        finally:
            program.kill()

    assert begun == "begun\n"
    assert said == "ended well\n"
