"""What is kept of a measurement, and what is not."""

import getpass
import json
import platform
from pathlib import Path

import msgspec

from bench.machine import commit, this_machine
from bench.report import Report, as_text, merged, read, write
from tests.bench.parts import CHAIN, LOOP, part, report


def test_a_report_comes_back_from_its_json(tmp_path: Path) -> None:
    measured = report(part("embedded", CHAIN, LOOP))

    write(measured, tmp_path / "bench.json")

    assert read(tmp_path / "bench.json") == measured


def test_the_json_says_what_follows_from_the_rounds() -> None:
    text = as_text(report(part("embedded", CHAIN)))

    (shown,) = json.loads(text)["parts"][0]["figures"]
    assert (shown["median"], shown["low"], shown["high"], shown["verdict"]) == (0.35, 0.33, 0.41, "met")
    assert round(shown["ratio"], 2) == 1.25


def test_parts_that_were_not_measured_again_stay() -> None:
    before = report(part("embedded", CHAIN), part("cluster"))
    now = report(part("embedded", LOOP))

    found = merged(before, now)

    assert [(one.name, one.figures) for one in found.parts] == [("embedded", [LOOP]), ("cluster", [])]


def test_parts_of_another_machine_do_not_stay() -> None:
    before = report(part("cluster"))
    now = Report(machine=msgspec.structs.replace(before.machine, cores=64), parts=[part("embedded", CHAIN)])

    found = merged(before, now)

    assert found == now


def test_a_report_names_no_machine_user_or_folder() -> None:
    text = as_text(Report(machine=this_machine(), parts=[])) + commit()

    hidden = [platform.node(), str(Path.home()), str(Path.cwd()), f'"{getpass.getuser()}"']
    assert [name for name in hidden if name and name in text] == []
