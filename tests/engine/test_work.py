"""What a worker gets to run one job."""

from tests.engine.books import engine

STEPS = ("hotel", "alpha", "golf", "bravo", "foxtrot", "charlie", "echo", "delta")


def chain() -> str:
    """Steps one after the other, and a last one that reads what each of them gave."""
    following = (*STEPS[1:], "last")
    steps = [
        f"  - step: {step}\n    tool: {{kind: noop}}\n    next: {{arcs: [{{step: {after}}}]}}\n"
        for step, after in zip(STEPS, following, strict=True)
    ]
    reads = ", ".join(f"{step}: '{{{{ {step}.data }}}}'" for step in STEPS)
    last = f"  - step: last\n    tool: {{kind: noop, input: {{{reads}}}}}\n"
    return "workflow:\n" + "".join(steps) + last


def test_a_job_has_what_its_templates_read_in_one_order_in_every_process():
    made = engine(chain())
    made.start({})
    for _ in STEPS:
        made.run_job(*made.ready()[0])

    work = made.work(*made.ready()[0])

    assert work.step == "last"
    assert list(work.steps) == sorted(STEPS)
