"""Files that go along with a playbook: those that it calls by name, those that they call, and nothing else."""

import pytest

from noetl.control.attached import FILES_BYTES_MAX, FILES_MAX
from noetl.errors import RequestError
from noetl.remote.attaching import attached_files

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: trial}\n"


def calling(*tasks):
    steps = "".join(f"  - step: s{number}\n    tool: {task}\n" for number, task in enumerate(tasks))
    return f"{HEAD}workflow:\n{steps}".encode()


def child(path, **more):
    fields = "".join(f", {name}: {value}" for name, value in more.items())
    return f"{{kind: playbook, path: {path}{fields}}}"


def test_what_is_called_goes_along_and_what_that_calls(tmp_path):
    (tmp_path / "one.yaml").write_bytes(calling(child("deeper/two")))
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "two.yml").write_bytes(calling("{kind: noop}"))
    (tmp_path / "other.yaml").write_text("not called")

    found = attached_files(calling(child("one")), str(tmp_path))

    assert set(found) == {"one.yaml", "deeper/two.yml"}
    assert found["one.yaml"] == (tmp_path / "one.yaml").read_text()


def test_playbooks_that_call_each_other_go_along_once(tmp_path):
    (tmp_path / "a.yaml").write_bytes(calling(child("b")))
    (tmp_path / "b.yaml").write_bytes(calling(child("a")))

    assert set(attached_files(calling(child("a")), str(tmp_path))) == {"a.yaml", "b.yaml"}


@pytest.mark.parametrize(
    "task",
    [
        child("one", version=2),
        child('"{{ workload.which }}"'),
        child("../one"),
        child("/etc/passwd"),
        child("missing"),
        "{kind: script, path: one.yaml}",
        "{kind: noop}",
        '{kind: playbook, path: "a\\0b"}',
    ],
)
def test_what_is_not_called_by_its_file_name_stays_here(tmp_path, task):
    (tmp_path / "one.yaml").write_text("x")

    assert attached_files(calling(task), str(tmp_path)) == {}


def test_a_path_may_stand_under_input(tmp_path):
    (tmp_path / "one.yaml").write_bytes(calling("{kind: noop}"))

    assert set(attached_files(calling("{kind: playbook, input: {path: one}}"), str(tmp_path))) == {"one.yaml"}


@pytest.mark.parametrize("data", [b"\xff\xfe", b"kind: playbook: [", b"- playbook", b"", b"[" * 5000 + b"playbook"])
def test_what_cannot_be_read_has_nothing_to_go_along(tmp_path, data):
    assert attached_files(data, str(tmp_path)) == {}


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "secret.yaml").write_text("x")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "one.yaml").symlink_to(tmp_path / "secret.yaml")

    assert attached_files(calling(child("one")), str(tmp_path / "here")) == {}


def test_too_many_or_too_large_is_refused(tmp_path):
    for number in range(FILES_MAX + 1):
        (tmp_path / f"p{number}.yaml").write_bytes(calling("{kind: noop}"))
    (tmp_path / "a.yaml").write_bytes(b"x" * (FILES_BYTES_MAX // 2 + 1))
    (tmp_path / "b.yaml").write_bytes(b"x" * (FILES_BYTES_MAX // 2 + 1))

    with pytest.raises(RequestError, match="register them"):
        attached_files(calling(*(child(f"p{number}") for number in range(FILES_MAX + 1))), str(tmp_path))
    with pytest.raises(RequestError, match="comes along"):
        attached_files(calling(child("a"), child("b")), str(tmp_path))
