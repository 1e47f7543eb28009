"""Downloads the files of a checkpoint, from storage or through the master.

Files are first stored in a folder beside the target and moved there at the end,
``metadata.json`` last, because a folder with that file counts as a complete checkpoint.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import os
import pathlib
import shutil
import tarfile
import tempfile
from typing import Any, Dict, Iterator, List, Mapping

from determined import errors
from determined.common import api, constants, storage
from determined.common.storage import _copy

logger = logging.getLogger("determined.client")

METADATA_FILE = "metadata.json"

# The second was written by the oldest releases of Determined.
MARKERS = (METADATA_FILE, "MLmodel")

_PLACES: Mapping[str, str] = {"shared_fs": "host_path", "directory": "container_path"}


def is_whole(directory: pathlib.Path) -> bool:
    """Return whether a folder already has a complete checkpoint."""
    return any((directory / marker).exists() for marker in MARKERS)


def auto(session: api.BaseSession, uuid: str, config: Dict[str, Any], target: pathlib.Path) -> None:
    """Read from storage if this machine can, else through the master."""
    try:
        direct(uuid, config, target)
        return
    except Exception as err:
        # After any error on this machine: the master may be able to reach the storage.
        reason = err
    logger.info("downloading checkpoint %s through the master: %s", uuid, reason)
    try:
        through_master(session, uuid, target)
    except Exception as err:
        raise errors.MultipleDownloadsFailed(
            f"checkpoint {uuid} could not be downloaded. Directly: {reason}. "
            f"Through the master: {err}"
        ) from err


def direct(uuid: str, config: Dict[str, Any], target: pathlib.Path) -> None:
    """Copy out of checkpoint storage."""
    kind = str(config.get("type"))
    with _gathering(target) as folder:
        if kind in _PLACES:
            _copy.copy_checkpoint(_find(uuid, kind, config), str(folder))
        else:
            storage.build(config, container_path=None).download(uuid, folder)


def _find(uuid: str, kind: str, config: Dict[str, Any]) -> str:
    """Return the folder of a checkpoint on a file system that this machine mounts."""
    tried = []
    for base in _bases(kind, config):
        path = os.path.join(base, uuid)
        if os.path.isdir(path):
            return path
        tried.append(path)
    raise errors.NoDirectStorageAccess(
        f"checkpoint {uuid} is not at {' nor at '.join(tried)}; does this machine mount the "
        f"{_PLACES[kind]} of checkpoint_storage?"
    )


def _bases(kind: str, config: Dict[str, Any]) -> List[str]:
    if kind == "directory":
        return [config["container_path"]]
    host_path, storage_path = config["host_path"], config.get("storage_path")
    bases = [storage.full_storage_path(host_path, storage_path)]
    # The paths in a task: the platform's mount, or a mount of a notebook's configuration.
    for mount in (os.environ.get("DET_SHARED_FS_PATH"), constants.SHARED_FS_CONTAINER_PATH):
        if mount:
            bases.append(storage.full_storage_path(host_path, storage_path, mount))
    return bases


def through_master(session: api.BaseSession, uuid: str, target: pathlib.Path) -> None:
    """Let the master read storage, and unpack the archive that it sends."""
    headers = {"Accept": "application/gzip"}
    with _gathering(target) as folder:
        try:
            with session.open(f"/checkpoints/{uuid}", headers=headers) as response:
                _unpack(response, folder)
        except (api.errors.BadRequestException, tarfile.TarError, EOFError) as err:
            raise errors.ProxiedDownloadFailed(
                f"the master could not send checkpoint {uuid}: {err}"
            ) from err


def _unpack(response: http.client.HTTPResponse, folder: pathlib.Path) -> None:
    """Unpack files and folders; raise an error for others, and for paths outside the folder."""
    root = os.path.realpath(folder)
    with tarfile.open(fileobj=response, mode="r|gz") as archive:
        for member in archive:
            path = os.path.realpath(os.path.join(root, member.name))
            if path != root and not path.startswith(root + os.sep):
                raise tarfile.TarError(f"{member.name} leads out of the checkpoint")
            if member.isdir():
                os.makedirs(path, exist_ok=True)
                continue
            source = archive.extractfile(member)
            if source is None:
                raise tarfile.TarError(f"{member.name} is neither a file nor a folder")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with source, open(path, "wb") as out:
                shutil.copyfileobj(source, out)


@contextlib.contextmanager
def _gathering(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Provide a folder, and move its contents into target when the block ends."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield folder
        target.mkdir(exist_ok=True)
        names = sorted(os.listdir(folder), key=lambda name: (name in MARKERS, name))
        for name in names:
            place = target / name
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            os.replace(folder / name, place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
