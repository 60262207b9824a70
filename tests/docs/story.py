"""A page as a story that a machine can live through: its files, its edits, its commands and what they print.

On the page these fenced blocks count, in their order; all others are for people only:

    ```yaml title="a.yaml"     a file, whole
    ```diff title="a.yaml"     an edit: the lines with - and without a sign stand in the file once, one after another;
                               they become those with + and without a sign
    ```console                 commands after "$ ", each with what it prints; "…" stands for any text, in a line or as
                               lines of their own; a line "^C" is where the reader presses Ctrl-C

A command leaves with 0, unless `<!-- leaves with 1 -->` stands before its block. Times, dates, bars and widths differ
from machine to machine and are not compared. The advice at the end of an output ("next: …") may be left out.
"""

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(
    r"(?:^<!-- leaves with (?P<code>\d+) -->\n+)?"
    r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
ANYTHING = "…"
INTERRUPT = "^C"
SECONDS_MAX = 60
VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+Z)?"), "a date"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:ms|s|min)\b"), "a while"),
    (re.compile(r"\s*━+\s*"), " "),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://127.0.0.1:PORT"),
    (re.compile(r"  +"), " "),
)


class File(NamedTuple):
    name: str
    text: str


class Edit(NamedTuple):
    name: str
    old: str
    new: str


class Command(NamedTuple):
    words: str
    shown: list[str]
    code: int


class Cost(NamedTuple):
    """What commands took: of the processor, and by the clock."""

    cpu_seconds: float
    seconds: float


def scenes(page):
    """What a page asks its reader to do, in order."""
    for block in BLOCK.finditer(page):
        kind, title, text = block["kind"], block["title"], block["text"]
        if kind == "diff" and title:
            lines = text.splitlines(keepends=True)
            yield Edit(
                title,
                "".join(one[1:] for one in lines if one[0] != "+"),
                "".join(one[1:] for one in lines if one[0] != "-"),
            )
        elif kind == "console":
            yield from commands(text, int(block["code"] or 0))
        elif title:
            yield File(title, text)


def commands(text, code):
    """The commands of a block; if one is to leave with another code than 0, it is the last."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    for number, part in enumerate(parts, 1):
        words, _, shown = part.partition("\n")
        yield Command(words, shown.rstrip("\n").splitlines(), code if number == len(parts) else 0)


class Reader:
    """Somebody new: an empty folder, a home without settings, and no program on the path but those of NoETL."""

    def __init__(self, folder, home):
        self.folder = Path(folder)
        self.environ = {"HOME": str(home), "PATH": str(Path(sys.executable).parent), "LANG": "C.UTF-8"}
        self.seconds = 0.0

    def does(self, scene):
        if isinstance(scene, File):
            path = self.folder / scene.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(scene.text, encoding="utf-8")
        elif isinstance(scene, Edit):
            self.edits(scene)
        elif scene.words.startswith("cd "):
            self.folder = (self.folder / scene.words[3:].strip()).resolve(strict=True)
        else:
            self.runs(scene)

    def edits(self, edit):
        path = self.folder / edit.name
        text = path.read_text("utf-8")
        assert text.count(edit.old) == 1, f"these lines stand {text.count(edit.old)} times in {edit.name}:\n{edit.old}"
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")

    def runs(self, command):
        started = time.monotonic()
        done, said = self.lines(command)
        self.seconds += time.monotonic() - started
        shown = [line for line in command.shown if line != INTERRUPT]
        assert is_as_shown(said, shown) or is_as_shown(without_advice(said), shown), difference(
            command.words, shown, said
        )
        assert done == command.code, f"$ {command.words}\nleft with {done}, and not with {command.code}:\n" + "\n".join(
            said
        )

    def lines(self, command):
        with subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command.words}"],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                said = self.until_interrupted(process, command) + process.communicate(timeout=SECONDS_MAX)[0]
            finally:
                process.kill()
        return process.returncode, said.decode().splitlines()

    def until_interrupted(self, process, command):
        """What a command that goes on until Ctrl-C says before that."""
        if INTERRUPT not in command.shown:
            return b""
        wanted = command.shown[: command.shown.index(INTERRUPT)]
        said = b""
        ends = time.monotonic() + SECONDS_MAX
        while not is_as_shown(said.decode(errors="ignore").splitlines(), wanted):
            assert time.monotonic() < ends, difference(command.words, wanted, said.decode().splitlines())
            if select.select([process.stdout], [], [], 0.05)[0]:
                piece = os.read(process.stdout.fileno(), 65536)
                assert piece, difference(command.words, wanted, said.decode().splitlines())
                said += piece
        process.send_signal(signal.SIGINT)
        return said


def live_through(page, folder, home):
    """Do all that a page says, and say what it cost."""
    reader = Reader(folder, home)
    before = os.times()
    for scene in scenes(page):
        reader.does(scene)
    after = os.times()
    return Cost(
        after.children_user + after.children_system - before.children_user - before.children_system, reader.seconds
    )


def settled(line):
    for pattern, word in VARYING:
        line = pattern.sub(word, line)
    return line.strip()


def is_as_shown(said, shown):
    """Whether lines are those that a page shows, one after another, none left out but where … stands."""
    pattern = ""
    for line in shown:
        if line.strip() == ANYTHING:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in settled(line).split(ANYTHING)) + r"\n"
    return re.fullmatch(pattern, "".join(f"{settled(line)}\n" for line in said)) is not None


def without_advice(said):
    """What a command said before it proposed what to do next."""
    last = next((number for number, line in enumerate(said) if line.strip().startswith("next: ")), len(said))
    return said[: last - 1] if last and not said[last - 1] else said[:last]


def difference(words, shown, said):
    return "\n".join([f"$ {words}", "the page shows:", *shown, "", "and it said:", *said])
