"""Runs the workers of one job inside a test, each on a thread of its own."""

from __future__ import annotations

import socket
import threading
from typing import Any, Callable, Dict, List, Optional, TypeVar

from determined import core
from tests.stub_master import DEADLINE

T = TypeVar("T")


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port


def run_ranks(
    work: Callable[[core.DistributedContext], T], size: int, local_size: Optional[int] = None
) -> List[T]:
    """Run work on every rank; return the results by rank, or raise the lowest rank's error."""
    local = local_size or size
    port = free_port()
    results: Dict[int, T] = {}
    errors: Dict[int, BaseException] = {}

    def run(rank: int) -> None:
        try:
            context = core.DistributedContext(
                rank=rank,
                size=size,
                local_rank=rank % local,
                local_size=local,
                cross_rank=rank // local,
                cross_size=size // local,
                chief_ip="127.0.0.1",
                pub_port=port,
            )
            try:
                results[rank] = work(context)
            finally:
                context.close()
        except BaseException as err:
            errors[rank] = err

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive(), f"a rank hangs; done {sorted(results)}, failed {errors}"
    if errors:
        raise errors[min(errors)]
    return [results[rank] for rank in range(size)]


def errors_of_ranks(
    work: Callable[[core.DistributedContext], Any], size: int
) -> List[Optional[BaseException]]:
    """Run work on every rank; return the error of each."""

    def guarded(dist: core.DistributedContext) -> Optional[BaseException]:
        try:
            work(dist)
        except Exception as err:
            return err
        return None

    return run_ranks(guarded, size)
