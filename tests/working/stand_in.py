"""A program that speaks to a supervisor as a worker process does, and does what its first argument says.

    python stand_in.py steady|short|refused|deaf FOLDER

Each start leaves a file named by its process in the folder, with the number of its slots in it. It imports nothing of
the package, so that it is there at once.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path


def main(manner: str, folder: Path) -> int:
    orders = json.loads(sys.stdin.buffer.readline())
    (folder / str(os.getpid())).write_text(str(orders["settings"]["process_slots"]), encoding="ascii")
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set() if manner != "deaf" else None)
    refusal = {"refused": "that token is none of ours", "exit_code": 2}
    print(json.dumps(refusal if manner == "refused" else {"is_ready": True}), flush=True)
    if manner == "refused":
        return 2
    if manner == "short":
        return 1
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    stopping.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
