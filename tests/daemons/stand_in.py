"""A program in the place of a server or a worker: the same pid file, log file and signals, and else it does nothing.

    python -m tests.daemons.stand_in ROLE start … --pid-file FILE --log-file FILE

What it does is in STAND_IN: "ready" (the usual one), "crash" (it ends before it is ready), "hang" (it never gets
ready), "stubborn" (SIGTERM does not end it), "chatty" (it prints more than a log file may hold, and is ready when that
was rotated).
"""

import argparse
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from noetl.config import load
from noetl.daemons.log_files import writing_to
from noetl.daemons.pid_files import PidFile

LOG_BYTES_MAX = 2000


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *words):
        pass


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("role")
    words.add_argument("--pid-file", type=Path)
    words.add_argument("--log-file", type=Path)
    given, _ = words.parse_known_args()
    does = os.environ.get("STAND_IN", "ready")
    settings = load(environ=os.environ, folder=Path.cwd())
    with writing_to(given.log_file, bytes_max=LOG_BYTES_MAX, look_seconds=0.05):
        return run(given.role, does, settings, PidFile(given.pid_file), str(given.log_file))


def run(role, does, settings, pid_file, log_file) -> int:
    print("the stand-in begins; arguments:", sys.argv[1:], flush=True)
    if does == "crash":
        print("the stand-in cannot go on: no room", flush=True)
        return 7
    pid_file.claim(f"the stand-in of a {role}", "0", {"log_file": log_file, "store": settings.store_url})
    ended, scaled = threading.Event(), threading.Event()
    if does != "stubborn":
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
    else:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, lambda *_: scaled.set())
    if does == "chatty":
        print("\n".join(f"line {number} of much" for number in range(1000)), flush=True)
        while os.fstat(1).st_size and not ended.wait(0.01):
            pass
    if does != "hang":
        pid_file.tell(told(role, settings))
    while not ended.wait(0.01):
        if scaled.is_set():
            scaled.clear()
            pid_file.tell({"processes": int(pid_file.path.with_suffix(".scale").read_text())})
    pid_file.release()
    return 0


def told(role, settings):
    if role == "worker":
        return {"processes": settings.worker_processes}
    server = HTTPServer(("127.0.0.1", settings.server_port), Healthy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return {"url": f"http://127.0.0.1:{settings.server_port}"}


if __name__ == "__main__":
    sys.exit(main())
