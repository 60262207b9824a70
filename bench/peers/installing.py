"""A peer's environment: build/peers/NAME, made by uv in the versions of the table, bytecode compiled; npm for the rest.

One that is there in the same versions is used as it is. Raises NotInstalled, with the reason of whoever refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.peers.processes import FOLDER
from bench.peers.table import Peer

PLACE = Path(__file__).parents[2] / "build" / "peers"
INSTALL_SECONDS_MAX = 900
REASON_CHARACTERS_MAX = 300
STAMP = "installed.txt"


class NotInstalled(Exception):
    """A peer that cannot be had here."""


def installed(name: str, peer: Peer, place: Path = PLACE) -> Path:
    """The folder of a peer's environment, made if it is not there."""
    folder = place / (peer.home or name)
    stamp, wanted = folder / STAMP, "\n".join((*peer.packages, *peer.npm_packages))
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        install(peer, folder)
        stamp.write_text(wanted, encoding="utf-8")
    return folder


def install(peer: Peer, folder: Path) -> None:
    uv = uv_program()
    run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
    python = str(folder / "bin" / "python")
    run([uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, *peer.packages])
    if peer.npm_packages:
        node = folder / "node"
        node.mkdir()
        run(
            ["npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--prefix", str(node), *peer.npm_packages]
        )


def uv_program() -> str:
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        raise NotInstalled("uv is not there; the development environment has it: make check") from error


def run(command: list[str]) -> None:
    try:
        ended = subprocess.run(
            command, env=bytecode_written(), capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"cannot install it: {Path(command[0]).name}: {error}") from error
    if ended.returncode:
        reason = FOLDER.sub("", " ".join(ended.stderr.split()))[:REASON_CHARACTERS_MAX]
        raise NotInstalled(f"cannot install it: {Path(command[0]).name} {command[1]}: {reason}")


def bytecode_written() -> dict[str, str]:
    """As in an installation of a user: else each new process would compile what it imports, and W4 measure that."""
    dropped = ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in dropped}
