"""Events in, decisions out: the engine, pure. No clock, no I/O, no chance; what cannot be repeated is handed in.

commands.py   what is asked, what follows      events.py   facts          output.py   the envelope of a task
lifecycle.py  legal moves                      state.py    what the events add up to
decide.py     (playbook, state, operation) → events: admission.py, routing.py, looping.py, loop_ends.py, ending.py
apply.py      (state, event) → state: apply_steps.py, apply_loops.py, apply_tasks.py; replay is this
effects.py    event → changes of the queue
pipeline.py   the worker's half: scene.py, policy.py, backoff.py, progress.py
"""
