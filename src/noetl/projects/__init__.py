"""What `noetl init` writes: projects to begin with, each a folder of files here, as they are written.

Comes in: a project's name. Goes out: its files, by the path that they get in the new folder. The files are ordinary
ones, checked, laid out and run by the tests; nothing in them is replaced. `common/` holds what several of them share.
"""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

COMMON = "common"
ALWAYS = ("noetl.toml", "gitignore")
API = ("api.py",)
RENAMED = {"gitignore": ".gitignore"}  # under its own name it would hide files from git here


class Project(NamedTuple):
    """A project to begin with."""

    folder: str
    playbook: str  # without .yaml
    says: str
    shared: tuple[str, ...] = ()
    needs: str = ""


PROJECTS = {
    "small": Project("small", "orders", "Four steps, a loop, a retry, a guard, an error path; needs nothing."),
    "etl": Project(
        "etl",
        "daily_orders",
        "A web API to PostgreSQL: extract, transform, load, compare.",
        API,
        "README.md says how to set up its database; its test needs none",
    ),
    "paging": Project(
        "paging",
        "order_pages",
        "Paged lists over HTTP: several at once, page by page, retries.",
        API,
        "python api.py, in another terminal, is the API it talks to",
    ),
    "fan-out": Project("fan_out", "quote", "Branches at once, a parallel loop with reducers, a join; needs nothing."),
    "saga": Project(
        "saga",
        "order",
        "Steps that are undone, last first, when a later one fails.",
        API,
        "python api.py, in another terminal, plays the services",
    ),
}


def project_files(project: Project) -> dict[str, bytes]:
    """The project's files: path below the new folder, with /, to content."""
    root = files(__name__)
    own, common = root.joinpath(project.folder), root.joinpath(COMMON)
    names = (f"{project.playbook}.yaml", f"tests/{project.playbook}.test.yaml", "README.md")
    found = {name: own.joinpath(name).read_bytes() for name in names}
    return found | {RENAMED.get(name, name): common.joinpath(name).read_bytes() for name in (*ALWAYS, *project.shared)}
