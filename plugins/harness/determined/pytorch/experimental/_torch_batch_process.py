"""The loop of batch inference: shards a dataset, processes it, and resumes."""

from __future__ import annotations

import json
import logging
import math
import os
import uuid
from typing import Any, Dict, NamedTuple, Optional, Sized, Type

import determined as det
from determined import core, pytorch
from determined.pytorch import _context
from determined.pytorch.experimental._batch_processor import (
    TorchBatchProcessor,
    TorchBatchProcessorContext,
    get_default_device,
)

logger = logging.getLogger("determined.pytorch")

# Arguments that the loop sets; the others are passed to the data loader.
_OWN_OPTIONS = ("sampler", "batch_sampler")


def torch_batch_process(
    batch_processor_cls: Type[TorchBatchProcessor],
    dataset: Any,
    batch_size: Optional[int] = None,
    max_batches: Optional[int] = None,
    checkpoint_interval: int = 5,
    dataloader_kwargs: Optional[Dict[str, Any]] = None,
    distributed_context: Optional[core.DistributedContext] = None,
) -> None:
    """Process a dataset in batches, each by one worker.

    Every ``checkpoint_interval`` batches the workers wait for each other, and a checkpoint records
    how many batches each has processed; a trial that was preempted, or failed, continues there.
    ``max_batches`` bounds the batches of each worker. Reducers that a processor has wrapped are
    reported as validation metrics at the end, and when the trial is preempted.

    Example::

        torch_batch_process(Predict, dataset, batch_size=64)
    """
    options = _loader_options(dataloader_kwargs, batch_size)
    if checkpoint_interval < 1:
        raise ValueError(f"checkpoint_interval is a positive number, not {checkpoint_interval}")
    if not isinstance(dataset, Sized):
        raise TypeError(f"dataset needs a length; {type(dataset).__name__} has none")
    if distributed_context is None and int(os.environ.get("WORLD_SIZE") or 1) > 1:
        distributed_context = core.DistributedContext.from_torch_distributed()
    with core.init(distributed=distributed_context) as core_context:
        if core_context.distributed.size > 1:
            # For the processor's own use.
            _context._join_group(get_default_device(core_context))
        batches = math.ceil(len(dataset) / options["batch_size"] / core_context.distributed.size)
        loop = _Loop(core_context, _started(core_context), _bound(batches, max_batches))
        loop.run(batch_processor_cls, dataset, options, checkpoint_interval)


def _loader_options(given: Optional[Dict[str, Any]], batch_size: Optional[int]) -> Dict[str, Any]:
    options = dict(given or {})
    for name in _OWN_OPTIONS:
        if name in options:
            raise ValueError(f"dataloader_kwargs may not have {name}: the workers share the data")
    if options.pop("shuffle", False):
        raise ValueError("dataloader_kwargs may not shuffle: a resumed trial skips what is done")
    if batch_size is not None and "batch_size" in options:
        raise ValueError("give batch_size as an argument or in dataloader_kwargs, not both")
    if batch_size is not None:
        options["batch_size"] = batch_size
    return {"batch_size": 1, **options}


def _bound(batches: int, max_batches: Optional[int]) -> int:
    if max_batches is None:
        return batches
    if max_batches < 1 or max_batches > batches:
        logger.warning(
            "max_batches is %d, and each worker has %d batches: all are processed",
            max_batches,
            batches,
        )
        return batches
    return max_batches


class _Start(NamedTuple):
    """The first batch of this run, and the place for the output of all runs of the trial."""

    batches: int
    output: str


def _started(core_context: core.Context) -> _Start:
    """Return what the trial's checkpoint says; without one all workers agree on a beginning."""
    info = det.get_cluster_info()
    latest = info.latest_checkpoint if info is not None else None
    start = None
    if core_context.distributed.rank == 0:
        start = _Start(0, str(uuid.uuid4()))
        if latest is not None:
            metadata = core_context.checkpoint.get_metadata(latest)
            start = _Start(int(metadata["steps_completed"]), metadata["default_output_uuid"])
    return _Start(*core_context.distributed.broadcast(start))


class _Loop:
    """One run over one worker's batches."""

    def __init__(self, core_context: core.Context, start: _Start, batches: int) -> None:
        self._core = core_context
        self._start = start
        self._batches = batches
        rank = core_context.distributed.rank
        self._context = TorchBatchProcessorContext(core_context, f"{start.output}/rank_{rank}")

    def run(
        self,
        processor_class: Type[TorchBatchProcessor],
        dataset: Any,
        options: Dict[str, Any],
        checkpoint_interval: int,
    ) -> None:
        """Process the batches that are left."""
        processor = processor_class(self._context)
        dist = self._core.distributed
        loader = pytorch.DataLoader(dataset, shuffle=False, **options).get_data_loader(
            repeat=False, skip=self._start.batches, num_replicas=dist.size, rank=dist.rank
        )
        data = iter(loader)
        stored = done = self._start.batches
        while done < self._batches:
            # Some workers may have a batch less, and must keep in step with the others.
            batch = next(data, None)
            if batch is not None:
                processor.process_batch(batch, done)
            done += 1
            if done % checkpoint_interval == 0:
                self._store(processor, done)
                stored = done
                if self._core.preempt.should_preempt():
                    self._report_reduced(done)
                    return
        if done > stored:
            self._store(processor, done)
        self._report_reduced(done)
        processor.on_finish()
        if dist.rank == 0 and self._context._used_storage:
            logger.info("the output is in checkpoint storage, below %s", self._start.output)
        dist.allgather(None)

    def _store(self, processor: TorchBatchProcessor, done: int) -> None:
        """Wait for all workers, and store a checkpoint of their positions."""
        processor.on_checkpoint_start()
        self._core.distributed.allgather(None)
        if self._core._tensorboard_manager is not None:
            self._core._tensorboard_manager.sync()
        if self._core.distributed.rank != 0:
            return
        metadata = {"steps_completed": done, "default_output_uuid": self._start.output}
        with self._core.checkpoint.store_path(metadata) as (path, _):
            text = json.dumps({"batch_completed": done})
            (path / "batch_completed.json").write_text(text, encoding="utf-8")
        self._core.train.report_progress(done / self._batches)

    def _report_reduced(self, done: int) -> None:
        metrics = self._context.reduce_metrics(for_training=False)
        if metrics and self._core.distributed.rank == 0:
            self._core.train.report_validation_metrics(done, metrics)
