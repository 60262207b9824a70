"""A forecast: what a playbook would run with a payload, and the most attempts and time it could take. Nothing is run.

    known.py       what the workload alone decides: values, guards; of the rest, what they wait for
    bounds.py      a number that is never passed, or why there is none
    pipelines.py   one pipeline: attempts of each task, waits between them, time
    loops.py       how often a pipeline runs, and how many at once
    routes.py      which steps a token can come to, how often, and the longest way through the net
    steps.py       all of it, as rows for people and programs

Every bound is over all that tools may answer: each fails or uses its whole time whenever a rule lets it try again. It
is sound and not exact: a run stays at or below it, and where nothing is certain the forecast says so and why. What it
does not count is said by `steps.ASSUMPTIONS`.
"""
