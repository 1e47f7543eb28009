"""Averages gradients with TensorFlow's own collectives, where the network is trusted.

Elsewhere the chief averages (`_average`), over connections that only the trial's workers can use.
``DET_KERAS_COLLECTIVES=1``, or a pool whose operator trusts its network, joins the TensorFlows of
all workers, as ``MultiWorkerMirroredStrategy`` does: gradients go around in a ring, or through NCCL
on GPUs, and never leave the devices. The price is that each worker has an open port of
TensorFlow's, which authenticates nobody. ``DET_KERAS_COLLECTIVES=0`` leaves it to the chief.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from typing import Any, Dict, List, Optional

import determined as det
from determined import core
from determined.keras import _backend

logger = logging.getLogger("determined.keras")

SWITCH = "DET_KERAS_COLLECTIVES"

# The master sets it in pools with trusted_network.
TRUSTED = "DET_TRUSTED_NETWORK"

# Other collectives of the process, those of a strategy for example, count their groups from 1.
_GROUP = 1_000_003


def start(distributed: core.DistributedContext) -> Optional[Collectives]:
    """Join the TensorFlows of a trial's workers if it, or its pool, wants that.

    All workers call it, before anything else uses TensorFlow's devices.
    """
    wanted = os.environ.get(SWITCH, "")
    if wanted not in ("", "0", "1"):
        raise ValueError(f"{SWITCH} must be 0 or 1, not {wanted!r}")
    if (wanted or os.environ.get(TRUSTED, "0")) != "1" or distributed.size < 2:
        return None
    if distributed.rank == 0:
        logger.info(
            "TensorFlow's collectives average the gradients of %d workers", distributed.size
        )
    return Collectives(distributed)


class Collectives:
    """The joined TensorFlows of a trial's workers."""

    def __init__(self, distributed: core.DistributedContext) -> None:
        tf = _backend.tensorflow()
        self._size = distributed.size
        self._next = 1
        workers = distributed.allgather(_address(distributed))
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec({"worker": workers}),
            task_type="worker",
            task_id=distributed.rank,
            rpc_layer="grpc",
        )
        try:
            # It also ends this process when another worker is gone.
            self._strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
        except RuntimeError as err:
            raise RuntimeError(
                f"{SWITCH}=1: TensorFlow cannot join the workers, because this process has used "
                "its devices already: move what the module computes at its top into the trial class"
            ) from err

    def mean(self, tensors: List[Any]) -> List[Any]:
        """Return the average of every worker's tensors, one by one; all workers call it in step."""
        tf = _backend.tensorflow()
        by_type: Dict[Any, List[int]] = {}
        for index, tensor in enumerate(tensors):
            by_type.setdefault(tensor.dtype, []).append(index)
        found: List[Any] = [None] * len(tensors)
        before: List[Any] = []
        for indexes in by_type.values():
            flat = tf.concat([tf.reshape(tensors[i], [-1]) for i in indexes], 0)
            # One after the other, in the same order on all workers.
            with tf.control_dependencies(before):
                total = tf.raw_ops.CollectiveReduceV2(
                    input=flat,
                    group_size=self._size,
                    group_key=_GROUP,
                    instance_key=self._next,
                    ordering_token=[],
                    merge_op="Add",
                    final_op="Id",
                )
            self._next += 1
            before = [total]
            parts = tf.split(total / self._size, [tf.size(tensors[i]) for i in indexes])
            for i, part in zip(indexes, parts):
                found[i] = tf.reshape(part, tf.shape(tensors[i]))
        return found


def _address(distributed: core.DistributedContext) -> str:
    """Return where the other workers reach this one's TensorFlow."""
    info = det.get_cluster_info()
    host = "127.0.0.1"
    if info is not None and distributed.cross_size > 1:
        host = info.container_addrs[distributed.cross_rank]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.closing(socket.socket(family)) as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
