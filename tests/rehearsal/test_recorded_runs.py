"""Whatever a run came to, what is written down of it comes to the same: generated playbooks, recorded and rehearsed."""

from zlib import crc32

import msgspec
import pytest

from noetl.config import load
from noetl.control.requests import Nobody, RunRequest
from noetl.rehearsal.envelopes import answer_of
from noetl.rehearsal.recording import recorded
from noetl.rehearsal.stage import Stage, Wanted
from noetl.rehearsal.taps import Taps
from noetl.testing.simulator.playbooks.drawing import generated
from noetl.testing.simulator.playbooks.plans import NOOP, PLAYBOOK, RESOLVE, SCRIPTED
from noetl.testing.simulator.playbooks.scripts import Circumstances, Script, outcome
from noetl.testing.simulator.tape import Tape
from noetl.testing.simulator.tools import ScriptedTool

SEEDS = range(40)
SIZE = 6


class Scripted:
    """Answers as the scripts in the playbook say."""

    def answer(self, asked):
        if asked.kind not in SCRIPTED:
            return None
        given = asked.input
        of = Circumstances(
            label=asked.task,
            indexes=tuple(given.get("of", ())),
            visit=asked.visit,
            attempt=asked.attempt,
            value=given.get("x"),
            previous=given.get("previous"),
        )
        come = outcome(msgspec.convert(given["plays"], Script), of)
        return {**answer_of(ScriptedTool(None, asked.kind, None).answer(come)), "takes": come.seconds}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_recorded_run_comes_to_the_same_again(seed, tmp_path):
    family = generated(Tape(seed).stream("playbook"), SIZE)
    for path, text in family.texts.items():
        file = tmp_path / f"{path}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    path, text = next(iter(family.texts.items()))
    settings = load(environ={"NOETL_HOME": str(tmp_path / "home")}, folder=tmp_path)
    request = RunRequest(data=text, name=f"{path}.yaml", folder=str(tmp_path))
    with Stage(settings) as stage:
        real = frozenset((NOOP, RESOLVE, PLAYBOOK, "workbook"))
        first = stage.rehearse(Wanted(request=request, answers=Scripted(), real=real))

    made = recorded(settings, request, taps_of(settings, first), first.summary, "t.test.yaml", f"{path}.yaml")

    has_children = len(family.texts) > 1  # an answered child ends at once, which may change the order of branches
    assert made.fault == ""
    assert made.left_out in ([], ["path"] if has_children else []), made.test.decode()
    assert b"runs:" in made.test or not any(step.runs for step in first.state.counts.values())


def taps_of(settings, rehearsed):
    """What taps on that run would have heard, had its iterations been done in another order."""
    taps = Taps(settings, Nobody())
    taps.committed(rehearsed.execution_id, 1, rehearsed.events[rehearsed.execution_id])
    for called in rehearsed.calls:
        asked = called.asked
        if asked.execution_id == rehearsed.execution_id and asked.kind != PLAYBOOK:
            taps.calls[asked.name] = taps.calls.get(asked.name, 0) + 1
            if called.answer is not None:
                answer = {key: value for key, value in called.answer.items() if key != "takes"}
                taps._keep(asked, answer, called.answer["takes"])
    taps.notes.sort(key=lambda note: crc32(f"{note.run}:{note.iteration}".encode()))
    return taps
