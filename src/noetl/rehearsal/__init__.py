"""A playbook rehearsed: run by the real engine, server and worker, in this process, in simulated time, with answers in
place of tools. For `noetl test`, for what `noetl run --record` wrote, and for whoever asks what an edit would change.

    loop.py       an event loop whose time stands still while there is work, and then jumps to the next timer
    stage.py      the parts of a process put together around it; surroundings.py: clock, results, keychain in memory
    asking.py     who asks: each call of a tool by its step, run, iteration, task, visit and attempt
    answers.py    what answers, by the words of a test; envelopes.py makes outputs of them, records.py reads them
    tools.py      the kinds of a rehearsal: an answer, the real tool, or nobody (unanswered.py)
    families.py   the playbooks that a playbook calls, found before it runs
    suite.py      files of tests in, the outcome of each out; checking.py compares, coverage.py counts, junit.py writes
    taps.py       what the tools of a run for real answered; recording.py writes it down as a test
    against.py    past executions in, whether an edit would have changed them out; past.py makes answers of a log,
                  replaying.py judges
    updating.py   what failing tests expect, rewritten to what came

Nothing is kept, and nothing outside is touched but by the kinds that a test wants to be real.
"""
