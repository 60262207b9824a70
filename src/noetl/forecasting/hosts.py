"""Hosts of http tasks, tried as the tasks would reach them: the same guard, the same CA, the same client certificate.

Comes in: the tasks of a plan. Goes out: a finding for each host whose name is written out, or known from the workload.
What is sent is HEAD of the root, a method that changes nothing (RFC 9110, 9.2.1), without any secret in it; redirects
are not followed. Where only the run can tell how a task signs in, a failure proves nothing, and is said as "not tried".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from noetl.checkup.findings import Finding, fail, ok, warn
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.dsl.model import Task
from noetl.engine.declarations import declared
from noetl.engine.forecast.known import Known, Unknown
from noetl.engine.forecast.steps import tasks_of
from noetl.engine.values import Fault
from noetl.expressions import EvaluationFault, Template, TemplateSyntaxFault
from noetl.forecasting.calls import Foreseen
from noetl.keychain.opening import open_keychain
from noetl.secret import Declared, revealed

HTTP = "http"
HTTPS = "https:"
UNTOLD = "{"  # no URL has it: a host that ends here may go on
EXPRESSION = re.compile(r"(\{\{.*?\}\})", re.DOTALL)
ORIGIN = re.compile(r"(https?://[^/?#{}\s]+)(?=[/?#]|$)", re.IGNORECASE)


class NotTried(Exception):
    """How a task would reach its host cannot be found out; the message says why."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A host, and how a task would reach it. What only TLS needs is as if not given where there is none."""

    origin: str
    verify: bool | str = True
    credential: str = ""  # its name
    said: str = ""  # the kind that `auth` says
    declared: Declared | None = None
    untold: str = ""  # what the credential depends on, where only the run can tell

    @property
    def way(self) -> tuple[str, bool | str, str, str, str]:
        return self.origin, self.verify, self.credential, self.said, self.untold


def hosts_of(planned: Foreseen) -> Iterator[Host]:
    for task in tasks_of(planned.forecast.playbook):
        origin = origin_of(task, planned.known)
        if origin.startswith(HTTPS):
            yield with_credential(Host(origin=origin, verify=verify_of(task, planned.folder)), task, planned)
        elif origin:
            yield Host(origin=origin)


def origin_of(task: Task, known: Known) -> str:
    url = task.input.get("url") if task.kind == HTTP else None
    text = known_text(url.parts, known) if url is not None else ""
    match = ORIGIN.match(text.strip())
    if not match:
        return ""
    scheme, _, place = match[1].lower().partition("://")
    return f"{scheme}://{place.rpartition('@')[2]}"  # without a user's name: nobody signs in here


def unnamed_tasks(planned: Foreseen) -> Iterator[tuple[str, str]]:
    """Tasks whose host is not known: their label, and why."""
    for task in tasks_of(planned.forecast.playbook):
        if task.kind == HTTP and not origin_of(task, planned.known):
            try:
                planned.known.value(task.input["url"])
            except Unknown as fault:
                yield task.label, f"its host depends on {fault.words}"
            except Fault as fault:
                yield task.label, str(fault)
            else:
                yield task.label, "its url names no host"


def known_text(parts: object, known: Known) -> str:
    """A text as far as it is known: from its first expression on that only the run can tell there is an UNTOLD."""
    if not isinstance(parts, Template):
        return parts if isinstance(parts, str) else ""
    found = []
    for piece in EXPRESSION.split(parts.source):
        try:
            found.append(str(known.text(piece)) if piece.startswith("{{") else piece)
        except (Unknown, Fault, EvaluationFault, TemplateSyntaxFault):
            return "".join([*found, UNTOLD])
    return "".join(found)


def verify_of(task: Task, folder: str) -> bool | str:
    """As the tool reads it: the file of a CA may be named from the playbook's folder."""
    verify = task.spec.get("verify", True)
    return str(Path(folder) / verify) if isinstance(verify, str) else verify is not False


def with_credential(host: Host, task: Task, planned: Foreseen) -> Host:
    if "auth" not in task.input:
        return host
    from noetl.tools.http_auth import credential_named
    from noetl.web.guard import Refused

    try:
        name, said = credential_named(planned.known.value(task.input["auth"]))
    except Unknown as fault:
        return msgspec.structs.replace(host, untold=fault.words)
    except (Fault, Refused) as fault:
        return msgspec.structs.replace(host, untold=str(fault))
    known = planned.forecast.playbook.credentials.get(name)
    try:
        entry = declared(known, planned.known.names["workload"]) if known is not None else None
    except Fault as fault:
        return msgspec.structs.replace(host, untold=str(fault))
    return msgspec.structs.replace(host, credential=name, said=said or "", declared=entry)


async def try_host(settings: Settings, host: Host, stored: Any) -> Finding:
    from noetl.tools.http_auth import AuthFailed
    from noetl.tools.http_failures import failure_of
    from noetl.web.client import UNANSWERED, Client
    from noetl.web.guard import Guard, Refused, look_up, target_of
    from noetl.web.messages import Request

    client = Client(Guard(settings.http_allow, is_loopback_allowed=settings.http_loopback is not False), look_up)
    target = target_of(f"{host.origin}/")
    request = Request(method="HEAD", target=target, headers={}, follows_redirects=False, verify=host.verify)
    try:
        request = msgspec.structs.replace(request, identity=await identity_of(settings, host, stored))
        async with client.open(request) as incoming:
            return ok(HTTP, host.origin, f"answered HEAD / with {incoming.status}")
    except NotTried as fault:
        return warn(
            HTTP, host.origin, f"not tried: {fault}", f"see that credential: noetl keychain test {host.credential}"
        )
    except (Refused, AuthFailed) as fault:
        return fail(HTTP, host.origin, str(fault), "mend that, allow it with http.allow, or name another host")
    except UNANSWERED as fault:
        output = failure_of(fault, request, None)
        says = f"no answer to HEAD /: {output.error.message if output.error else fault}"
        if host.untold:
            why = f"not tried as the task would, whose credential depends on {host.untold}; without it {says}"
            return warn(HTTP, host.origin, why, "run it, or give the task a credential that the workload names")
        return fail(HTTP, host.origin, says, "see whether it runs, and whether this machine may reach it")
    finally:
        await client.close()


async def identity_of(settings: Settings, host: Host, stored: Any) -> Any:
    """The certificate that the task would show; None: its credential is of another sort, or it has none."""
    if host.declared is None:
        return None
    from noetl.tools.http_auth import identity_of as identity_in

    keychain = open_keychain(settings, os.environ, SystemClock(), stored=stored)
    try:
        entry = revealed(dict(await keychain.resolve(host.declared)))
    except LookupError as fault:
        words = keychain.redactor().clean(str(fault.args[0]) if fault.args else type(fault).__name__)
        raise NotTried(f'its credential "{host.credential}" is not to be had: {words}') from None
    finally:
        await keychain.close()
    return identity_in(host.credential, host.said or None, entry)
