"""The server at work: what is asked becomes operations, operations become events, and what follows is seen to.

asked     desk (start, resume, cancel, signal), requests, rerun, attached; inbox where another process has the store;
          catalog, inspecting: playbooks by path and version; credentials: whether they are to be had
decided   intake, the pump: batches; turn: one of them in the making; sitting: its time with store and queue; live:
          states in memory; numbering, shares. With servers side by side: pumps, shared_sitting
followed  follow, calls, planning, stored_lists: what events lead to outside their own log; shared_following
done      dispatch and timers: jobs to the worker of this process, time passing. With servers side by side: handing_out,
          polls, worker_service, rescue; unserved: jobs that no worker takes
shown     reading, replaying, verify: from the log; showing, watching, listening, status_feed: as it is committed;
          projected, log_lines: folded once and kept
carried   exported, brought, importing: an execution as a file, there and back; viewings: held to be looked at
measured  metrics, outlook, collectors, prometheus, traces
removed   retention, marks, mentions: results that nothing needs any more

Nothing here reads a clock, waits by itself or throws dice: those are handed in.
"""
