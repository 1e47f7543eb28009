"""Stores checkpoints, restores them, and reports them to the master.

A checkpoint is reported after all earlier metrics and after its files are in
storage, so a trial that resumes from it has both.
"""

from __future__ import annotations

import contextlib
import datetime
import enum
import hashlib
import logging
import os
import pathlib
import stat
import uuid
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)

from determined import tensorboard, util
from determined.common import api, storage
from determined.core import _download
from determined.core._backlog import Report
from determined.core._distributed import DistributedContext
from determined.core._merge import Conflicts, conflict_error, merge_metadata, merge_resources
from determined.core._reporter import Reporter
from determined.core._tensorboard_mode import TensorboardMode

logger = logging.getLogger("determined.core")

METADATA_FILE = "metadata.json"

_Selector = Optional[Callable[[str], bool]]
_Path = Union[str, "os.PathLike[str]"]


class _Shared(NamedTuple):
    """A file whose name several workers have: its size, and its identity on its machine.

    A directory has the size -1.
    """

    size: int
    machine: int
    device: int
    inode: int


class DownloadMode(enum.Enum):
    """Who downloads: one worker of each machine for all its workers, or each worker by itself.

    Example: ``checkpoint.restore_path(uuid, DownloadMode.NoSharedDownload)``
    """

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


class CheckpointContext:
    """Checkpoints of a task.

    With ``shard=False`` the chief alone stores a checkpoint. With ``shard=True`` all workers
    make the same call, and the checkpoint is the union of their files and of their metadata; two
    different files of one name, or two values of one key, are an error on every worker.

    Example::

        checkpoint = core_context.checkpoint
        with checkpoint.store_path({"steps_completed": 10}) as (path, storage_id):
            torch.save(model.state_dict(), path / "model.pt")
        with checkpoint.restore_path(storage_id) as path:
            model.load_state_dict(torch.load(path / "model.pt"))

        storage_id = checkpoint.upload("folder", {"steps_completed": 10})
        checkpoint.download(storage_id, "folder", selector=lambda name: name.endswith(".pt"))
        print(checkpoint.get_metadata(storage_id)["steps_completed"])
        checkpoint.delete(storage_id)

    All workers store their parts of one checkpoint together::

        with checkpoint.store_path({"steps_completed": 10}, shard=True) as (path, storage_id):
            torch.save(part, path / f"part{core_context.distributed.rank}.pt")
    """

    def __init__(
        self,
        dist: DistributedContext,
        storage_manager: storage.StorageManager,
        session: api.BaseSession,
        task_id: str,
        allocation_id: Optional[str],
        tbd_sync_mode: TensorboardMode,
        tensorboard_manager: Optional[tensorboard.TensorboardManager],
        storage_backend_id: Optional[int],
        reporter: Optional[Reporter] = None,
        sources: Optional[Mapping[str, storage.StorageManager]] = None,
    ) -> None:
        if tbd_sync_mode != TensorboardMode.MANUAL and tensorboard_manager is None:
            raise ValueError("TensorboardMode.AUTO needs a TensorBoard manager")
        self._dist = dist
        self._storage_manager = storage_manager
        self._session = session
        self._task_id = task_id
        self._allocation_id = allocation_id
        self._tensorboard_mode = tbd_sync_mode
        self._tensorboard_manager = tensorboard_manager
        self._storage_backend_id = storage_backend_id
        self._reporter = reporter
        self._sources = sources or {}

    # The locations of checkpoints outside of the task's own storage, by id.
    _sources: Mapping[str, storage.StorageManager] = {}

    def _storage_of(self, storage_id: str) -> storage.StorageManager:
        return self._sources.get(storage_id, self._storage_manager)

    def upload(
        self,
        ckpt_dir: Optional[_Path],
        metadata: Optional[Dict[str, Any]] = None,
        *,
        shard: bool = False,
        selector: _Selector = None,
    ) -> str:
        """Copy the contents of ``ckpt_dir`` into storage as a new checkpoint; return its id.

        ``metadata`` must have ``steps_completed``. ``selector`` gets each path, relative to
        ``ckpt_dir``, and returns whether to upload it. With ``shard=True`` a worker without files
        may pass None.
        """
        directory = None if ckpt_dir is None else os.fspath(ckpt_dir)
        if shard:
            return self._upload_sharded(directory, metadata or {}, selector)
        self._refuse_workers("upload")
        if directory is None:
            raise RuntimeError("upload(ckpt_dir=None) is allowed with shard=True only")
        self._check_metadata(metadata or {})
        storage_id = str(uuid.uuid4())
        self._write_metadata_file(directory, metadata or {})
        resources = _selected(storage.list_directory(directory), selector)
        self._storage_manager.upload(
            src=directory, dst=storage_id, paths=None if selector is None else set(resources)
        )
        self._report_checkpoint(storage_id, resources, metadata)
        return storage_id

    def _upload_sharded(
        self, directory: Optional[str], metadata: Dict[str, Any], selector: _Selector
    ) -> str:
        if selector is not None and directory is None:
            raise RuntimeError("a selector without a ckpt_dir has nothing to select from")
        storage_id = self._new_shared_id()
        # Workers of one machine often name the same folder. The lowest rank uploads it for all of
        # them, unless selectors divide the folder between the workers.
        identity = None if directory is None else self._identity(directory)
        identities = self._dist.allgather(identity)
        if all(other is None for other in identities):
            raise RuntimeError("upload(ckpt_dir=None, shard=True) by every worker uploads nothing")
        uploads = selector is not None or (
            identity is not None and identities.index(identity) == self._dist.rank
        )
        resources: Dict[str, int] = {}
        if uploads and directory is not None:
            resources = _selected(storage.list_directory(directory), selector)
        merged, mine = self._divide(resources, directory)
        merged_metadata = self._merge_metadata(metadata)
        first = self._dist.allgather(uploads).index(True)
        if self._dist.rank == first:
            assert directory is not None
            mine[METADATA_FILE] = self._write_metadata_file(directory, merged_metadata)
        else:
            mine.pop(METADATA_FILE, None)
        if uploads and directory is not None:
            self._storage_manager.upload(src=directory, dst=storage_id, paths=set(mine))
        # The chief reports the checkpoint only after all workers have finished.
        sizes = self._dist.allgather(mine.get(METADATA_FILE))
        merged[METADATA_FILE] = sizes[first]
        if self._dist.rank == 0:
            self._report_checkpoint(storage_id, merged, merged_metadata)
        return storage_id

    @contextlib.contextmanager
    def store_path(
        self, metadata: Optional[Dict[str, Any]] = None, *, shard: bool = False
    ) -> Iterator[Tuple[pathlib.Path, str]]:
        """Provide a folder to save to, and its storage id; store it when the block ends.

        ``metadata`` must have ``steps_completed``. If the block raises, nothing is stored.
        """
        if shard:
            with self._store_path_sharded(metadata or {}) as stored:
                yield stored
            return
        self._refuse_workers("store_path")
        self._check_metadata(metadata or {})
        storage_id = str(uuid.uuid4())
        resources: Dict[str, int] = {}
        with self._storage_manager.store_path(storage_id) as path:
            yield path, storage_id
            self._write_metadata_file(path, metadata or {})
            resources = storage.list_directory(path)
        self._report_checkpoint(storage_id, resources, metadata)

    @contextlib.contextmanager
    def _store_path_sharded(self, metadata: Dict[str, Any]) -> Iterator[Tuple[pathlib.Path, str]]:
        storage_id = self._new_shared_id()
        path = self._storage_manager.pre_store_path(storage_id)
        try:
            yield path, storage_id
            merged, merged_metadata = self._store_shards(path, storage_id, metadata)
        except BaseException:
            # The chief reports nothing without a message of this worker.
            self._storage_manager.abandon_store_path(path, storage_id)
            raise
        try:
            # The chief reports the checkpoint only after all workers have finished.
            self._dist.allgather(None)
        except BaseException:
            if self._dist.rank == 0:
                self._storage_manager.abandon_store_path(path, storage_id)
            raise
        if self._dist.rank == 0:
            self._report_checkpoint(storage_id, merged, merged_metadata)

    def _store_shards(
        self, path: pathlib.Path, storage_id: str, metadata: Dict[str, Any]
    ) -> Tuple[Dict[str, int], Dict[str, Any]]:
        """Store what the workers wrote; return the files and the metadata of all of them."""
        direct = self._storage_manager.store_path_is_direct_access()
        identity = self._identity(path)
        identities = self._dist.allgather(identity)
        # If ``store_path`` provided the storage itself, all workers wrote to one folder.
        uploads = not direct and identities.index(identity) == self._dist.rank
        merged, mine = self._divide(storage.list_directory(path) if uploads else {}, path)
        merged_metadata = self._merge_metadata(metadata)
        if self._dist.rank == 0:
            merged[METADATA_FILE] = self._write_metadata_file(path, merged_metadata)
            mine[METADATA_FILE] = merged[METADATA_FILE]
        else:
            mine.pop(METADATA_FILE, None)
        if direct and self._dist.rank == 0:
            merged = storage.list_directory(path)
        if uploads:
            self._storage_manager.post_store_path(src=path, dst=storage_id, paths=set(mine))
        return merged, merged_metadata

    def _new_shared_id(self) -> str:
        storage_id: str = self._dist.broadcast(str(uuid.uuid4()) if self._dist.rank == 0 else None)
        return storage_id

    def _divide(
        self, resources: Dict[str, int], directory: Optional[_Path]
    ) -> Tuple[Dict[str, int], Dict[str, int]]:
        """Return the files of all workers, and the files that this worker uploads.

        If several workers have the same file with the same contents, the lowest rank uploads it.
        """
        # Metadata is merged separately; a copy of it in a worker's folder is no conflict.
        offered = {name: size for name, size in resources.items() if name != METADATA_FILE}
        merged, shared = merge_resources(self._dist.allgather(offered))
        different = self._compare(shared, directory)
        if different:
            raise conflict_error(different, "files", self._dist.rank)
        mine = {
            name: size
            for name, size in offered.items()
            if name not in shared or min(shared[name]) == self._dist.rank
        }
        return merged, mine

    def _compare(self, shared: Conflicts, directory: Optional[_Path]) -> Conflicts:
        """Return the shared names whose contents differ between workers.

        Only different files of the same size must be read, each by one worker.
        """
        mine: Dict[str, _Shared] = {}
        for name in sorted(shared):
            if self._dist.rank in shared[name] and directory is not None:
                state = os.stat(os.path.join(directory, name))
                size = -1 if stat.S_ISDIR(state.st_mode) else state.st_size
                mine[name] = _Shared(size, self._dist.cross_rank, state.st_dev, state.st_ino)
        everywhere = self._dist.allgather(mine)
        digests: Dict[_Shared, str] = {}
        for name in sorted(mine):
            copies = [everywhere[rank][name] for rank in shared[name]]
            if len({copy.size for copy in copies}) > 1 or len(set(copies)) == 1:
                continue
            if mine[name].size >= 0 and self._reads(name, shared[name], everywhere):
                assert directory is not None
                digests[mine[name]] = _digest(os.path.join(directory, name))
        known: Dict[_Shared, str] = {}
        for part in self._dist.allgather(digests):
            known.update(part)
        return {
            name: ranks
            for name, ranks in shared.items()
            if len({_contents(everywhere[rank][name], known) for rank in ranks}) > 1
            and len({everywhere[rank][name] for rank in ranks}) > 1
        }

    def _reads(self, name: str, ranks: List[int], everywhere: List[Dict[str, _Shared]]) -> bool:
        """Return whether this worker has the lowest rank of the workers with the same file."""
        mine = everywhere[self._dist.rank][name]
        return next(rank for rank in ranks if everywhere[rank][name] == mine) == self._dist.rank

    def _merge_metadata(self, metadata: Dict[str, Any]) -> Dict[str, Any]:
        merged, conflicts = merge_metadata(self._dist.allgather(metadata))
        if conflicts:
            raise conflict_error(conflicts, "metadata", self._dist.rank)
        self._check_metadata(merged)
        return merged

    def download(
        self,
        storage_id: str,
        ckpt_dir: _Path,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: _Selector = None,
    ) -> None:
        """Copy a checkpoint, or the paths that ``selector`` selects, into ``ckpt_dir``."""
        manager = self._storage_of(storage_id)
        if DownloadMode(download_mode) == DownloadMode.NoSharedDownload:
            manager.download(src=storage_id, dst=ckpt_dir, selector=selector)
            return

        @contextlib.contextmanager
        def fetch(wanted: _Selector) -> Iterator[None]:
            manager.download(src=storage_id, dst=ckpt_dir, selector=wanted)
            yield

        with _download.shared(self._dist, selector, fetch):
            pass

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: _Selector = None,
    ) -> Iterator[pathlib.Path]:
        """Provide a folder with a checkpoint for as long as the block lasts."""
        manager = self._storage_of(storage_id)
        if DownloadMode(download_mode) == DownloadMode.NoSharedDownload:
            with manager.restore_path(storage_id, selector=selector) as path:
                yield path
            return
        with _download.shared(
            self._dist, selector, lambda wanted: manager.restore_path(storage_id, selector=wanted)
        ) as path:
            yield path

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """Return the metadata of a checkpoint from the master."""
        answer = self._session.get(f"/api/v1/checkpoints/{storage_id}").json()
        return (answer.get("checkpoint") or {}).get("metadata") or {}

    def delete(self, storage_id: str) -> None:
        """Delete a checkpoint from storage, and tell the master."""
        remaining = self._storage_manager.delete(storage_id, ["**/*"])
        self._report_checkpoint_deleted(storage_id, remaining)

    def _report_checkpoint_deleted(
        self, storage_id: str, resources: Optional[Dict[str, int]] = None
    ) -> None:
        remaining = {name: str(size) for name, size in (resources or {}).items()}
        change = {"uuid": storage_id, "resources": {"resources": remaining}}
        self._session.patch("/api/v1/checkpoints", json={"checkpoints": [change]})

    def _report_checkpoint(
        self,
        storage_id: str,
        resources: Optional[Dict[str, int]] = None,
        metadata: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Tell the master that a checkpoint is complete."""
        self._check_metadata(metadata or {})
        now = datetime.datetime.now(datetime.timezone.utc)
        body = {
            "uuid": storage_id,
            "taskId": self._task_id,
            "allocationId": self._allocation_id,
            "state": "STATE_COMPLETED",
            "reportTime": now.isoformat(),
            "metadata": metadata,
            # A size may be too large for a JSON number.
            "resources": {name: str(size) for name, size in (resources or {}).items()},
            "training": {},
            "storageId": self._storage_backend_id,
        }
        report = Report("/api/v1/checkpoints", util.json_encode(body), f"checkpoint {storage_id}")
        if self._reporter is None:
            self._session.post(report.path, data=report.body)
            logger.info("checkpoint %s is stored and reported", storage_id)
        elif self._reporter.submit_and_wait(report):
            logger.info("checkpoint %s is stored and reported", storage_id)
        else:
            logger.warning(
                "checkpoint %s is stored; its report waits until a master answers", storage_id
            )
        if self._tensorboard_mode == TensorboardMode.AUTO and self._tensorboard_manager:
            self._tensorboard_manager.sync()

    def _identity(self, directory: _Path) -> Tuple[int, int, int]:
        """Return the identity of a folder, unique within the job.

        Device and inode identify a folder on one machine only. If two machines share a folder, its
        files are compared one by one, and one machine uploads each file.
        """
        state = os.stat(directory)
        return self._dist.cross_rank, state.st_dev, state.st_ino

    def _refuse_workers(self, call: str) -> None:
        if self._dist.rank != 0:
            raise RuntimeError(
                f"{call}(shard=False) was called by the worker of rank {self._dist.rank}, but "
                "only rank 0 may; with shard=True all workers take part"
            )

    def _check_metadata(self, metadata: Dict[str, Any]) -> None:
        if "steps_completed" not in metadata:
            raise ValueError(
                "the metadata of a checkpoint must hold 'steps_completed', the number of steps "
                f"that the model was trained for; it holds {sorted(metadata) or 'nothing'}"
            )

    def _write_metadata_file(self, directory: _Path, metadata: Dict[str, Any]) -> int:
        """Write the metadata beside the checkpoint's files; return the file's size."""
        path = pathlib.Path(directory) / METADATA_FILE
        path.write_text(util.json_encode(metadata, indent="  "), encoding="utf-8")
        return path.stat().st_size


class DummyCheckpointContext(CheckpointContext):
    """Checkpoints without a master: they are stored, and logged.

    Example: ``core.init(checkpoint_storage="/tmp/checkpoints").checkpoint``
    """

    def __init__(self, dist: DistributedContext, storage_manager: storage.StorageManager) -> None:
        self._dist = dist
        self._storage_manager = storage_manager

    def _check_metadata(self, metadata: Dict[str, Any]) -> None:
        if "steps_completed" not in metadata:
            logger.warning(
                "a master would reject this checkpoint: its metadata has no 'steps_completed'"
            )

    def _report_checkpoint(
        self,
        storage_id: str,
        resources: Optional[Dict[str, int]] = None,
        metadata: Optional[Dict[str, Any]] = None,
    ) -> None:
        logger.info("saved checkpoint %s", storage_id)

    def _report_checkpoint_deleted(
        self, storage_id: str, resources: Optional[Dict[str, int]] = None
    ) -> None:
        logger.info("deleted checkpoint %s", storage_id)

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """Return the metadata stored with a checkpoint."""
        return _download.read_metadata(self._storage_manager, storage_id, METADATA_FILE)


def _selected(resources: Dict[str, int], selector: _Selector) -> Dict[str, int]:
    """Return the files that the selector selects, and always the metadata file."""
    if selector is None:
        return resources
    return {
        name: size for name, size in resources.items() if name == METADATA_FILE or selector(name)
    }


def _contents(copy: _Shared, digests: Mapping[_Shared, str]) -> Tuple[int, str]:
    """Return a key for a file's contents: the size alone where sizes differ, else with a digest."""
    return copy.size, digests.get(copy, "")


def _digest(path: str) -> str:
    """Return a checksum of a file's contents."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()
