"""Sources of records that are files: in a folder, or in a bucket.

Both are sequences with a fingerprint, so an interrupted build continues at its last record.
"""

from __future__ import annotations

import fnmatch
import hashlib
import marshal
import pathlib
from typing import Any, Callable, List, Optional, Tuple
from urllib import parse

from determined.common.storage.files import Files, FileState, FolderFiles
from determined.common.storage.s3 import S3StorageManager
from determined.data._folder import AnyPath

# Makes a record from a file's name and contents.
Decode = Callable[[str, bytes], Any]


class FileRecords:
    """One record per file, in the order of their names. ``workers`` threads read them.

    Example::

        records = data.folder("/data/images", pattern="*.png")      # data.bucket() for objects
        print(len(records), records.fingerprint())
    """

    def __init__(self, files: Files, decode: Optional[Decode], pattern: str, workers: int) -> None:
        self._files = files
        self._decode = decode
        self.workers = workers
        self._found: List[Tuple[str, FileState]] = sorted(
            (name, state) for name, state in files.list().items() if fnmatch.fnmatch(name, pattern)
        )
        if not self._found:
            raise FileNotFoundError(f"{files} has no file whose name matches {pattern!r}")

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, number: int) -> Any:
        name, state = self._found[number]
        contents = b"".join(self._files.read(name))
        if len(contents) != state.size:
            raise OSError(
                f"{name} in {self._files} has {len(contents)} bytes, and had {state.size} when the "
                "build began: it changed meanwhile"
            )
        return (name, contents) if self._decode is None else self._decode(name, contents)

    def fingerprint(self) -> Optional[str]:
        """Return a digest of all files and of ``decode``; None if ``decode`` has no digest."""
        code = getattr(self._decode, "__code__", None)
        if self._decode is not None and code is None:
            return None
        seen = hashlib.sha256(b"" if code is None else marshal.dumps(code))
        for name, state in self._found:
            seen.update(f"{name}\0{state.size}\0{state.version}\0".encode("utf-8", "replace"))
        return seen.hexdigest()


def folder(
    path: AnyPath, decode: Optional[Decode] = None, pattern: str = "*", workers: int = 8
) -> FileRecords:
    """Return the files below a folder as a source of records.

    Args:
        path: the folder, for example one that all nodes mount.
        decode: makes a record of a file's name and contents. By default a record has both.
        pattern: for the names of the files, relative to the folder; a star also matches slashes.
        workers: how many threads read and decode.

    Example::

        dataset = store.open("scans", "3", data.folder("/mnt/scans", decode, pattern="*.png"))
    """
    root = pathlib.Path(path)
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder")
    return FileRecords(FolderFiles(root), decode, pattern, workers)


def bucket(
    address: str,
    decode: Optional[Decode] = None,
    pattern: str = "*",
    workers: int = 8,
    endpoint_url: Optional[str] = None,
    access_key: Optional[str] = None,
    secret_key: Optional[str] = None,
) -> FileRecords:
    """Return the objects below an address in S3 as a source of records. It needs ``boto3``.

    Keys that are not given are searched in the same places as by AWS's own tools. The user's keys
    have precedence over the keys of a task for its checkpoints.

    Args:
        address: like ``s3://bucket/folder``.
        decode: makes a record of an object's name and contents. Without it a record is both.
        pattern: of the names of the objects, relative to the address; a star matches slashes too.
        workers: the number of threads that read and decode.
        endpoint_url: of a store that is not Amazon's.
        access_key: together with ``secret_key``, the keys.
        secret_key: see ``access_key``.

    Example::

        dataset = store.open("scans", "3", data.bucket("s3://hospital/scans", decode))
    """
    parsed = parse.urlsplit(address)
    folder_name = parsed.path.strip("/")
    if parsed.scheme != "s3" or not parsed.netloc or not folder_name or parsed.query:
        raise ValueError(f"the address of data in S3 is like s3://bucket/folder, not {address!r}")
    if (access_key is None) != (secret_key is None):
        raise ValueError("give access_key and secret_key together, or neither")
    manager = S3StorageManager(parsed.netloc, access_key, secret_key, endpoint_url, task_keys=False)
    return FileRecords(manager.files(folder_name), decode, pattern, workers)
