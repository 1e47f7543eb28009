"""Work of the chief alone, while the other workers wait without a limit."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, Optional, Tuple

from determined import core


def on_chief(
    dist: core.DistributedContext, work: Callable[[], Dict[str, Any]], busy_seconds: float
) -> Dict[str, Any]:
    """Do work on the chief alone, and return its result at every worker.

    A worker that gets no message from the chief stops waiting after some time, so the chief
    regularly tells the other workers that it is busy. Every worker raises an error of the work.
    """
    if dist.size < 2:
        return work()
    if dist.rank == 0:
        return _work_and_tell(dist, work, busy_seconds)
    while True:
        over, result, error = dist.broadcast(None)
        if error is not None:
            raise RuntimeError(f"the chief failed: {error}")
        if over:
            found: Dict[str, Any] = result
            return found


def _work_and_tell(
    dist: core.DistributedContext, work: Callable[[], Dict[str, Any]], busy_seconds: float
) -> Dict[str, Any]:
    over = threading.Event()

    def tell() -> None:
        while not over.wait(busy_seconds):
            dist.broadcast((False, None, None))

    teller = threading.Thread(target=tell, name="determined-busy", daemon=True)
    teller.start()
    outcome: Tuple[bool, Any, Optional[str]] = (True, None, "it was interrupted")
    try:
        result = work()
        outcome = (True, result, None)
    except Exception as err:
        outcome = (True, None, f"{type(err).__name__}: {err}")
        raise
    finally:
        over.set()
        teller.join()
        dist.broadcast(outcome)
    return result
