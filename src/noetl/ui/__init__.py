"""The web pages: files that `make ui` builds from the folder ui/ of the repository. They know only the API.

Here they are found, by their names, and nothing is decided: `api.pages` serves them. Node is needed to build them and
not to run them, so the built files are part of the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

BUILT = "built"
ASSETS = "assets"


@cache
def page_files() -> Mapping[str, bytes]:
    """Every file there is: index.html, icon.svg, assets/NAME; empty where nothing was built."""
    root = files(__name__).joinpath(BUILT)
    if not root.is_dir():
        return {}
    found = {one.name: one.read_bytes() for one in root.iterdir() if one.is_file()}
    assets = root.joinpath(ASSETS)
    if assets.is_dir():
        found |= {f"{ASSETS}/{one.name}": one.read_bytes() for one in assets.iterdir() if one.is_file()}
    return found
