"""NoETL: a workflow engine. This page is the map; nothing is imported here.

A playbook comes in as YAML, is read with positions, checked, and normalized into a small frozen model. The engine
looks at the model and the events so far and decides what must happen. The server queues the work, a worker runs the
pipeline, events come back, are stored, projected and shown. The rooms stand in that order:

    server.py  worker.py  clictl.py   the roles: read settings, build the parts, run. They do not decide. Beside them:
                  running.py (runs and changes executions in this process), embedded.py (server and worker in one
                  process), cluster.py (a server of many); hosting.py is either of them at work, with embedded_host.py,
                  cluster_host.py, api_parts.py, workforces.py, starts.py, access.py, chance.py, tracing.py; serving.py
                  puts the API on a socket; lasting.py is the event loop of all that lasts
    working/      worker processes of a cluster, and what supervises them
    rerunning     many executions run again, a few at a time
    issuing  scheduling  safekeeping  proving  asking   what the command line asks of a store on this machine: tokens,
                  schedules, credentials (kept, tried), executions of another process; reviewing explains executions;
                  forecasting says what a playbook would do;
                  remote/ asks a server instead; showing sends a browser to the pages
    rehearsal/    playbooks run in simulated time, with answers in place of tools: tests, recordings
    checkup/  daemons/   how everything is (noetl doctor); pid files, log files, programs that go on by themselves
    dsl/          text in, Playbook out (pure): read, parse, check, normalize; and back to text: fix, fmt, migrate
    engine/       events in, decisions out (pure): decide, apply, effects; and the worker's half, the pipeline
    identity/     who asks, and what that allows: access tokens, roles, sessions of workers, the audit log
    control/      the server at work: the pump (intake, turn), dispatch, timers, children, stored lists, reading, verify
    starting/     what starts playbooks by itself, asking the desk as people do: schedules, webhooks, NATS subjects
    queues/       work on its way, and its leases: contract, memory, NATS
    runner/       the worker at work: claim, execute, report, heartbeat
    tools/        what a task can do: contract, registry, then per kind a file of its name, and beside it those it needs
    keychain/     credential names → secrets, and their redaction
    results/      large outputs kept outside the log, reached by reference
    web/  messaging/   the ways out, the same for whoever takes them: the one HTTP client, the one way to NATS
    stores/       what the server keeps: contract, memory, sqlite, postgres
    projections/  events → the rows people look at (pure)
    api/  ui/     HTTP over control and projections; pages that know only the API
    cli/          one file per verb
    projects/     what `noetl init` writes: playbooks, tests and settings to begin with, as files
    testing/      shared by our tests and plugin authors': contract suites, builders, clocks, services
    errors  config  expressions  references  secret  sql  json_schema  writes  wording  ids  traceparent  clock  logs
    buggify       below everything; the last is where a simulator makes the rest behave unusually

Not every room is furnished yet. Which room may import which is a table in tests/test_rooms.py, and is checked there.
"""

__version__ = "0.1.0"
