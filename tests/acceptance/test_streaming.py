"""A large body goes through `noetl run` from a server into a file of results, and back out, in bounded memory.

Here 64 MiB; `make stream` does it with 1 GiB.
"""

import hashlib
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

MEBIBYTE = 1024 * 1024
BODY_MIB = int(os.environ.get("NOETL_STREAM_MIB", "64"))
GROWTH_BYTES_MAX = 100 * MEBIBYTE if BODY_MIB > 64 else 32 * MEBIBYTE
PIECE = bytes(range(256)) * (MEBIBYTE // 256)

STREAM = """
workload: {url: ""}
workflow:
  - step: download
    tool:
      kind: http
      input: {url: "{{ workload.url }}"}
      spec: {stream: true}
    set: {ctx.body_ref: "{{ output.ref }}"}
    next: {arcs: [{step: upload}]}
  - step: upload
    tool:
      kind: http
      input:
        url: "{{ workload.url }}"
        method: POST
        files:
          copy: {ref: "{{ ctx.body_ref }}", filename: copy.bin}
"""


class Handler(socketserver.StreamRequestHandler):
    """GET gives so many MiB as the path says; POST counts what it is sent."""

    def handle(self) -> None:
        method, path, _ = self.rfile.readline().decode().split()
        headers = {}
        while (line := self.rfile.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if method == "POST":
            self.answer(b"%d" % self.counted(int(headers["content-length"])))
            return
        count = int(path.removeprefix("/"))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (count * MEBIBYTE))
        for _ in range(count):
            self.wfile.write(PIECE)

    def counted(self, announced_bytes: int) -> int:
        left = announced_bytes
        while left and (piece := self.rfile.read(min(left, MEBIBYTE))):
            left -= len(piece)
        return announced_bytes - left

    def answer(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.wfile.write(head % len(body) + body)


@contextmanager
def large_files() -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def run_and_measure(noetl, url: str) -> tuple[str, int]:
    """What `noetl run` printed, and the most memory that its process had."""
    words = ["run", noetl.write(STREAM), "--format", "json", "--set", f"url={url}"]
    command = [sys.executable, "-m", "noetl", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=noetl.folder, env=noetl.variables, text=True) as process:
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    return said, usage.ru_maxrss * 1024


@pytest.mark.slow
@pytest.mark.spec("TL-01", "RS-01")
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is counted in KiB there")
def test_a_large_body_streams_into_a_file_result_and_out_again_in_bounded_memory(noetl):
    with large_files() as url:
        _, small_bytes = run_and_measure(noetl, f"{url}/1")
        _, large_bytes = run_and_measure(noetl, f"{url}/{BODY_MIB}")

    sha = hashlib.sha256()
    for _ in range(BODY_MIB):
        sha.update(PIECE)
    digest = sha.hexdigest()
    stored = noetl.results / digest[:2] / digest[2:]
    assert stored.stat().st_size == BODY_MIB * MEBIBYTE
    assert large_bytes - small_bytes < GROWTH_BYTES_MAX, f"{(large_bytes - small_bytes) / MEBIBYTE:.0f} MiB more"
    assert noetl("show", "last", "--format", "json").document["output"]["data"] > BODY_MIB * MEBIBYTE
