"""The whole product in one thread, under one seed: same seed and same commit, same run, byte for byte.

A seed draws a world (`case.py`): servers, workers, playbooks, users, faults. The real engine, control and runner work
in it, on an event loop with a time of its own (`loop.py`); store, network, result stores and tools are simulated, and
every invariant of the protocol is checked while they do (`checks`). `noetl-sim --seed N` runs one.
"""
