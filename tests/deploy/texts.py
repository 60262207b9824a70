"""The files under deploy/, and the command lines and variables in them."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose" / "compose.yaml"
CHART = DEPLOY / "helm" / "noetl"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
PAGES = (ROOT / "docs" / "cluster.md", DEPLOY / "README.md")

VARIABLE = re.compile(r"\bNOETL_[A-Z0-9_]+")
IN_PROSE = re.compile(r"^(?:#|//)?\s*(?:export [^&]*&& )?(noetl (?!-)[a-z].*)$", re.MULTILINE)
ACTION = re.compile(
    r"\{\{-? *(\$?)[^}]*\}\}"
)  # of a chart's template: one that begins with $ is a value, others vanish


def files() -> list[Path]:
    return sorted(path for path in DEPLOY.rglob("*") if path.is_file() and "state" not in path.parts)


def unit(path: Path) -> dict[str, list[str]]:
    """The settings of a systemd unit; one may be given several times."""
    found: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        name, is_setting, value = line.partition("=")
        if is_setting and not line.startswith(("#", "[")):
            found.setdefault(name, []).append(value)
    return found


def compose() -> dict:
    return yaml.safe_load(COMPOSE.read_text("utf-8"))


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """(where, the words after `noetl`)"""
    for path in UNITS:
        for line in unit(path)["ExecStart"]:
            yield path.name, shlex.split(line.replace("%i", "default"))[1:]
    for name, service in compose()["services"].items():
        if name in ("server", "worker"):
            yield f"{COMPOSE.name}: {name}", service["command"]
        test = service.get("healthcheck", {}).get("test", [])
        if "noetl" in test:
            yield f"{COMPOSE.name}: health of {name}", test[test.index("noetl") + 1 :]
    for line in (DEPLOY / "docker" / "Dockerfile").read_text("utf-8").splitlines():
        if line.startswith("CMD "):
            yield "Dockerfile", json.loads(line.removeprefix("CMD "))
    for path in sorted((CHART / "templates").glob("*.yaml")):
        for line in path.read_text("utf-8").splitlines():
            if line.strip().startswith("args: "):
                shown = ACTION.sub(lambda action: '"1"' if action[1] else "", line)
                yield f"{CHART.name}/{path.name}", yaml.safe_load(shown)["args"]


def command_lines_in_prose() -> Iterator[tuple[str, list[str]]]:
    """Lines of comments and pages that are a command as a person types it."""
    for path in (*files(), *PAGES):
        if path.exists():
            for text in IN_PROSE.findall(path.read_text("utf-8")):
                for line in text.split(" && "):
                    words = shlex.split(line.partition(" > ")[0].partition(" | ")[0], comments=True)
                    yield path.name, words[1:] if words[0] == "noetl" else []
