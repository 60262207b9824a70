"""Faults of one log: gaps, ends, jobs and leases, loops, attempts."""

from collections import Counter, defaultdict

from tests.cluster.record import DOUBLED, LIMIT, LIVING, LOST, OTHER, Event, Execution, Report, task_run

LIVE = ("running", "waiting", "incident")
JOB_ENDS = ("step.done", "step.failed", "step.cancelled")
ITERATION_ENDS = ("loop.iteration.done", "loop.iteration.failed", "loop.iteration.cancelled")
LOOP_ENDS = ("loop.done", "step.failed", "step.cancelled")
LAST = "playbook.processed"


def check_log(report: Report, execution: Execution, log: list[Event]) -> None:
    """I1, I11, I15: gapless, and one end that nothing follows."""
    where = f"execution {execution.id}"
    report.seen["events"] += len(log)
    report.demand([event["seq"] for event in log] == list(range(1, len(log) + 1)), f"{where}: I1, seq has gaps", LOST)
    report.demand(len(log) == execution.head, f"{where}: I1, head is {execution.head}, events are {len(log)}", LOST)
    report.demand(execution.status not in LIVE, f"{where}: I15, it is still {execution.status}", LIVING)
    ends = [event["seq"] for event in log if event["name"] == LAST]
    kind = DOUBLED if len(ends) > 1 else OTHER
    report.demand(ends == [len(log)], f"{where}: I11, it ends at {ends} of {len(log)}", kind)
    for event in log:
        is_same = all(event["body"].get(name, default) == event[name] for name, default in COLUMNS)
        report.demand(is_same, f"{where}: event {event['seq']} and its columns disagree")


COLUMNS = (("name", None), ("run", 0), ("iter", -1), ("lease", 0))


def check_jobs(report: Report, execution: Execution, log: list[Event]) -> None:
    """I2, I4: a job ends once, and once another lease was heard, the earlier one is heard no more."""
    ends: Counter[tuple[int, int]] = Counter()
    begun: set[tuple[int, int]] = set()
    leases: dict[tuple[int, int], list[int]] = defaultdict(list)
    for event in log:
        key = (event["run"], event["iter"])
        if event["name"] == "step.scheduled" or event["name"] == "loop.iteration.started":
            begun.add(key)
        if event["name"] in JOB_ENDS or event["name"] in ITERATION_ENDS or event["name"] == "loop.done":
            ends[key] += 1
        if event["lease"] and (not leases[key] or leases[key][-1] != event["lease"]):
            leases[key].append(event["lease"])
    where = f"execution {execution.id}"
    for key in begun:
        kind = DOUBLED if ends[key] > 1 else LOST
        report.demand(ends[key] == 1, f"{where}: I4, job {key} ended {ends[key]} times", kind)
    for key, found in leases.items():
        report.seen["leases"] += len(found)
        report.demand(len(set(found)) == len(found), f"{where}: I2, job {key} was heard under {found}")


def check_loops(report: Report, execution: Execution, log: list[Event]) -> None:
    """I6, I7: indices begin in order and end once; never more in flight than allowed."""
    limits = {event["run"]: event.get("max_in_flight", 1) for event in log if event["name"] == "loop.started"}
    for run, limit in limits.items():
        events = [event for event in log if event["run"] == run]
        check_iterations(report, f"execution {execution.id}, run {run}", limit, events)


def check_iterations(report: Report, where: str, limit: int, events: list[Event]) -> None:
    in_flight: set[int] = set()
    started: list[int] = []
    for event in events:
        if event["name"] == "loop.iteration.started":
            started.append(event["iter"])
            in_flight.add(event["iter"])
            report.demand(len(in_flight) <= limit, f"{where}: I7, {len(in_flight)} of {limit} in flight", LIMIT)
        elif event["name"] in ITERATION_ENDS:
            report.demand(event["iter"] in in_flight, f"{where}: I6, {event['iter']} ended out of flight", DOUBLED)
            in_flight.discard(event["iter"])
    report.seen["iterations"] += len(started)
    report.demand(started == list(range(len(started))), f"{where}: I6, it began {started}")
    report.demand(not in_flight, f"{where}: I6, {sorted(in_flight)} never ended", LOST)
    over = [event for event in events if event["name"] in LOOP_ENDS and event["iter"] < 0]
    report.demand(len(over) == 1, f"{where}: I6, it was over {len(over)} times")
    counted = sum(end["done"] + end["failed"] for end in over if end["name"] == "loop.done")
    cancelled = sum(event["name"] == "loop.iteration.cancelled" for event in events)
    if any(end["name"] == "loop.done" for end in over):
        report.demand(counted + cancelled == len(started), f"{where}: I6, it counted {counted} of {len(started)}")


def check_attempts(report: Report, execution: Execution, log: list[Event]) -> None:
    """I3: each attempt is recorded once, and attempts of a task run are 1, 2, 3, …"""
    recorded: dict[str, list[int]] = defaultdict(list)
    for event in log:
        if event["name"] == "task.done":
            recorded[task_run(execution.id, event)].append(event["attempt"])
    for name, attempts in recorded.items():
        report.seen["attempts"] += len(attempts)
        expected = list(range(1, len(attempts) + 1))
        kind = DOUBLED if len(set(attempts)) < len(attempts) else LOST
        report.demand(attempts == expected, f"execution {execution.id}: I3, {name} has attempts {attempts}", kind)
