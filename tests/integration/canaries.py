"""Planted secrets for test_canaries.py: what they look like, where they stand, what is done with them.

Twenty secrets of awkward shapes. Each stands in a credential of every sort, and is handed to every kind of tool, which
is made to fail with it in hand. Nothing that was written or printed may hold one, in plain or in a common coding.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

MARK = "Cq"
SHAPES = (
    "plain-{0}",
    "with spaces {0} in it",
    "quo\"te'd-{0}",
    "back\\slash-{0}",
    "per%cent%20-{0}",
    "ünïcode-{0}-€",
    "plus+slash/equals={0}==",
    "$(shell)-`{0}`-$HOME",
    "{{{{ ctx.x }}}}-{0}",
    'json-{{"k": "{0}"}}',
    "tab\t{0}\tbed",
    "line one {0} of it\nline two {0} of it",
    "-----BEGIN KEY-----\n{0}{0}{0}{0}\n{0}{0}{0}{0}\n-----END KEY-----",
    "ends-with-newline-{0}\n",
    "<b>{0}</b>&amp;",
    "semi;colon-{0}--drop",
    "at@colon:{0}@host",
    "q?a=b&c={0}#frag",
    "emoji-\U0001f511-{0}",
    "long-" + "{0}" * 40,
)


def canaries(seed: str) -> list[str]:
    """The secrets; the seed makes them new for each test."""
    return [shape.format(f"{MARK}{seed}{place:02d}Zx") for place, shape in enumerate(SHAPES)]


def forms(secret: str) -> Iterator[bytes]:
    """A secret as it must not be found anywhere: plain, escaped, in a URL, in base64, and its lines."""
    for text in {secret, *(line for line in secret.splitlines() if len(line) >= 16 and MARK in line)}:
        data = text.encode()
        yield data
        yield json.dumps(text)[1:-1].encode()
        yield json.dumps(text, ensure_ascii=False)[1:-1].encode()
        yield quote(text).encode()
        yield quote(text, safe="").encode()
        yield quote_plus(text).encode()
        yield base64.b64encode(data).rstrip(b"=")[:-1]
        yield base64.urlsafe_b64encode(data).rstrip(b"=")[:-1]


def sightings(data: bytes, secrets: list[str]) -> list[int]:
    """Which of the secrets are in there."""
    return [place for place, secret in enumerate(secrets) if any(form in data for form in forms(secret))]


def files_below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


# --- where they stand ------------------------------------------------------------------------------------------------

NOBODY = "127.0.0.1:1"


def credentials(place: int, secret: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Name to kind and entry: one secret in a credential of every sort."""
    server = {"host": "127.0.0.1", "port": 1, "user": "app", "database": "db"}
    found: dict[str, tuple[str, dict[str, Any]]] = {
        f"value_{place}": ("secret_manager", {"value": secret}),
        f"pg_{place}": ("postgres_credential", {**server, "password": secret}),
        f"dsn_{place}": ("postgres_credential", {"dsn": f"postgresql://app:{quote(secret, safe='')}@{NOBODY}/db"}),
        f"basic_{place}": ("basic", {"username": "app", "password": secret}),
        f"bearer_{place}": ("bearer", {"token": secret}),
        f"key_{place}": ("api_key", {"key": secret, "header": "X-Secret"}),
        f"nats_{place}": ("secret_manager", {"url": f"nats://{NOBODY}", "token": secret}),
    }
    return found


# --- what is done with them ------------------------------------------------------------------------------------------

PYTHON = {
    "raised": "raise ValueError('it is ' + auth['value'])",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError(auth['value']) from e",
    "printed": "import sys\nprint(auth['value'])\nprint(auth['value'], file=sys.stderr)\nresult = 1",
    "returned": "result = {auth['value']: [auth['value']]}",
    "coded": "import base64, urllib.parse as u\n"
    "v = auth['value']\nresult = [base64.b64encode(v.encode()).decode(), u.quote(v, safe='')]",
    "crashed": "import os, sys\nprint(auth['value'])\nsys.stdout.flush()\nos.abort()",
    "exited": "import sys\nsys.exit(auth['value'])",
}
SHOW = "print(given)\nraise ValueError(str(given))"
SHELL = {
    "failed": 'echo "$S"; echo "$S" >&2; exit 3',
    "killed": 'echo "$S"; kill -9 $$',
    "fine": 'printf "%s" "$S"',
}


def tasks(kind: str, place: int, services: dict[str, str]) -> Iterator[dict[str, Any]]:
    """What a kind is asked to do with one secret: to show it, and to fail in every way it can."""
    value = f"{{{{ keychain.value_{place}.value }}}}"
    echo, deny = f"{services['http']}/echo", f"{services['http']}/deny"
    if kind == "python":
        for code in PYTHON.values():
            yield {"code": code, "auth": f"value_{place}"}
        yield {"code": "raise ValueError(given)", "given": value}
    elif kind == "shell":
        for command in SHELL.values():
            yield {"command": command, "env": {"S": value}}
        yield {"command": ["no-such-program", value], "stdin": value}
        yield {"command": f"echo {value!r}"} if place == 0 else {"command": ["echo", value]}
    elif kind == "script":
        yield {"path": "fail.sh", "arguments": [value], "env": {"S": value}}
    elif kind == "http":
        for name in ("bearer", "key", "basic"):
            for url in (echo, deny, f"http://{NOBODY}/x", "http://no-such-host.invalid/"):
                yield {"url": url, "auth": f"{name}_{place}"}
        yield {"url": deny, "params": {"token": value}, "json": {"deep": [value]}, "method": "POST"}
        yield {"url": f"http://{NOBODY}/?token={value}"}
        yield {"url": f"{services['http']}/moved", "params": {"token": value}}
        yield {"url": echo, "headers": {"X-Made": f"Token {value}"}, "spec": {"stream": True}}
    elif kind == "postgres":
        yield {"auth": f"pg_{place}", "query": "SELECT 1"}
        yield {"auth": f"dsn_{place}", "query": "SELECT 1"}
        yield {"auth": "database", "query": f"SELECT {value} AS shown"}
        yield {"auth": "database", "query": f"SELECT CAST({value} AS integer)"}
        yield {"auth": "database", "query": f"SELECT '{value}' FROM nowhere"}  # noqa: S608 - a template
        yield {"auth": "database", "copy": {"into": "nowhere", "rows": [{"a": value}]}}
    elif kind == "duckdb":
        yield {"query": f"SELECT {value} AS shown"}
        yield {"query": f"SELECT CAST({value} AS integer)"}
        yield {"query": f"SELECT error({value})"}
    elif kind == "nats":
        yield {"auth": f"nats_{place}", "operation": "kv_get", "bucket": "b", "key": "k"}
        yield {"auth": "bus", "operation": "kv_get", "bucket": "none", "key": value}
        yield {"auth": "bus", "operation": "publish", "subject": "canary", "value": {"v": value}}
    elif kind == "secrets":
        yield {"auth": f"value_{place}", "action": "get"}
        yield {"auth": f"pg_{place}", "action": "rotate"}
    elif kind == "resolve":
        yield {"ref": value}
        yield {"ref": {"type": "blob", "locator": value, "meta": {"sha256": value}}}
    elif kind == "workbook":
        yield {"task": "show", "given": value}
        yield {"task": "show", "given": {"deep": [value]}}
    elif kind == "transfer":
        source = {"kind": "http", "url": echo, "format": "ndjson", "auth": f"bearer_{place}"}
        yield {"source": source, "target": {"kind": "file"}}
        yield {"source": {**source, "url": deny}, "target": {"kind": "file"}}
        yield {"source": source, "target": {"kind": "postgres", "auth": f"pg_{place}", "table": "t"}}


KINDS = (
    "python",
    "shell",
    "script",
    "http",
    "postgres",
    "duckdb",
    "nats",
    "secrets",
    "transfer",
    "resolve",
    "workbook",
)


def playbook(kind: str, declared: dict[str, tuple[str, dict[str, Any]]], services: dict[str, str]) -> dict[str, Any]:
    """All that a kind does with all secrets, each failure passed over."""
    pipeline: list[dict[str, Any]] = []
    for place in range(len(SHAPES)):
        for number, given in enumerate(tasks(kind, place, services)):
            spec = {"policy": {"rules": [{"else": {"then": {"do": "continue"}}}]}, **given.pop("spec", {})}
            pipeline.append({"name": f"t{place}_{number}", "kind": kind, "input": given, "spec": spec})
    return {
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": {"name": f"canaries_{kind}"},
        "keychain": [{"name": name, "kind": sort} for name, (sort, _) in declared.items()],
        "workbook": {"show": {"kind": "python", "input": {"code": SHOW, "given": "{{ input.given }}"}}},
        "workflow": [{"step": "all", "tool": pipeline, "set": {"ctx.last": "{{ output.status }}"}}],
    }
