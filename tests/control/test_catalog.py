"""Playbooks by path and version: registered by content, never changed by running. And the workbook of one."""

import pytest

from noetl.embedded import RunRequest
from noetl.errors import InvalidPlaybook, UnknownPlaybook
from tests.control.parts import log_of, opened, run, state_of, text_of


def body(number):
    return f"workflow: [{{step: start, tool: {{kind: noop, input: {{number: {number}}}}}}}]"


def request(number, name="orders", **fields):
    return RunRequest(data=text_of(body(number), name), name="orders.yaml", **fields)


def labelled(number, label):
    return RunRequest(data=text_of(body(number), f"orders, version: {label}"), name="orders.yaml")


@pytest.mark.spec("PB-07", "PB-08")
async def test_the_catalog_numbers_versions_by_content(tmp_path):
    async with opened(tmp_path) as parts:
        entries = [await parts.desk.register(request(number)) for number in (1, 2, 1, 3)]

        assert [(entry.path, entry.version) for entry in entries] == [("orders", number) for number in (1, 2, 1, 3)]


@pytest.mark.spec("PB-07")
async def test_equal_labels_never_refuse_a_run_and_say_nothing_of_the_version(tmp_path):
    async with opened(tmp_path) as parts:
        entries = [await parts.desk.register(labelled(number, "9.9")) for number in (1, 2)]
        ids = [(await parts.start(labelled(number, "9.9")))[0] for number in (1, 2)]
        for execution_id in ids:
            await parts.until_quiet(execution_id)

        assert [(entry.version, entry.label) for entry in entries] == [(1, "9.9"), (2, "9.9")]
        assert [(await state_of(parts, one)).output["data"] for one in ids] == [{"number": 1}, {"number": 2}]


@pytest.mark.spec("PB-07")
async def test_a_registered_version_runs_as_it_was_registered(tmp_path):
    async with opened(tmp_path) as parts:
        first = await parts.desk.register(request(1))
        await parts.desk.register(request(2))

        execution_id, _ = await parts.start(RunRequest(path="orders", version=1))
        await parts.until_quiet(execution_id)

        assert (await state_of(parts, execution_id)).output["data"] == {"number": 1}
        assert await parts.store.entry("orders", 1) == first
        assert [entry.version for entry in await parts.store.entries()] == [2, 1]


@pytest.mark.spec("PB-07")
async def test_no_version_means_the_newest(tmp_path):
    async with opened(tmp_path) as parts:
        for number in (1, 2):
            await parts.desk.register(request(number))

        execution_id, _ = await parts.start(RunRequest(path="orders"))
        await parts.until_quiet(execution_id)

        assert (await state_of(parts, execution_id)).output["data"] == {"number": 2}


@pytest.mark.spec("PB-07")
async def test_an_execution_keeps_its_version_when_a_newer_one_is_registered(tmp_path):
    gated = """
        workflow:
          - step: start
            spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                           {else: {then: {allow: false}}}]}}}
            tool: {kind: noop, input: {number: 1}}
    """
    async with opened(tmp_path) as parts:
        execution_id = await run(parts, gated)

    async with opened(tmp_path) as parts:
        await parts.desk.register(RunRequest(data=text_of(body(2))))
        await parts.resume(execution_id)
        await parts.desk.signal(execution_id, {"ctx.go": True})
        await parts.until_quiet(execution_id)

        row = await parts.store.execution(execution_id)
        assert (row.path, row.version, row.status) == ("trial", 1, "success")
        assert (await state_of(parts, execution_id)).output["data"] == {"number": 1}


@pytest.mark.spec("PB-08", "RT-14")
async def test_an_execution_names_the_path_and_the_version_it_runs(tmp_path):
    async with opened(tmp_path) as parts:
        await parts.desk.register(request(1))
        execution_id, _ = await parts.start(request(2))
        await parts.until_quiet(execution_id)

        [requested, *_] = await log_of(parts, execution_id)
        row, state = await parts.store.execution(execution_id), await state_of(parts, execution_id)
        assert {(one.path, one.version) for one in (requested, row, state)} == {("orders", 2)}


@pytest.mark.spec("PB-07")
async def test_what_is_not_there_is_refused_and_what_there_is_is_named(tmp_path):
    async with opened(tmp_path) as parts:
        await parts.desk.register(request(1))

        with pytest.raises(UnknownPlaybook, match="versions 1 to 1"):
            await parts.start(RunRequest(path="orders", version=5))
        with pytest.raises(UnknownPlaybook, match='no playbook "nothing"'):
            await parts.start(RunRequest(path="nothing"))


@pytest.mark.spec("PB-07")
async def test_a_playbook_that_does_not_check_is_not_registered(tmp_path):
    async with opened(tmp_path) as parts:
        with pytest.raises(InvalidPlaybook):
            await parts.desk.register(
                RunRequest(data=text_of("workflow: [{step: a, tool: {kind: nonsense}}]"), name="a.yaml")
            )

        assert await parts.store.entries() == []


# --- the workbook ----------------------------------------------------------------------------------------------------

WORKBOOK = """
    workload: {name: world}
    workbook:
      greet:
        kind: noop
        input: {text: "{{ input.greeting }} {{ workload.name }}", mine: "{{ _task }}"}
    workflow:
      - step: start
        tool:
          - {name: greet, kind: noop, input: {own: true}}
          - {name: first, kind: workbook, task: greet, input: {greeting: hello}}
          - {name: second, kind: workbook, task: greet, input: {greeting: bye}}
          - name: all
            kind: noop
            input: {own: "{{ greet.data }}", first: "{{ first.data.text }}", second: "{{ second.data.text }}"}
"""


@pytest.mark.spec("PB-06")
async def test_a_workbook_task_is_called_with_its_own_input_output_and_labels(tmp_path):
    async with opened(tmp_path) as parts:
        execution_id = await run(parts, WORKBOOK)

        found = (await state_of(parts, execution_id)).output["data"]
        assert found == {"own": {"own": True}, "first": "hello world", "second": "bye world"}


@pytest.mark.spec("PB-06")
async def test_a_call_is_one_task_of_the_caller_in_the_log(tmp_path):
    async with opened(tmp_path) as parts:
        execution_id = await run(parts, WORKBOOK)

        started = [event for event in await log_of(parts, execution_id) if type(event).__name__ == "TaskStarted"]
        assert [(event.task, event.kind) for event in started] == [
            ("greet", "noop"),
            ("first", "workbook"),
            ("second", "workbook"),
            ("all", "noop"),
        ]
