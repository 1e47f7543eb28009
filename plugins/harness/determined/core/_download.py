"""One worker of a machine reads a checkpoint for all workers of the machine.

The local chief reads from storage. If any worker has a selector, the chief asks the other workers
about each path. At the end it tells them the folder of the checkpoint, or the error: if a
checkpoint is missing, every worker gets the error and none waits for ever.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any, Callable, ContextManager, Dict, Iterator, Optional, TypeVar

from determined.common import storage
from determined.core._distributed import DistributedContext

T = TypeVar("T")

_Selector = Optional[Callable[[str], bool]]


@contextlib.contextmanager
def shared(
    dist: DistributedContext,
    selector: _Selector,
    fetch: Callable[[_Selector], ContextManager[T]],
) -> Iterator[T]:
    """Let the local chief fetch, and return its result at all workers of the machine.

    The chief leaves the block last, so the result exists as long as a worker needs it.
    """
    filtered = any(dist.allgather(selector is not None))
    if dist.local_rank != 0:
        with _follow(dist, selector) as got:
            yield got
        return

    def anybody_wants(path: str) -> bool:
        dist.broadcast_local(("want", path))
        answers = dist.gather_local(selector is None or bool(selector(path)))
        return any(answers or [])

    with contextlib.ExitStack() as stack:
        try:
            got = stack.enter_context(fetch(anybody_wants if filtered else None))
        except BaseException as err:
            dist.broadcast_local(("failed", f"{type(err).__name__}: {err}"))
            raise
        dist.broadcast_local(("ready", got))
        try:
            yield got
        finally:
            dist.gather_local(None)


@contextlib.contextmanager
def _follow(dist: DistributedContext, selector: _Selector) -> Iterator[Any]:
    """Answer the local chief's questions about paths until it has fetched the checkpoint."""
    while True:
        word, value = dist.broadcast_local(None)
        if word == "want":
            dist.gather_local(selector is None or bool(selector(value)))
            continue
        if word == "failed":
            raise RuntimeError(
                f"the worker that downloads the checkpoint for this node failed: {value}"
            )
        break
    try:
        yield value
    finally:
        dist.gather_local(None)


def read_metadata(
    manager: storage.StorageManager, storage_id: str, file_name: str
) -> Dict[str, Any]:
    """Read the metadata file of a stored checkpoint."""
    with tempfile.TemporaryDirectory(prefix="metadata-") as directory:
        manager.download(storage_id, directory, selector=lambda path: path == file_name)
        with open(os.path.join(directory, file_name), encoding="utf-8") as file:
            found: Dict[str, Any] = json.load(file)
    return found
