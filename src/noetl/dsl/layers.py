"""Spec layering: kind defaults → executor.spec → step.spec → loop.spec → task.spec (TK-03, TK-18).

Scalars: the inner one wins. Mappings merge. Lists replace. `policy` subtrees stay with their scope, and so do the
knobs that speak of a scope itself (a loop's mode, the entry step). `spec.<kind>` holds defaults for one kind and stands
below the knobs written plainly in the same spec.
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
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def effective_spec(kind: Kind | None, specs: Iterable[Mapping[str, Data]], kind_names: Iterable[str]) -> Spec:
    """The knobs of one task: every layer over the one outside it."""
    merged: Spec = dict(kind.defaults) if kind else {}  # type: ignore[arg-type]  # declared as objects, written as data
    others = OF_A_SCOPE | frozenset(kind_names)
    for spec in specs:
        of_kind = spec.get(kind.name) if kind else None
        merged = merge(merged, of_kind if isinstance(of_kind, dict) else {})
        merged = merge(merged, {key: value for key, value in spec.items() if key not in others})
    return merged


def timeout_of(spec: Mapping[str, Data], defaults: Data) -> Timeout:
    """The time-outs of a task: its effective `timeout` over executor.spec.policy.defaults.timeouts."""
    return as_timeout(merge(as_timeouts(defaults), as_timeouts(spec.get("timeout"))))


def as_timeouts(value: Data) -> Spec:
    """`30` is {total: 30}."""
    if isinstance(value, dict):
        return value
    return {} if value is None else {"total": value}


def as_timeout(seconds: Mapping[str, Data]) -> Timeout:
    def of(name: str) -> float | None:
        value = seconds.get(name)
        return float(value) if isinstance(value, int | float) else None

    return Timeout(connect=of("connect"), read=of("read"), total=of("total"))
