"""What the browser tests need besides Python: the system's Chromium, and the packages of ui/. Found, or installed.

    python scripts/browser.py          as `make test` does: install what may be installed here, else say how
    NOETL_CHROMIUM=/path/to/chromium   another one than those that are looked for

Chromium is installed where that is a matter of one command that may be run: as root on Debian and its kin. Where it is
missing the browser tests are skipped, except with CI=true: there this fails, and so do they.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
HOW = "install Chromium (Debian, Ubuntu: apt-get install chromium), or name one with NOETL_CHROMIUM"
HOW_AXE = "install Node 20.19 or newer, then: npm --prefix ui ci"


def chromium() -> str | None:
    """The program, if there is one."""
    named = os.environ.get("NOETL_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def is_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def install_chromium() -> None:
    if shutil.which("apt-get") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    print("installing Chromium for the browser tests", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(["apt-get", "-qq", *words], env=quiet, stdout=subprocess.DEVNULL, check=False)  # noqa: S607
        if done.returncode:
            return


def install_packages() -> None:
    if npm := shutil.which("npm"):
        print("installing the packages of ui/", flush=True)
        subprocess.run([npm, "--prefix", str(ROOT / "ui"), "ci", "--silent"], stdout=subprocess.DEVNULL, check=False)


def main() -> int:
    if chromium() is None:
        install_chromium()
    if not AXE.exists():
        install_packages()
    missing = [how for how, is_there in ((HOW, chromium()), (HOW_AXE, AXE.exists())) if not is_there]
    for how in missing:
        print(f"{'error' if is_ci() else 'browser tests will be skipped'}: {how}", file=sys.stderr)
    return 1 if missing and is_ci() else 0


if __name__ == "__main__":
    sys.exit(main())
