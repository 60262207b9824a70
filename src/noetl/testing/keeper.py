"""Runs one server and takes it down when whoever asked for it is gone, however it went.

`python -m noetl.testing.keeper SIGNAL FOLDER USER COMMAND…` with a pipe as standard input. The server runs until that
pipe closes; then it gets SIGNAL, a bounded time to stop, and FOLDER is removed. A test run that is killed, or a worker
of xdist that is dropped, closes its end of the pipe by dying, so no server outlives it. USER is a number, or `-` for
the same user.
"""

import shutil
import signal
import subprocess
import sys
import threading

STOP_SECONDS_MAX = 20.0


def keep(stop_signal: int, folder: str, user: int | None, command: list[str]) -> int:
    """Run the command until standard input closes; return its exit code."""
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, cwd=folder, user=user, group=user, extra_groups=None if user is None else []
    )
    threading.Thread(target=_stop_at_end_of_input, args=(server, stop_signal), daemon=True).start()
    code = server.wait()
    shutil.rmtree(folder, ignore_errors=True)
    return code


def _stop_at_end_of_input(server: "subprocess.Popen[bytes]", stop_signal: int) -> None:
    sys.stdin.buffer.read()
    server.send_signal(stop_signal)
    try:
        server.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    signal_name, working_folder, user_text, *words = sys.argv[1:]
    user_id = None if user_text == "-" else int(user_text)
    sys.exit(keep(signal.Signals[signal_name], working_folder, user_id, words))
