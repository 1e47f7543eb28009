"""The folder of stored data on a node, and the check of its owner and permissions."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
from typing import Optional, Union

AnyPath = Union[str, "os.PathLike[str]"]


def store_folder(path: Optional[AnyPath] = None) -> pathlib.Path:
    """Create the folder of a store, check it, and return its path.

    The default path is ``DET_DATA_DIR``, else the folder of the allocation, else a folder in the
    user's cache.
    """
    chosen = path or os.environ.get("DET_DATA_DIR")
    if chosen:
        return _checked(pathlib.Path(chosen), shared=True)
    allocation = os.environ.get("NOMAD_ALLOC_DIR")
    if allocation and os.access(allocation, os.W_OK):
        return _checked(pathlib.Path(allocation, "data", "determined-data"), shared=False)
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return _checked(pathlib.Path(cache, "determined", "data"), shared=False)


def _checked(path: pathlib.Path, shared: bool) -> pathlib.Path:
    """Return path, or the account's own folder in it if everybody may write there."""
    path = pathlib.Path(os.path.abspath(path))
    os.makedirs(path, mode=0o700, exist_ok=True)
    state = os.stat(path)
    if not state.st_mode & stat.S_IWOTH:
        _check_owner(path, state)
        return path
    if not shared:
        raise PermissionError(
            f"every account may write to {path}, where data would be stored: remove the folder, or "
            "name another one in DET_DATA_DIR"
        )
    if not state.st_mode & stat.S_ISVTX:
        raise PermissionError(
            f"every account may write to {path}, and replace what others store there: set the "
            f"sticky bit (chmod +t {path}), or forbid others to write (chmod o-w {path})"
        )
    own = path / f"uid-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        own.mkdir(mode=0o700)
    state = os.lstat(own)
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o002:
        raise PermissionError(
            f"{own} is not a folder of this account alone: somebody else has made it, so its data "
            "cannot be trusted; remove it, or name another folder in DET_DATA_DIR"
        )
    return own


def _check_owner(path: pathlib.Path, state: os.stat_result) -> None:
    if state.st_uid not in (0, os.geteuid()):
        raise PermissionError(
            f"{path} belongs to the account {state.st_uid}, which could replace the data in it: "
            f"stored data must lie in a folder of this account ({os.geteuid()}) or of root"
        )
