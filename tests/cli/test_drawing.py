"""The drawing on a terminal, and the lines above it: made from histories, looked at as text."""

import io
from typing import get_args

import pytest
from rich.console import Console

from noetl.cli.drawing import Board
from noetl.cli.sentences import LOOKS, error_sentence, said
from noetl.engine.events import LoopIterationStarted, TaskStarted
from noetl.projections.notices import Notice, What, notices
from noetl.projections.progress import Progress
from noetl.projections.sentences import SENTENCES
from tests.projections.histories import BAD, History


def drawn(history, width=120, height=24):
    """The drawing as text, one string per line."""
    progress = Progress()
    notices(progress, history)
    screen = io.StringIO()
    console = Console(file=screen, width=width, height=height, force_terminal=True, color_system=None)
    board = Board(console)
    try:
        with console.capture() as capture:
            console.print(board.picture(progress, 1.5))
    finally:
        board.close()
    return capture.get().splitlines()


@pytest.fixture
def history():
    return History().begin()


def test_a_running_step_is_drawn_with_its_task(history):
    run = history.schedule("load")
    history.add(TaskStarted, run=run, task="fetch", visit=1, attempt=1, kind="http")

    line, foot = drawn(history)

    assert line.split()[1:3] == ["load", "fetch"]
    assert foot.split(" · ")[:2] == ["1.5 s", "0 steps done"]


def test_a_loop_is_drawn_as_one_line_with_counts_and_a_bar(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 4).iteration(run, 0).iteration(run, 1, is_failed=True)
    history.add(LoopIterationStarted, run=run, iter=2).task(run, iter=2, do="retry", output=BAD)

    line = drawn(history)[0]

    assert "2/4 1 failed 1 in flight ↻ 1" in " ".join(line.split())
    assert line.count("━") == line.count("─") == 12


@pytest.mark.parametrize(("width", "bar_width"), [(120, 24), (80, 12), (50, 0)])
def test_a_bar_fits_the_terminal(history, width, bar_width):
    run = history.schedule("load", has_loop=True)
    lines = drawn(history.loop(run, "load", 4), width=width)

    assert lines[0].count("─") == bar_width
    assert all(len(line) <= width for line in lines)


def test_finished_steps_are_not_drawn(history):
    run = history.schedule("load")

    lines = drawn(history.done(run, "load"))

    assert len(lines) == 1
    assert "1 step done" in lines[0]


def test_many_running_steps_do_not_outgrow_the_terminal(history):
    for number in range(50):
        history.schedule(f"step{number}")

    lines = drawn(history, height=20)

    assert len(lines) == 16 + 2
    assert "and 34 more steps" in lines[-2]


def test_a_step_s_name_cannot_talk_to_the_terminal(history):
    history.schedule("\x1b[2Jload [red]x[/red]")

    assert "\x1b[2J" not in drawn(history)[0]
    assert "[red]x[/red]" in drawn(history)[0]


@pytest.mark.parametrize(
    ("notice", "text"),
    [
        (Notice(what="started", step="load"), "load: started"),
        (Notice(what="loop", step="load", total=1000), "load: 1,000 iterations"),
        (Notice(what="done", step="load", seconds=1.25), "load: done in 1.2 s"),
        (
            Notice(what="done", step="load", seconds=2, total=10, done=8, failed=2, retries=1),
            "load: done in 2.0 s (8 of 10 iterations, 2 failed, 1 retry)",
        ),
        (
            Notice(what="failed", step="load", task="fetch", iteration=7, seconds=0.5, message="HTTP 503"),
            'load: failed after 500 ms, iteration 7, task "fetch": HTTP 503',
        ),
        (
            Notice(what="retry", step="load", task="fetch", attempt=1, seconds=1.5, message="HTTP 503"),
            'load: attempt 2 in 1.5 s, task "fetch": HTTP 503',
        ),
        (Notice(what="skipped", step="audit", message="never admitted"), "audit: skipped: never admitted"),
        (Notice(what="waiting", step="approve"), "approve: waits for a signal"),
        (Notice(what="child", step="call", path="sub/report"), 'call: called "sub/report"'),
        (Notice(what="failed", step="a\x1b[2J", message="b\nc\x07"), "a�[2J: failed after 0 ms: b c�"),
    ],
)
def test_a_notice_reads_as_a_sentence(notice, text):
    assert said(notice).text == text


def test_every_notice_has_a_sentence():
    assert set(SENTENCES) == set(LOOKS) == set(get_args(What))


def test_an_error_names_step_iteration_task_and_place():
    error = {"kind": "server_error", "message": "HTTP 503", "step": "load", "task": "fetch", "iteration": 7}

    assert error_sentence(error, "orders.yaml:28:9") == (
        'step "load", iteration 7, task "fetch" (orders.yaml:28:9): HTTP 503'
    )  # fmt: skip
    assert error_sentence({**error, "message": "a.yaml:3:4: no text"}, "orders.yaml:28:9").endswith(
        'task "fetch": a.yaml:3:4: no text'
    )
    assert error_sentence({"kind": "x", "message": "no payload", "step": None, "task": None}) == "no payload"
