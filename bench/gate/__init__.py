"""The gate of speed: a small benchmark that CI runs, and that fails when something has become over 25 % dearer.

Machines differ and are shared, so nothing here is a time. What is compared with the committed bench/baseline.json is
counted (calls, commits, events, bytes, modules), or is processor time as a multiple of a fixed piece of Python that
runs in turns with what is measured. What the counts do not see, work inside a single call of C, the multiples do.
"""
