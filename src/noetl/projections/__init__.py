"""Events in, the rows people look at out. Pure: fed in order, from the log or as they are committed, all give the same.

envelopes  one event as readers see it (EV-01, EV-02)
runs       step runs with their loops and tasks; below progress and timeline
progress   where an execution stands, in memory that grows with its steps only
timeline   its step runs, one row each
notices    what to say at once to a person who watches
sentences  notices in words
summary    the one document that `run` and `resume` print
ledger     all that pages ask of a log, folded in one go: run_rows, iterations, attempts, lines (facts), run_names
pages      a ledger's rows as documents
"""
