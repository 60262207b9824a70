"""What may stand in a `kind: PlaybookTest` document: one table, as `shapes.py` is one for playbooks.

Which steps and tasks there are is for the playbook to say, and what an answer of a plugin's kind has beside its data is
the plugin's own; the rules know about both.
"""

from __future__ import annotations

from noetl.dsl.kinds import INTEGER, LIST, MAPPING, TEXT
from noetl.dsl.shapes import NULL, Shape, choice, flag, mapping, number, text, whole
from noetl.dsl.start_shapes import VERSION

PLAYBOOK_TEST = "PlaybookTest"
ROOT = "playbook_test"
LEGACY, UPSTREAM = SURFACES = ("legacy", "upstream")
STATUSES = ("success", "failed", "cancelled", "waiting")
HELPERS = ("http", "pg", "py", "duckdb", "nats", "shell", "transfer", "playbook")  # of the kinds of NoETL
SECONDS_MAX = 100 * 366 * 24 * 3600
COUNT_MAX = 1_000_000_000

ANSWER_KEYS = {
    "run": "test.run",
    "iteration": "test.iteration",
    "data": "anything",
    "ref": "test.ref",
    "stored": "anything",
    "error": "test.error",
    "takes": "test.takes",
    "retry_after": "test.retry_after",
    "definite": "test.definite",
    "logs": "test.logs",
}

TEST_SHAPES: dict[str, Shape] = {
    "anything": Shape(),
    "test.apiVersion": choice("The version of the language.", VERSION),
    "test.metadata": mapping(
        "metadata",
        "1",
        "Who this test is.",
        {"name": "test.name", "description": "test.description", "labels": "test.labels"},
        required=("name",),
    ),
    "test.name": text("What it claims; unique in its file."),
    "test.description": text("What it is for."),
    "test.labels": Shape(types=(MAPPING,), is_open=True, where="metadata.labels", doc="Words to find it by."),
    ROOT: mapping(
        "a playbook test",
        "1",
        "A playbook, what its tools answer, and what is expected of it.",
        {
            "apiVersion": "test.apiVersion",
            "kind": "anything",
            "metadata": "test.metadata",
            "playbook": "test.playbook",
            "surface": "test.surface",
            "payload": "test.payload",
            "now": "test.now",
            "real": "test.real",
            "tools": "test.tools",
            "children": "test.children",
            "recording": "test.recording",
            "signals": "test.signals",
            "expect": "test.expect",
        },
        required=("apiVersion", "kind", "metadata"),
    ),
    "test.playbook": text("The file of the playbook, relative to this one. Not given: the playbook of this file."),
    "test.surface": choice("How the playbook is spelt, if not as today: as --legacy or --compat upstream.", *SURFACES),
    "test.payload": Shape(
        types=(MAPPING,), is_open=True, where="payload", doc="Merged over the playbook's workload. Data, no templates."
    ),
    "test.now": text("When it begins: 2026-03-01T08:00:00Z. Not given: the first of January 2026."),
    "test.real": Shape(
        types=(LIST,),
        items="test.kind",
        doc="Kinds that run for real where nothing answers: noop, workbook, resolve, python and playbook if not given.",
    ),
    "test.kind": text("A tool kind."),
    "test.tools": Shape(
        types=(MAPPING,),
        is_open=True,
        items="test.answers",
        where="tools",
        doc="What tasks answer instead of running, by step.task, or by step where it has one task.",
    ),
    "test.answers": Shape(
        types=(LIST, MAPPING),
        is_open=True,
        where="the answers of a task",
        doc="A list: the first call gets the first, the last answers all further ones. A mapping: every call.",
    ),
    "test.answer": mapping("an answer", "1", "What a tool gave.", ANSWER_KEYS, is_open=True),
    "test.run": whole("Of the step's runs only this one, counted from 1.", 1, COUNT_MAX),
    "test.iteration": Shape(
        types=(INTEGER, TEXT),  # no 1.10, which as a number is 1.1
        doc='Of the iterations only this one, counted from 0; of nested loops "2.0", the outermost first.',
    ),
    "test.ref": Shape(types=(MAPPING, NULL), is_open=True, where="ref", doc="A reference in place of data."),
    "test.error": mapping(
        "error",
        "1",
        "How it failed.",
        {
            "kind": "test.error.kind",
            "message": "test.message",
            "retryable": "test.retryable",
            "details": "test.details",
        },
        required=("kind",),
    ),
    "test.error.kind": text("One of the words of error.kind, or one of a plugin's own."),
    "test.message": text("What people read."),
    "test.retryable": flag("Whether another attempt may help; not given: as the kind of error has it."),
    "test.details": Shape(types=(MAPPING,), is_open=True, where="details", doc="What else is known of it."),
    "test.takes": number("How many seconds of simulated time the call takes; of a child none.", 0, SECONDS_MAX),
    "test.retry_after": number("How many seconds the other side asks to wait before a retry.", 0, SECONDS_MAX),
    "test.definite": flag("False: nobody knows whether it happened, so the idempotency key stays."),
    "test.logs": Shape(types=(LIST,), items="test.line", doc="Lines that the tool printed."),
    "test.line": text("One line."),
    "test.children": Shape(
        types=(MAPPING,),
        is_open=True,
        items="test.tools",
        where="children",
        doc="What tasks of called playbooks answer, by the path they are called by.",
    ),
    "test.recording": text("A file with recorded answers, relative to this one; tools wins over it."),
    "test.signals": Shape(
        types=(LIST,), items="test.signal", doc="Signals that it gets, one after another, as noetl signal sends them."
    ),
    "test.signal": mapping(
        "a signal",
        "1",
        "What is written to the ctx of the execution, and when.",
        {"at": "test.at", "child": "test.child", "set": "test.set"},
        required=("set",),
    ),
    "test.at": number("After so many seconds of simulated time. Not given: when it waits.", 0, SECONDS_MAX),
    "test.child": text("The path of a called playbook, whose executions get it in place of this one."),
    "test.set": Shape(
        types=(MAPPING,), is_open=True, where="set", doc="What is written, by its path: ctx.NAME. Data, no templates."
    ),
    "test.expect": mapping(
        "expect",
        "1",
        "What is compared; what is not named is not.",
        {
            "status": "test.status",
            "output": "anything",
            "ctx": "test.ctx",
            "error": "test.expect.error",
            "path": "test.path",
            "runs": "test.runs",
            "duration": "test.duration",
        },
    ),
    "test.status": choice("How it ends. success if not given.", *STATUSES),
    "test.ctx": Shape(types=(MAPPING,), is_open=True, where="ctx", doc="Keys of ctx at the end; others may be there."),
    "test.expect.error": mapping(
        "error",
        "1",
        "The error it ends with.",
        {
            "kind": "test.error.kind",
            "step": "test.step",
            "task": "test.task",
            "message": "test.message",
            "iteration": "test.iteration",
        },
    ),
    "test.step": text("The name of a step."),
    "test.task": text("The label of a task."),
    "test.path": Shape(types=(LIST,), items="test.step", doc="Steps in the order in which they were scheduled."),
    "test.runs": Shape(
        types=(MAPPING,),
        is_open=True,
        items="test.count",
        where="runs",
        doc="How often a step ran, or a task (step.task) was called.",
    ),
    "test.count": whole("How often.", 0, COUNT_MAX),
    "test.duration": mapping(
        "duration",
        "1",
        "Seconds of simulated time.",
        {"min": "test.seconds", "max": "test.seconds"},
    ),
    "test.seconds": number("Seconds.", 0, SECONDS_MAX),
}
