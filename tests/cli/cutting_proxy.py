"""A way to a server that breaks: each connection is passed on for so many bytes of answer, then it is cut."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHUNK_BYTES = 512


class CuttingProxy:
    """Listens, passes bytes both ways, and cuts after `answer_bytes` of them came back."""

    def __init__(self, target_port: int, answer_bytes: int) -> None:
        self.target_port = target_port
        self.answer_bytes = answer_bytes
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.target_port)) as server:
            asking = threading.Thread(target=self._copy, args=(client, server), daemon=True)
            asking.start()
            left = self.answer_bytes
            with suppress(OSError):
                while data := server.recv(CHUNK_BYTES):
                    client.sendall(data[:left])
                    left -= len(data)
                    if left <= 0:
                        self.cuts += 1
                        break
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            asking.join()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK_BYTES):
                target.sendall(data)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@contextmanager
def cutting(target_port: int, answer_bytes: int) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(target_port, answer_bytes)
    try:
        yield proxy
    finally:
        proxy.close()
