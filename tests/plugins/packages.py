"""Packages as an installer leaves them, in a folder that goes on PYTHONPATH: no network, nothing built."""

import os
import tomllib
from pathlib import Path

from tests.dsl.front import PLAYBOOKS

QUANTUM = PLAYBOOKS.parent.parent / "examples" / "plugins" / "noetl-quantum"


class Packages:
    """A folder of installed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places = [folder]
        folder.mkdir()

    def add(self, package: str, *, version: str = "1.0", kinds: dict[str, str], modules: dict[str, str]) -> None:
        """A package with entry points (kind to module) and modules (name to text)."""
        information = self.folder / f"{package.replace('-', '_')}-{version}.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = [f"{kind} = {module}" for kind, module in kinds.items()]
        (information / "entry_points.txt").write_text("\n".join(["[noetl.tools]", *lines, ""]))
        for name, text in modules.items():
            (self.folder / f"{name}.py").write_text(text)

    def add_quantum(self) -> None:
        """The example, with the entry points that its pyproject.toml declares."""
        project = tomllib.loads((QUANTUM / "pyproject.toml").read_text("utf-8"))["project"]
        kinds = project["entry-points"]["noetl.tools"]
        self.add(project["name"], version=project["version"], kinds=kinds, modules={})
        self.places.append(QUANTUM / "src")

    @property
    def environ(self) -> dict[str, str]:
        return {"PYTHONPATH": os.pathsep.join(map(str, self.places))}
