"""A playbook and those that it calls (`kind: playbook`), each with its own workload as far as that is known.

A child is looked for as in a run: a file beside its caller, else a path of the catalog. Where its path or a value of
its payload is known only in the run, the plan says so and goes on with what is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.control.calls import version_of
from noetl.control.catalog import Text, beside, playbook_of
from noetl.control.follow import CHILD_DEPTH_MAX
from noetl.dsl.kinds import Kinds
from noetl.dsl.model import Playbook, Task
from noetl.engine.forecast.bounds import Bound, unknown
from noetl.engine.forecast.known import Known, Unknown, known_of
from noetl.engine.forecast.steps import Forecast, as_row, forecast
from noetl.engine.values import Fault, plain
from noetl.errors import InvalidPlaybook, NoetlError
from noetl.runner.children import FIELDS

PLAYBOOKS_MAX = 100  # planned in one go: a net of calls can be followed without end
Show = Callable[[str, int | None], dict[str, Any]]


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be planned: a text, or a path of the catalog."""

    data: bytes | None = None
    name: str = ""
    folder: str = ""
    path: str = ""
    version: int | None = None
    payload: dict[str, Any] = {}
    unsure: frozenset[str] = frozenset()  # keys of the payload that are known only in the run
    is_legacy: bool = False
    is_upstream: bool = False


class Foreseen(msgspec.Struct, kw_only=True):
    """A playbook that was found and planned."""

    text: Text
    known: Known
    forecast: Forecast
    row: dict[str, Any]
    calls: list[Call]
    folder: str = ""  # that files are named from; "": of the catalog


class Call(msgspec.Struct, kw_only=True):
    """A task that calls a playbook, and that playbook's plan, or why there is none."""

    step: str
    task: str
    path: str | None = None
    origin: str = ""
    found: Foreseen | None = None
    why_not: str = ""

    @property
    def seconds(self) -> Bound:
        if self.found is None:
            return unknown(f'task "{self.task}" calls {self.path or "a playbook"}: {self.why_not}')
        seconds = self.found.forecast.seconds
        return seconds if seconds.is_known else unknown(*(f"{self.path}: {reason}" for reason in seconds.reasons))


class Forecaster:
    """Plans playbooks, and remembers those that were called."""

    def __init__(self, kinds: Kinds, show: Show) -> None:
        self._kinds = kinds
        self._show = show
        self.called: list[Foreseen] = []

    def foreseen(self, request: PlanRequest) -> Foreseen:
        return self._foreseen(self._text(request), request, ())

    def _text(self, request: PlanRequest) -> Text:
        if request.data is None:
            return self._catalogued(request.path, request.version)
        return Text(data=request.data, name=request.name, is_legacy=request.is_legacy, is_upstream=request.is_upstream)

    def _catalogued(self, path: str, version: int | None) -> Text:
        row = self._show(path, version)
        data = row["text"].encode("utf-8", "surrogatepass")
        return Text(data=data, name=row["name"], is_legacy=row["is_legacy"], is_upstream=row["is_upstream"])

    def _foreseen(self, text: Text, request: PlanRequest, above: tuple[str, ...]) -> Foreseen:
        playbook = playbook_of(text, self._kinds)
        known = known_of(playbook, request.payload, request.unsure)
        calls: dict[int, Call] = {}

        def seconds(task: Task) -> Bound:
            key = id(task)
            if key not in calls:
                calls[key] = self._call(playbook, task, known, request.folder, (*above, text.sha))
            return calls[key].seconds

        made = forecast(playbook, known, seconds)
        return Foreseen(
            text=text,
            known=known,
            forecast=made,
            row=as_row(made),
            calls=list(calls.values()),
            folder=request.folder,
        )

    def _call(self, playbook: Playbook, task: Task, known: Known, folder: str, above: tuple[str, ...]) -> Call:
        call = Call(step=step_of(playbook, task), task=task.label)
        try:
            path, version = self._target(task, known)
            call.path = path
            text, call.origin = self._found(path, version, folder)
            call.why_not = refusal(text, above, len(self.called))
            if not call.why_not:
                request = self._payload(task, known, folder if call.origin == "file" else "")
                call.found = self._foreseen(text, request, above)
                self.called.append(call.found)
        except Unknown as fault:
            call.why_not = f"which one depends on {fault.words}"
        except InvalidPlaybook:
            call.why_not = "it does not check"
        except (Fault, NoetlError) as fault:
            call.why_not = str(fault)
        return call

    def _target(self, task: Task, known: Known) -> tuple[str, int | None]:
        path = known.value(task.input["path"])
        version = known.value(task.input["version"]) if "version" in task.input else None
        return str(path), version_of(version)

    def _found(self, path: str, version: int | None, folder: str) -> tuple[Text, str]:
        text = beside(path, folder) if version is None and folder else None
        return (text, "file") if text else (self._catalogued(path, version), "catalog")

    def _payload(self, task: Task, known: Known, folder: str) -> PlanRequest:
        payload: dict[str, Any] = {}
        unsure: set[str] = set()
        for name, value in task.input.items():
            if name in FIELDS:
                continue
            try:
                payload[name] = plain(known.value(value))
            except (Unknown, Fault):
                unsure.add(name)
        return PlanRequest(payload=payload, unsure=frozenset(unsure), folder=folder)


def refusal(text: Text, above: tuple[str, ...], planned: int) -> str:
    """Why a child is not planned, if it is not."""
    if text.sha in above:
        return "it is called by itself, so that nobody can say how often"
    if len(above) > CHILD_DEPTH_MAX:
        return f"children may be nested {CHILD_DEPTH_MAX} deep"
    return f"{PLAYBOOKS_MAX} playbooks are planned at most" if planned >= PLAYBOOKS_MAX else ""


def step_of(playbook: Playbook, task: Task) -> str:
    """The step that a task stands in; of a workbook task none."""
    steps = playbook.steps.values()
    return next((step.name for step in steps if any(one is task for one in (*step.tasks, *step.compensation))), "")
