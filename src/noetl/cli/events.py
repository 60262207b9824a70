"""noetl events: the log of an execution."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import coloured, moment, one_line

NAME_WIDTH = 28
DETAIL_WIDTH_MAX = 100
INNER_LOOPS_MAX = 100_000  # that are remembered; of older ones only their own iteration is said
STATUS_COLOURS = {"success": "green", "error": "red", "skipped": "bright_black", "in_progress": "cyan"}
DETAILS = ("result", "do", "to", "boundary", "count", "path", "entry", "reason", "message", "child_execution_id")


@click.command("events")
@click.argument("execution", metavar="ID")
@click.option("--follow", "-f", is_flag=True, help="Go on with new events until the execution has ended.")
@click.option("--after", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Only events after this one.")
@place_options
@format_option
def command(execution: str, follow: bool, after: int, home: str | None, store: str | None, form: str) -> int:
    """Print the events of an execution in order; as JSON one object per line.

    ID is the execution's number, its beginning, or last.

    Example: noetl events last --format json | jq -r .name
    """
    settings = settings_of(home, store)
    number = execution_id(execution, settings)
    side = executions_of(settings)
    found = side.follow(settings, number, after) if follow else side.events(settings, number, after)
    nesting = Nesting()
    for event in found:
        click.echo(msgspec.json.encode(event) if form == "json" else line_of(event, nesting.within(event)))
    advise("read", id=number)
    return exits.DONE


class Nesting:
    """Which iterations an inner loop is in, as far as the log has been read: its own events only have its number."""

    def __init__(self) -> None:
        self.loops: dict[str, str] = {}  # run → "3."

    def within(self, event: dict[str, Any]) -> str:
        """The iterations around what an event is of, outer ones first."""
        run, payload = event.get("step_run_id", ""), event["payload"]
        if event["name"] == "loop.started" and payload.get("parent_run"):
            outer = self.loops.get(f"{run.rpartition(':')[0]}:{payload['parent_run']}", "")
            self.loops[run] = f"{outer}{payload['parent_iter']}."
            if len(self.loops) > INNER_LOOPS_MAX:
                del self.loops[next(iter(self.loops))]
        return self.loops.get(run, "")


def line_of(event: dict[str, Any], within: str = "") -> str:
    """`12  12:00:00.125  task.done  load[17]/fetch  …`, the time as everywhere in the reader's own zone."""
    seq = event["event_id"].rpartition("-")[2]
    time = f"{moment(event['timestamp']).rpartition(' ')[2]}.{event['timestamp'].rpartition('.')[2].removesuffix('Z')}"
    name = one_line(event["name"], NAME_WIDTH)
    rest = "  ".join(filter(None, (place_of(event, within), detail_of(event["payload"]))))
    pad = " " * (NAME_WIDTH - len(name) + 2) if rest else ""
    return f"{seq:>6}  {time}  {coloured(name, STATUS_COLOURS.get(event['status']))}{pad}{rest}"


def place_of(event: dict[str, Any], within: str = "") -> str:
    """Step, iteration, task and attempt, as far as the event has them."""
    place = event.get("step", "")
    iteration = event["iteration_id"].rpartition(":")[2] if "iteration_id" in event else ""
    if iteration or within:
        place += f"[{within}{iteration}]" if iteration else f"[{within.removesuffix('.')}]"
    if "task_label" in event:
        place += f"/{event['task_label']}"
    if event.get("attempt", 0) > 1:
        place += f" #{event['attempt']}"
    return one_line(place, DETAIL_WIDTH_MAX)


def detail_of(payload: dict[str, Any]) -> str:
    """What is worth a word in one line: where it goes on, counts, why it failed."""
    parts = [f"{name}={payload[name]}" for name in DETAILS if payload.get(name) not in (None, "")]
    targets = [arc["step"] for arc in payload.get("fired") or () if not arc.get("is_duplicate")]
    parts += [f"→ {', '.join(targets)}"] if targets else []
    parts += [
        f"{patch['path']}={msgspec.json.encode(patch['value']).decode()}" for patch in payload.get("patches") or ()
    ]
    error = payload.get("error") or (payload.get("output") or {}).get("error")
    parts += [f"{error.get('kind')}: {error.get('message')}"] if isinstance(error, dict) else []
    return one_line("  ".join(parts), DETAIL_WIDTH_MAX)
