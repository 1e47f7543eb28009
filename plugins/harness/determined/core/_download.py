"""One worker of a machine reads a checkpoint for all of it.

The local chief asks storage. For each path it asks the others of the machine whether they want
it, if any of them has a selector, and tells them at the end where the checkpoint is, or what
went wrong: a missing checkpoint is an error on every worker, not a hang on all but one.
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
    """Let the local chief fetch, and give all workers of the machine what it got.

    The chief leaves the block last, so that what it got lasts as long as anybody needs it.
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
    """Answer the local chief's questions until it has fetched."""
    while True:
        word, value = dist.broadcast_local(None)
        if word == "want":
            dist.gather_local(selector is None or bool(selector(value)))
            continue
        if word == "failed":
            raise RuntimeError(f"the worker that fetches for this machine failed: {value}")
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
