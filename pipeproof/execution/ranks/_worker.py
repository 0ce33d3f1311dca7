"""One rank: joins the group, and runs what its parent sends until the connection closes."""

import os
import pickle
import threading
from datetime import timedelta
from multiprocessing.connection import Connection

import torch
from torch import distributed

__all__ = ["prepare", "work"]

_PATIENCE = timedelta(hours=1)  # longer than any call: who waits is judged outside


def prepare() -> None:
    """Set the flags of every worker."""
    torch.set_num_threads(1)
    torch.set_deterministic_debug_mode("error")
    torch.manual_seed(0)


def work(handle: int, rank: int, ranks: int, store: str, alive: int) -> None:
    """Be a rank of a gloo group.

    Args:
        handle: descriptor of the connection to the caller.
        rank: which one.
        ranks: of how many.
        store: path of the file in which the ranks find each other.
        alive: descriptor that closes when the nursery ends.
    """
    threading.Thread(target=_watch, args=(alive,), daemon=True).start()
    connection: Connection[bytes, bytes] = Connection(handle)
    try:
        _join(rank, ranks, store)
    except Exception as error:
        connection.send_bytes(_raised(error))
        return
    connection.send_bytes(pickle.dumps(("returned", os.getpid())))
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        connection.send_bytes(_ran(message, connection))


def _watch(alive: int) -> None:
    os.read(alive, 1)
    os._exit(1)


def _join(rank: int, ranks: int, store: str) -> None:
    distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks, timeout=_PATIENCE
    )


def _ran(message: bytes, connection: "Connection[bytes, bytes]") -> bytes:
    lock = threading.Lock()

    def report(where: int | str) -> None:
        with lock:
            connection.send_bytes(pickle.dumps(("at", where)))

    try:
        target, payload = pickle.loads(message)  # noqa: S301  our own parent
        torch.manual_seed(0)
        return pickle.dumps(("returned", target(payload, report)))
    except Exception as error:
        return _raised(error)


def _raised(error: Exception) -> bytes:
    return pickle.dumps(("raised", type(error).__name__, str(error)))
