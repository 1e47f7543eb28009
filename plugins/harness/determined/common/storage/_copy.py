"""Copies checkpoints from a folder that others may write."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from typing import BinaryIO, Optional

from determined.common.storage.base import Selector


def copy_checkpoint(src: str, dst: str, wanted: Optional[Selector] = None) -> None:
    """Copy the selected files of a checkpoint into dst, which exists.

    Others may have written the checkpoint, and may change it meanwhile. So a link is followed only
    to a file of the same checkpoint: what else it leads to is that of whoever copies.
    """
    root = os.open(src, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for current, directories, files, here in os.fwalk(".", dir_fd=root):
            relative = "" if current == "." else os.path.normpath(current)
            for name in sorted(directories):
                path = os.path.join(relative, name)
                if stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
                    raise ValueError(f"{path} of {src} is a link to a folder; it is not copied")
                if wanted is None or wanted(path + "/"):
                    os.makedirs(os.path.join(dst, path), exist_ok=True)
            for name in sorted(files):
                path = os.path.join(relative, name)
                if wanted is None or wanted(path):
                    with _file_inside(root, here, path) as source:
                        _copy_file(source, os.path.join(dst, path))
    finally:
        os.close(root)


# A pipe that nobody writes must not block its reader.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def _file_inside(root: int, here: int, path: str) -> BinaryIO:
    """Open a file below root, of which here is the folder."""
    name = os.path.basename(path)
    try:
        opened = os.open(name, _READ, dir_fd=here)
    except OSError as err:
        if err.errno != errno.ELOOP:
            raise
        opened = _open_link(root, path, os.readlink(name, dir_fd=here))
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise ValueError(f"{path} is neither a file nor a folder")
    return os.fdopen(opened, "rb")


def _open_link(root: int, path: str, to: str) -> int:
    """Open the file to which the link at path leads, without following other links."""
    parts = os.path.normpath(os.path.join(os.path.dirname(path), to)).split(os.sep)
    if os.path.isabs(to) or parts[0] == os.pardir:
        raise ValueError(f"{path} is a link that leads out of its checkpoint")
    at = os.dup(root)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(parts[-1], _READ, dir_fd=at)
    finally:
        os.close(at)


def _copy_file(source: BinaryIO, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as out:
        shutil.copyfileobj(source, out)
    was = os.fstat(source.fileno())
    os.chmod(target, stat.S_IMODE(was.st_mode))
    os.utime(target, ns=(was.st_atime_ns, was.st_mtime_ns))
