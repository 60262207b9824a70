"""Print uv.lock as pip constraints, for machines where uv itself cannot run.

In: the lock file. Out: one `name==version` line for each package. A package that the lock holds in several versions
(one per platform) is left to pip. Needs nothing but the standard library, because it runs before anything is installed.
"""

import sys
import tomllib
from collections import defaultdict
from pathlib import Path


def pins(lock_text: str) -> list[str]:
    versions = defaultdict(set)
    for package in tomllib.loads(lock_text)["package"]:
        if "registry" in package["source"]:
            versions[package["name"]].add(package["version"])
    return [f"{name}=={found.pop()}" for name, found in sorted(versions.items()) if len(found) == 1]


if __name__ == "__main__":
    lock = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "uv.lock"
    print("\n".join(pins(lock.read_text(encoding="utf-8"))))
