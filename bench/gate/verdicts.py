"""Figures beside those of the baseline: which are over, missing or new. Pure: data in, verdicts and lines out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

RATIO_MAX = 1.25
# What is committed together depends on how fast the disk is: these are few, and only to stay few.
RATIOS_MAX = {"W2 commits per iteration": 3.0, "W3 commits per workflow": 3.0}
RATIO_NOTABLE = 0.8  # so much cheaper that the baseline should follow, or the next 25 % go unseen
CALLS_PROFILE = "python -m cProfile -s cumulative -m bench.gate.work times"
TIME_PROFILE = "py-spy record --format flamegraph --output build/gate.svg -- python -m bench.gate.work times"
IMPORTS_PROFILE = "python -X importtime -m noetl run PLAYBOOK"
COMMITS_PROFILE = "strace -f -c -e trace=fdatasync,fsync,pwrite64 python -m bench.gate.work times"

Word = Literal["same", "cheaper", "over", "missing", "new"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One figure, now and before."""

    figure: str
    before: float | None
    now: float | None
    word: Word

    @property
    def ratio(self) -> float | None:
        """How much dearer it is; every figure is a cost."""
        if self.before is None or self.now is None:
            return None
        return self.now / self.before if self.before else (1.0 if not self.now else float("inf"))

    @property
    def is_failure(self) -> bool:
        """Over; or missing, because whatever is not measured can get slower unseen."""
        return self.word in ("over", "missing")


def judged(before: Mapping[str, float], now: Mapping[str, float]) -> list[Verdict]:
    """A verdict on every figure of either, in the order of the baseline, new ones last."""
    names = [*before, *(name for name in now if name not in before)]
    return [_judged(name, before.get(name), now.get(name)) for name in names]


def _judged(figure: str, before: float | None, now: float | None) -> Verdict:
    verdict = Verdict(figure=figure, before=before, now=now, word="same")
    return msgspec.structs.replace(verdict, word=_word(verdict))


def _word(verdict: Verdict) -> Word:
    if verdict.now is None:
        return "missing"
    if verdict.ratio is None:
        return "new"
    if verdict.ratio > RATIOS_MAX.get(verdict.figure, RATIO_MAX):
        return "over"
    return "cheaper" if verdict.ratio < RATIO_NOTABLE else "same"


def line(verdict: Verdict) -> str:
    columns = [_shown(verdict.before), _shown(verdict.now), _shown(verdict.ratio, 2, "x")]
    text = f"{verdict.figure:<28} {columns[0]:>11} {columns[1]:>11} {columns[2]:>8}  {verdict.word}"
    return f"{text}: {advice(verdict)}" if verdict.is_failure else text


def _shown(value: float | None, digits: int = 3, unit: str = "") -> str:
    return "-" if value is None else f"{value:,.{digits}f}{unit}"


def advice(verdict: Verdict) -> str:
    """What to do about one that fails."""
    if verdict.word == "missing":
        return "the gate measures it no more; if that is meant: python -m bench.gate --update"
    return f"look where it goes: {_profile(verdict.figure)}; if it is meant: python -m bench.gate --update"


def _profile(figure: str) -> str:
    if figure.startswith("W4"):
        return IMPORTS_PROFILE
    if "calls" in figure:
        return CALLS_PROFILE
    return TIME_PROFILE if "processor time" in figure else COMMITS_PROFILE
