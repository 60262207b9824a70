"""Adds up order lines: a JSON list on standard input, a JSON mapping on standard output."""

import argparse
import json
import os
import sys

arguments = argparse.ArgumentParser()
arguments.add_argument("--currency", required=True)
currency = arguments.parse_args().currency

lines = json.load(sys.stdin)
total = sum(line["price"] * line["pieces"] for line in lines)
print(f"{len(lines)} lines added up", file=sys.stderr)
print(json.dumps({"total": round(total, int(os.environ["ROUNDING"])), "currency": currency}))
