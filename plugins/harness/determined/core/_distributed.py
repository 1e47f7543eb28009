"""The ranks of a job's workers, and collectives for small objects.

``DistributedContext`` is for coordination (which checkpoint to load, whether to stop, where the
data is), not for tensors: it sends pickles through the chief over TCP. ``_comm`` implements it.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib
import ipaddress
import json
import logging
import math
import os
from typing import Any, Callable, List, Optional, Tuple, TypeVar

from determined import constants
from determined.core import _comm
from determined.errors import CommunicationError

logger = logging.getLogger("determined.core")

T = TypeVar("T")

# Workers may start minutes apart: one node pulls an image that another node already has.
JOIN_TIMEOUT = 600.0

# How long a worker waits in one collective for a peer that is alive. A chief may
# validate or upload for hours; the end of a peer is detected regardless of this value.
CALL_TIMEOUT = math.inf


class DistributedContext:
    """The ranks of this worker, and collectives among all of them.

    ``rank`` and ``size`` count all workers, ``local_rank`` and ``local_size`` the workers on this
    machine, ``cross_rank`` and ``cross_size`` the machines. ``chief_ip`` is the address of rank 0;
    it is required if there is more than one machine.

    All workers must call each collective, in the same order. A worker waits for live peers without
    limit, or for ``DET_COMM_TIMEOUT_SECONDS``. At the start it waits for up to ten minutes
    (``DET_COMM_JOIN_TIMEOUT_SECONDS``). After that it raises
    ``determined.errors.CommunicationTimeout``. On one machine workers need no port, unless
    ``force_tcp`` is set.

    Example::

        torch.distributed.init_process_group("gloo")
        distributed = core.DistributedContext.from_torch_distributed()
        with core.init(distributed=distributed) as core_context:
            print("worker", distributed.rank, "of", distributed.size)
            folder = distributed.broadcast(folder if distributed.rank == 0 else None)
            losses = distributed.gather(loss)             # a list on the chief, None elsewhere
            if losses is not None:
                print(sum(losses) / len(losses))
            everybody = distributed.allgather(loss)

    The same among the workers of a node, and from other launchers::

        distributed.broadcast_local(folder)
        distributed.gather_local(loss), distributed.allgather_local(loss)
        core.DistributedContext.from_deepspeed()
        core.DistributedContext.from_horovod(hvd)
        distributed, strategy = core.DistributedContext.from_tf_config()
        distributed.get_rank(), distributed.get_local_rank(), distributed.get_size()
        distributed.get_num_agents()                  # nodes
        distributed.close()
    """

    def __init__(
        self,
        *,
        rank: int,
        size: int,
        local_rank: int,
        local_size: int,
        cross_rank: int,
        cross_size: int,
        chief_ip: Optional[str] = None,
        pub_port: int = constants.INTER_TRAIN_PROCESS_COMM_PORT_1,
        pull_port: int = constants.INTER_TRAIN_PROCESS_COMM_PORT_2,
        port_offset: int = 0,
        force_tcp: bool = False,
    ) -> None:
        ranks = (rank, size, local_rank, local_size, cross_rank, cross_size)
        given = [value is not None for value in ranks]
        if any(given) and not all(given):
            raise ValueError(
                "rank, size, local_rank, local_size, cross_rank and cross_size belong together: "
                f"give all of them or none, not {ranks}"
            )
        if not all(given):
            rank, size, local_rank, local_size, cross_rank, cross_size = 0, 1, 0, 1, 0, 1
        _check_ranks(rank, size, local_rank, local_size, cross_rank, cross_size)
        self.rank = rank
        self.size = size
        self.local_rank = local_rank
        self.local_size = local_size
        self.cross_rank = cross_rank
        self.cross_size = cross_size
        if local_size != size and not chief_ip:
            raise ValueError(
                f"this job has {size} workers, {local_size} of them on this machine, so "
                "chief_ip must be the address of rank 0 (the variable DET_CHIEF_IP sets it for the "
                "from_... constructors)"
            )
        # One connection serves both directions, so pull_port stays unused.
        self._port = pub_port + port_offset
        self._named = local_size == size and not force_tcp and _comm.names_work()
        self._chief_ip = chief_ip if local_size != size else "127.0.0.1"
        self._global: Optional[_comm.Group] = None
        self._local: Optional[_comm.Group] = None
        if size > 1:
            self._join()

    def _join(self) -> None:
        """Connect to all workers, then to the workers of this machine."""
        key = _job_key(self.local_size != self.size)
        timeout = _seconds("DET_COMM_TIMEOUT_SECONDS", CALL_TIMEOUT)
        join_timeout = _seconds("DET_COMM_JOIN_TIMEOUT_SECONDS", JOIN_TIMEOUT)
        one_machine = self.local_size == self.size
        try:
            if self.rank == 0:
                place = self._meeting(_listen_on(self._chief_ip), key)
                hub = _comm.Hub(place, self.size, key, timeout)
                self._global = hub
                hub.join(join_timeout)
            else:
                assert self._chief_ip is not None
                place = self._meeting(self._chief_ip, key)
                spoke = _comm.Spoke(place, self.rank, key, timeout)
                self._global = spoke
                spoke.join(join_timeout)
            if one_machine:
                self._local = self._global
                return
            self._join_local(key, timeout, join_timeout)
        except BaseException:
            self.close()
            raise

    def _meeting(self, host: str, key: bytes) -> _comm.Meeting:
        """Return the address at which workers connect: on one machine, a name unique to the job."""
        if not self._named:
            return _comm.Meeting(host, self._port)
        # Off the cluster two jobs may have the same key; their launchers have ports of their own.
        what = f"{self._port} {os.environ.get('MASTER_PORT', '')}"
        name = hmac.new(key, what.encode(), hashlib.sha256).hexdigest()[:32]
        return _comm.Meeting(name=f"determined-{name}")

    def _join_local(self, key: bytes, timeout: float, join_timeout: float) -> None:
        """Connect the workers of this machine to the local chief, on a port that it announces."""
        assert self._global is not None
        hub: Optional[_comm.Hub] = None
        if self.local_rank == 0 and self.local_size > 1:
            hub = _comm.Hub(_comm.Meeting("127.0.0.1"), self.local_size, key, timeout)
            self._local = hub
        announced = self._global.allgather((self.cross_rank, hub.port) if hub else None)
        if self.local_size < 2:
            return
        if hub is not None:
            hub.join(join_timeout)
            return
        ports = [item[1] for item in announced if item and item[0] == self.cross_rank]
        if len(ports) != 1:
            raise CommunicationError(
                f"machine {self.cross_rank} has {len(ports)} workers with local_rank 0 instead "
                "of one"
            )
        place = _comm.Meeting("127.0.0.1", ports[0])
        spoke = _comm.Spoke(place, self.local_rank, key, timeout)
        self._local = spoke
        spoke.join(join_timeout)

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: Optional[str] = None) -> DistributedContext:
        """Take the ranks from Horovod: pass the ``hvd`` module after ``hvd.init()``."""
        return cls(
            rank=hvd.rank(),
            size=hvd.size(),
            local_rank=hvd.local_rank(),
            local_size=hvd.local_size(),
            cross_rank=hvd.cross_rank(),
            cross_size=hvd.cross_size(),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_deepspeed(cls, chief_ip: Optional[str] = None) -> DistributedContext:
        """Take the ranks from the variables that DeepSpeed's launcher sets."""
        return cls._from_env("LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE", chief_ip)

    @classmethod
    def from_torch_distributed(cls, chief_ip: Optional[str] = None) -> DistributedContext:
        """Take the ranks from the variables that torchrun sets."""
        return cls._from_env("LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", chief_ip)

    @classmethod
    def _from_env(
        cls, local_size: str, cross_rank: str, cross_size: str, chief_ip: Optional[str]
    ) -> DistributedContext:
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", local_size, cross_rank, cross_size)
        missing = [name for name in names if name not in os.environ]
        if missing:
            raise ValueError(
                f"the environment lacks {', '.join(missing)}: is this process started by its "
                "launcher?"
            )
        values = [int(os.environ[name]) for name in names]
        return cls(
            rank=values[0],
            size=values[1],
            local_rank=values[2],
            local_size=values[3],
            cross_rank=values[4],
            cross_size=values[5],
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_tf_config(cls) -> Tuple[DistributedContext, Any]:
        """Take the ranks from TF_CONFIG; also return the matching TensorFlow strategy."""
        distribute = importlib.import_module("tensorflow").distribute
        config = json.loads(os.environ.get("TF_CONFIG", "{}"))
        task = config.get("task", {"type": "worker", "index": 0})
        if task["type"] != "worker":
            raise RuntimeError(
                f"TF_CONFIG gives this process the task {task['type']!r}; only workers "
                "are supported"
            )
        workers = config.get("cluster", {}).get("worker", [])
        if len(workers) > 1:
            context = cls(
                rank=task["index"],
                size=len(workers),
                local_rank=0,
                local_size=1,
                cross_rank=task["index"],
                cross_size=len(workers),
                chief_ip=workers[0].rsplit(":", 1)[0],
            )
            return context, distribute.MultiWorkerMirroredStrategy()
        gpus = importlib.import_module("tensorflow").config.list_physical_devices("GPU")
        strategy = distribute.MirroredStrategy() if len(gpus) > 1 else distribute.get_strategy()
        return DummyDistributedContext(), strategy

    def close(self) -> None:
        """End the connections to the other workers."""
        if self._local is not None and self._local is not self._global:
            self._local.close()
        if self._global is not None:
            self._global.close()
        self._local = self._global = None

    def get_rank(self) -> int:
        """Return this worker's number among all workers of the job."""
        return self.rank

    def get_local_rank(self) -> int:
        """Return this worker's number among the workers on this machine."""
        return self.local_rank

    def get_size(self) -> int:
        """Return the number of workers of the job."""
        return self.size

    def get_num_agents(self) -> int:
        """Return the number of machines of the job."""
        return self.cross_size

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Return every worker's ``stuff`` at the chief, by rank; other workers get None."""
        return [stuff] if self.size < 2 else self._all().gather(stuff)

    def gather_local(self, stuff: Any) -> Optional[List[Any]]:
        """Return the ``stuff`` of this machine's workers at the local chief, by local rank."""
        return [stuff] if self.local_size < 2 else self._here().gather(stuff)

    def allgather(self, stuff: Any) -> List[Any]:
        """Return every worker's ``stuff`` at every worker, by rank."""
        return [stuff] if self.size < 2 else self._all().allgather(stuff)

    def allgather_local(self, stuff: Any) -> List[Any]:
        """Return the ``stuff`` of this machine's workers at each of them, by local rank."""
        return [stuff] if self.local_size < 2 else self._here().allgather(stuff)

    def broadcast(self, stuff: Any) -> Any:
        """Return the chief's ``stuff`` at every worker."""
        return stuff if self.size < 2 else self._all().broadcast(stuff)

    def broadcast_local(self, stuff: Any = None) -> Any:
        """Return the local chief's ``stuff`` at every worker of this machine."""
        return stuff if self.local_size < 2 else self._here().broadcast(stuff)

    def _all(self) -> _comm.Group:
        if self._global is None:
            raise CommunicationError("this DistributedContext is closed")
        return self._global

    def _here(self) -> _comm.Group:
        if self._local is None:
            raise CommunicationError("this DistributedContext is closed")
        return self._local


class DummyDistributedContext(DistributedContext):
    """A job of one worker.

    Example:

        >>> from determined import core
        >>> alone = core.DummyDistributedContext()
        >>> alone.rank, alone.size, alone.allgather("a")
        (0, 1, ['a'])
    """

    def __init__(self) -> None:
        super().__init__(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)


def _listen_on(chief_ip: Optional[str]) -> str:
    """Return the address on which the chief listens: loopback if ``chief_ip`` is, else all.

    Other addresses may belong to a translation in front of this machine, not to the machine itself.
    """
    try:
        local = chief_ip is not None and ipaddress.ip_address(chief_ip).is_loopback
    except ValueError:
        local = False
    return chief_ip if local and chief_ip else ""


def _check_ranks(
    rank: int, size: int, local_rank: int, local_size: int, cross_rank: int, cross_size: int
) -> None:
    for name, value, of, count in (
        ("rank", rank, "size", size),
        ("local_rank", local_rank, "local_size", local_size),
        ("cross_rank", cross_rank, "cross_size", cross_size),
    ):
        if not 0 <= value < count:
            raise ValueError(f"{name} must be from 0 to {of} - 1, but {name}={value}, {of}={count}")


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name)
    if not text:
        return default
    try:
        return float(text)
    except ValueError as err:
        raise ValueError(f"{name} must be a number of seconds, not {text!r}") from err


def _job_key(across_machines: bool) -> bytes:
    """Derive the secret key that the workers of this job share."""
    token = os.environ.get("DET_COMM_KEY") or os.environ.get("DET_SESSION_TOKEN") or ""
    if not token and across_machines:
        logger.warning(
            "neither DET_COMM_KEY nor DET_SESSION_TOKEN is set, so anybody on the network can "
            "join this job's workers: set DET_COMM_KEY to the same secret on every machine"
        )
    job = os.environ.get("DET_ALLOCATION_ID", "")
    return hmac.new(token.encode(), b"workers of " + job.encode(), hashlib.sha256).digest()


def _run_on_rank_0_and_broadcast(
    func: Callable[[], T], distributed: Optional[DistributedContext] = None
) -> T:
    """Call func on the chief alone, and return its result at every worker."""
    if distributed is None:
        return func()
    result: T = distributed.broadcast(func() if distributed.rank == 0 else None)
    return result
