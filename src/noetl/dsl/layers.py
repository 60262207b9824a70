"""Spec layering: kind defaults → executor.spec → step.spec → loop.spec → task.spec (TK-03, TK-18).

Scalars: the inner one wins. Mappings merge. Lists replace. `policy` subtrees stay with their scope, and so do the
knobs that speak of a scope itself (a loop's mode, the entry step). `spec.<kind>` speaks of one kind and stands above
the knobs written plainly in the same spec, which speak of all. executor.spec.policy.defaults.timeouts stand between
the kind's defaults and executor.spec. A time-out written as a number is its total, so that layers of both forms merge.
A result store that names its kind is a whole one: nothing of the store below shows through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from noetl.dsl.kinds import Kind
from noetl.dsl.model import Data, Timeout

Spec = dict[str, Data]
OF_A_SCOPE = frozenset(("policy", "mode", "max_in_flight", "entry_step", "output", "compat"))


def merge(outer: Mapping[str, Data], inner: Mapping[str, Data]) -> Spec:
    """The outer mapping overlaid by the inner one."""
    merged = dict(outer)
    for key, value in inner.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict) and not is_whole_store(key, value):
            merged[key] = merge(below, value)
        else:
            merged[key] = value
    return merged


def is_whole_store(key: str, value: Mapping[str, Data]) -> bool:
    return key == "store" and "kind" in value


def effective_spec(
    kind: Kind | None, specs: Iterable[Mapping[str, Data]], kind_names: Iterable[str], timeouts: Data = None
) -> Spec:
    """The knobs of one task: every layer over the one outside it."""
    merged: Spec = dict(kind.defaults) if kind else {}  # type: ignore[arg-type]  # declared as objects, written as data
    merged = merge(merged, {"timeout": as_timeouts(timeouts)} if timeouts is not None else {})
    others = OF_A_SCOPE | frozenset(kind_names)
    for spec in specs:
        merged = merge(merged, with_timeouts({key: value for key, value in spec.items() if key not in others}))
        of_kind = spec.get(kind.name) if kind else None
        merged = merge(merged, with_timeouts(of_kind) if isinstance(of_kind, dict) else {})
    return merged


def with_timeouts(spec: Mapping[str, Data]) -> Spec:
    """A layer whose `timeout` is a mapping, however it was written."""
    return {key: as_timeouts(value) if key == "timeout" else value for key, value in spec.items()}


def as_timeouts(value: Data) -> Spec:
    """`30` is {total: 30}."""
    if isinstance(value, dict):
        return value
    return {} if value is None else {"total": value}


def timeout_of(spec: Mapping[str, Data]) -> Timeout:
    """The time-outs of an effective spec."""
    seconds = as_timeouts(spec.get("timeout"))

    def of(name: str) -> float | None:
        value = seconds.get(name)
        return float(value) if isinstance(value, int | float) else None

    return Timeout(connect=of("connect"), read=of("read"), total=of("total"))
