"""How workers divide one model among them."""

from __future__ import annotations

import dataclasses
from typing import Any

from determined import core


@dataclasses.dataclass
class ModelParallelUnit:
    """A worker's place where several workers train one copy of the model.

    Pass one to ``context.set_mpu`` for a division that DeepSpeed does not know. Data parallel and
    pipeline parallel training do not need it: the context makes theirs.

    ``data_parallel_rank`` and ``data_parallel_world_size`` say which share of the data this worker
    reads, ``should_report_metrics`` whether its metrics count, and ``should_build_data_loader``
    whether it reads data at all.

    Example::

        context.set_mpu(
            ModelParallelUnit(
                data_parallel_rank=mpu.get_data_parallel_rank(),
                data_parallel_world_size=mpu.get_data_parallel_world_size(),
                should_report_metrics=mpu.is_last_stage(),
                should_build_data_loader=mpu.is_first_stage(),
            )
        )
    """

    data_parallel_rank: int
    data_parallel_world_size: int
    should_report_metrics: bool
    should_build_data_loader: bool


def make_data_parallel_mpu(dist_context: core.DistributedContext) -> ModelParallelUnit:
    """Return the place of a worker that has a copy of the model of its own.

    Example: ``make_data_parallel_mpu(context.distributed)``
    """
    return ModelParallelUnit(
        data_parallel_rank=dist_context.rank,
        data_parallel_world_size=dist_context.size,
        should_report_metrics=True,
        should_build_data_loader=True,
    )


def make_deepspeed_mpu(topology: Any) -> ModelParallelUnit:
    """Return the place of a worker in the grid of DeepSpeed's pipeline engine.

    The first and the last stage read data: the inputs, and the labels for the loss. DeepSpeed sends
    the loss to all stages.

    Example: ``make_deepspeed_mpu(pipeline_engine.mpu)``
    """
    stage = topology.get_pipe_parallel_rank()
    outer = stage in (0, topology.get_pipe_parallel_world_size() - 1)
    return ModelParallelUnit(
        data_parallel_rank=topology.get_data_parallel_rank(),
        data_parallel_world_size=topology.get_data_parallel_world_size(),
        should_report_metrics=True,
        should_build_data_loader=outer and topology.get_slice_parallel_rank() == 0,
    )
