"""The playbooks behind the pictures of docs/model.md do what the page says of them, and the page shows each."""

import re
from pathlib import Path

import pytest

from tests.cli.running import document, noetl

PAGE = Path(__file__).parent.parent.parent / "docs" / "model.md"
PLAYBOOKS = sorted((PAGE.parent / "model").glob("*.yaml"))
STEPS = {  # status, and the steps that ran
    "failure": ("failed", {"book_flight", "book_hotel"}),
    "join": ("success", {"start", "prices", "stock", "audit", "decide"}),
    "step": ("success", {"measure", "report"}),
    "tokens": ("success", {"fetch", "store", "report"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_a_playbook_of_the_page_runs_as_it_is_told(path, tmp_path):
    found = document(noetl("run", str(path), "--format", "json", home=tmp_path))

    ran = {step["step"] for step in found["steps"] if step["runs"]}
    assert (found["status"], ran) == STEPS[path.stem]


@pytest.mark.slow
def test_the_flight_is_given_back_when_the_hotel_is_full(tmp_path):
    noetl("run", str(PAGE.parent / "model" / "failure.yaml"), home=tmp_path)

    events = noetl("events", "last", "--format", "json", home=tmp_path).stdout
    assert "workflow.compensating" in events
    assert "given back" in events


def test_the_page_shows_every_picture_and_its_playbook():
    page = PAGE.read_text("utf-8")

    assert [one.stem for one in PLAYBOOKS] == [*STEPS]
    assert sorted(re.findall(r"!\[[^\]]+\]\(model/(\w+)\.svg\)", page)) == [*STEPS]
    assert sorted({*re.findall(r"\]\(model/(\w+)\.yaml\)", page)}) == [*STEPS]
