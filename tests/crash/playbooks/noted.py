"""Run by the playbooks beside it: gives a value; writes to the ledger when it begins and when it is about to end."""

import os
import time


def note(word, ledger, key, attempt):
    file = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{word} {key} {attempt} {time.time()}\n".encode())
    finally:
        os.close(file)


def main(ledger, key, attempt, value, seconds=0, fails_before=0, repeat=0):
    note("began", ledger, key, attempt)
    time.sleep(seconds)
    note("ended", ledger, key, attempt)
    if attempt < fails_before:
        raise RuntimeError(f"attempt {attempt} fails")
    return [value] * repeat if repeat else value
