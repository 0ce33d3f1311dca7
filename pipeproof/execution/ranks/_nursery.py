"""The process that workers are forked from: it has imported torch, and does nothing else.

`python -m pipeproof.execution.ranks._nursery FD` reads commands from a socket: `start PATH` with
the connections of new workers, a store of torch at PATH; `end` kills them; `import NAME` imports a
module before more are forked. When the socket closes, which the end of its parent does, everything
ends.
"""

import array
import importlib
import os
import shutil
import signal
import socket
import sys
from pathlib import Path

from pipeproof.execution.ranks._worker import prepare, work

__all__ = ["main"]

_MOST = 64  # ranks of a set


class _Nursery:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.workers: list[int] = []
        self.store: Path | None = None
        self.alive, self.hold = os.pipe()

    def start(self, store: str, handles: list[int]) -> None:
        """Fork a worker for each connection."""
        self.store = Path(store)
        for rank in range(len(handles)):
            worker = os.fork()
            if worker == 0:
                self._become(rank, handles)
            self.workers.append(worker)
        for handle in handles:
            os.close(handle)

    def _become(self, rank: int, handles: list[int]) -> None:
        try:
            os.close(self.hold)
            self.control.close()
            for other, handle in enumerate(handles):
                if other != rank:
                    os.close(handle)
            work(handles[rank], rank, len(handles), str(self.store), self.alive)
        finally:
            os._exit(1)

    def end(self) -> None:
        """Kill the workers."""
        for worker in self.workers:
            os.kill(worker, signal.SIGKILL)
        for worker in self.workers:
            os.waitpid(worker, 0)
        self.workers = []
        if self.store is not None:
            shutil.rmtree(self.store.parent, ignore_errors=True)
            self.store = None

    def serve(self) -> None:
        """Do what is asked, until the socket closes."""
        size = socket.CMSG_SPACE(_MOST * array.array("i").itemsize)
        while True:
            told, handles, _, _ = socket.recv_fds(self.control, size, _MOST)
            if not told:
                return
            for line in told.decode().splitlines():
                command, _, path = line.partition(" ")
                if command == "start":
                    self.start(path, list(handles))
                elif command == "import":
                    importlib.import_module(path)
                else:
                    self.end()
                    self.control.sendall(b".")


def main(arguments: list[str]) -> None:
    """Serve the socket whose descriptor is named."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nursery = _Nursery(socket.socket(fileno=int(arguments[0])))
    prepare()
    try:
        nursery.serve()
    finally:
        nursery.end()


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # what torch does at the end takes seconds
