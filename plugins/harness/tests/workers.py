"""Functions that processes of a distributed job run in tests; a module, so they can import it."""

from __future__ import annotations

import os
import signal
from typing import Any, Dict, List

from determined import core


def collectives(env: Dict[str, str], results: Any) -> None:
    """Join with torchrun's variables, and call every collective."""
    os.environ.update(env)
    dist = core.DistributedContext.from_torch_distributed()
    big = bytes(3_000_000) + bytes([dist.rank])
    out: List[Any] = [
        dist.gather(dist.rank),
        dist.allgather({"rank": dist.rank}),
        dist.broadcast("from the chief" if dist.rank == 0 else "from a worker"),
        dist.gather_local(dist.rank),
        dist.allgather_local(dist.rank),
        dist.broadcast_local(f"from local chief {dist.rank}"),
        [part[-1] for part in dist.allgather(big)],
        len(dist.broadcast(big)),
        [dist.allgather((dist.rank, turn)) for turn in range(50)][-1],
    ]
    dist.close()
    results.put((dist.rank, out))


def die_before_the_second(env: Dict[str, str], results: Any) -> None:
    """Rank 1 is killed between two collectives; the others return what they got."""
    os.environ.update(env)
    dist = core.DistributedContext.from_torch_distributed()
    dist.allgather(None)
    if dist.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.allgather(None)
    except Exception as err:
        results.put((dist.rank, f"{type(err).__name__}: {err}"))
    else:
        results.put((dist.rank, "nothing"))
