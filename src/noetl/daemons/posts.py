"""Posts: the places a server or a worker can have on this machine, and the files that belong to one.

    <home>/run/server-8642.pid     who is there            worker-default.pid
    <home>/run/server-8642.log     what it printed         worker-default.log
                                   how many processes      worker-default.scale

A server's post is its port, which only one can have anyway. A worker's is its pool: that is the worker which the
commands start apart, stop and scale; others of the same pool may run beside it in the foreground, with no post at all.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from noetl.daemons.pid_files import SUFFIX, PidFile, Record, pid_files
from noetl.stores.disk import PRIVATE_FILE

RUN_NAME = "run"
SERVER, WORKER = "server", "worker"
TITLES = {SERVER: "the server on port {}", WORKER: "the worker of pool {}"}
NUMBER_BYTES_MAX = 16


class Post(msgspec.Struct, frozen=True, kw_only=True):
    role: str
    name: str  # port or pool
    path: Path  # of its pid file

    @property
    def title(self) -> str:
        return TITLES[self.role].format(self.name)

    @property
    def pid_file(self) -> PidFile:
        return PidFile(self.path)

    @property
    def log_file(self) -> Path:
        return self.path.with_suffix(".log")

    @property
    def scale_file(self) -> Path:
        return self.path.with_suffix(".scale")


def post_of(home: Path, role: str, name: str, path: Path | None = None) -> Post:
    """The post of a port or a pool; `path`: another place for its pid file."""
    return Post(role=role, name=name, path=path or home / RUN_NAME / f"{role}-{name}{SUFFIX}")


def posts_in(home: Path, role: str) -> list[tuple[Post, Record]]:
    """Those of a home that somebody holds now."""
    found = [(file, file.running()) for file in pid_files(home / RUN_NAME, role)]
    return [
        (Post(role=role, name=file.path.stem.removeprefix(f"{role}-"), path=file.path), record)
        for file, record in found
        if record is not None
    ]


def scaled(post: Post) -> int | None:
    """How many processes a worker was last told to have; None: nobody said."""
    try:
        with post.scale_file.open("rb") as file:
            return max(1, int(file.read(NUMBER_BYTES_MAX)))
    except (OSError, ValueError):
        return None


def set_scale(post: Post, processes: int) -> None:
    new = post.scale_file.with_suffix(f".scale.{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE), "wb") as file:
        file.write(b"%d\n" % processes)
    new.replace(post.scale_file)
