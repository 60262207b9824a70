"""Write golden logs that are not there yet. python tests/golden/make.py

Runs the scenes of `scenes.py` and keeps the log, states and snapshots of each one that has no file in the newest shape.
Never changes a file: a log that was released stays as it is, whatever the engine would write today.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from noetl.engine.apply import apply
from noetl.engine.events import Event, encode
from noetl.engine.state import ENGINE_VERSION, State, written
from noetl.projections.progress import Progress
from noetl.projections.summary import summary
from tests.golden.driving import Driven
from tests.golden.keeping import FOLDER, INDEX, SHAPES, Kept, fingerprints, written_out
from tests.golden.scenes import HEAD, SCENES, Scene

STATES = 4  # of a log: its quarters
PRETTY = 1


def main() -> None:
    folder = FOLDER / SHAPES[-1]
    folder.mkdir(exist_ok=True)
    for scene in SCENES:
        if not (folder / f"{scene.name}.jsonl").exists():
            keep(scene, folder / scene.name)
            print(f"made {SHAPES[-1]}/{scene.name}")
    INDEX.write_bytes(msgspec.json.format(msgspec.json.encode(fingerprints()), indent=2) + b"\n")


def keep(scene: Scene, stem: Path) -> None:
    made = Driven(HEAD + scene.text, scene.script)
    scene.play(made)
    log = [scene.rewrite(event) for event in made.log] if scene.rewrite else made.log
    kept = kept_of(scene, made, log)
    stem.with_suffix(".yaml").write_text(HEAD + scene.text, "utf-8")
    stem.with_suffix(".json").write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=PRETTY) + b"\n")
    stem.with_suffix(".jsonl").write_bytes(b"".join(encode(event) + b"\n" for event in log))


def kept_of(scene: Scene, made: Driven, log: list[Event]) -> Kept:
    places = sorted({len(log) * quarter // STATES for quarter in range(1, STATES + 1)} - {0})
    states, snapshots = {}, {}
    state, progress = State(execution_id=1), Progress()
    for seq, event in enumerate(log, 1):
        apply(state, event)
        progress.apply(event)
        if seq in places:
            states[seq] = written_out(state)
            snapshots[seq] = msgspec.Raw(written(state))
    return Kept(
        engine=ENGINE_VERSION,
        script=scene.script,
        states=states,
        summary=summary(1, progress, list(made.playbook.steps)),
        snapshots=snapshots,
        blobs={sha256: body.decode() for sha256, body in sorted(made.blobs.items())},
    )


if __name__ == "__main__":
    main()
