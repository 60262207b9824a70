"""Benchmarks: every figure is a ratio to something measured in the same run, because machines differ and are noisy."""
