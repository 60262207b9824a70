"""Write what NoETL is made of, for those who must know: a bill of materials (SBOM) in CycloneDX 1.5.

    python scripts/sbom.py [--into dist]

In: the lock files and the licences beside them. Out: `noetl-X.cdx.json`, the Python packages of core (scope required)
and extras (scope optional), and `noetl-X-ui.cdx.json`, what is built into the web pages. With versions, licences,
hashes of every file that the lock accepts, and who needs whom. The same commit gives the same bytes; no index is named.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a file, as make does

from scripts import locked
from scripts.dist import ROOT, epoch
from scripts.locked import Package

ALGORITHMS = {"sha256": "SHA-256", "sha384": "SHA-384", "sha512": "SHA-512"}


def version() -> str:
    text = (ROOT / "src" / "noetl" / "__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(found)


def bill(product: dict[str, Any], packages: list[Package], direct: list[str], core: set[Package], when: str) -> str:
    """One document about one product: its packages, in order, and the graph of their needs."""
    refs = {package.key: package.purl for package in packages}
    components = [component(package, "required" if package in core else "optional") for package in packages]
    graph = [edge(product["bom-ref"], direct)]
    graph += [edge(package.purl, [refs[key] for key in package.needs if key in refs]) for package in packages]
    content = {"components": components, "dependencies": graph}
    told = json.dumps([product, content], sort_keys=True)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, told)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(when), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lifecycles": [{"phase": "pre-build"}],
            "component": product,
        },
        **content,
    }
    return json.dumps(document, indent=1) + "\n"


def edge(ref: str, needs: list[str]) -> dict[str, Any]:
    return {"ref": ref, "dependsOn": sorted(set(needs))}


def component(package: Package, scope: str) -> dict[str, Any]:
    about: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "scope": scope,
        "purl": package.purl,
    }
    if package.licence:
        about["licenses"] = [{"expression": package.licence}]
    whole = [hashed(one, digest) for name, one, digest in package.files if not name]
    if whole:
        about["hashes"] = whole
    files = [distribution(*file) for file in package.files if file[0]]
    if files:
        about["externalReferences"] = files
    return about


def distribution(name: str, algorithm: str, digest: str) -> dict[str, Any]:
    """A file by its name alone: where it comes from is a matter of whoever installs it."""
    return {"type": "distribution", "url": name, "hashes": [hashed(algorithm, digest)]}


def hashed(algorithm: str, digest: str) -> dict[str, str]:
    return {"alg": ALGORITHMS[algorithm], "content": digest}


def product(name: str, kind: str, purl: str) -> dict[str, Any]:
    about = {"type": kind, "bom-ref": purl, "name": name, "version": version(), "purl": purl}
    return {**about, "licenses": [{"expression": "Apache-2.0"}]}


def python_bill(when: str) -> str:
    lock = locked.python_lock()
    packages = lock.runtime()
    purls = {package.name: package.purl for package in packages}
    edges = [lock.project["dependencies"], *lock.project["optional-dependencies"].values()]
    direct = [purls[one["name"]] for some in edges for one in some]
    about = product("noetl", "application", f"pkg:pypi/noetl@{version()}")
    return bill(about, packages, direct, set(lock.core()), when)


def pages_bill(when: str) -> str:
    packages = locked.pages_lock().runtime()
    purls = {package.name: package.purl for package in packages}
    direct = [purls[name] for name in json.loads((ROOT / "ui" / "package.json").read_text("utf-8"))["dependencies"]]
    about = product("noetl-ui", "application", f"pkg:npm/noetl-ui@{version()}")
    return bill(about, packages, direct, set(packages), when)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the bills of materials.")
    parser.add_argument("--into", type=Path, default=ROOT / "dist")
    into = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    for old in into.glob("noetl-*.cdx.json"):
        old.unlink()
    when = epoch(ROOT)
    for name, text in (("noetl-{}.cdx.json", python_bill(when)), ("noetl-{}-ui.cdx.json", pages_bill(when))):
        path = into / name.format(version())
        path.write_text(text, encoding="utf-8")
        print(f"{path.name}  {len(json.loads(text)['components'])} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
