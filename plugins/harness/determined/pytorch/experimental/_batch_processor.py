"""The base class for user code that processes batches, and its context."""

from __future__ import annotations

import abc
import contextlib
import pathlib
import tempfile
from typing import Any, Dict, Iterator, Optional, Set, Type

import determined as det
from determined import core, pytorch
from determined.pytorch import _base_context


def get_default_device(core_context: core.Context) -> Any:
    """Return the device of this worker: the GPU of its local rank, else the CPU.

    Example: ``model.to(get_default_device(core_context))``
    """
    return _base_context.slot_device(core_context.distributed.local_rank)


class TorchBatchProcessorContext(pytorch._PyTorchReducerContext):
    """The context of a ``TorchBatchProcessor``: its device, its worker, places for its output.

    Example::

        def __init__(self, context):
            self.context = context
            self.model = context.prepare_model_for_inference(Net())
    """

    def __init__(self, core_context: core.Context, storage_path: str) -> None:
        super().__init__(core_context.distributed.allgather)
        self.device = get_default_device(core_context)
        self._core_context = core_context
        self._storage_path = storage_path
        self._used_storage = False
        self._warned: Set[Type[Any]] = set()

    def get_hparams(self) -> Dict[str, Any]:
        """Return the hyperparameters of the trial; example: ``context.get_hparams()["lr"]``."""
        info = det.get_cluster_info()
        if info is None or info.task_type != "TRIAL":
            raise RuntimeError("only a trial of a cluster has hyperparameters")
        return info.trial.hparams

    def to_device(self, data: Any, warned_types: Optional[Set[Type[Any]]] = None) -> Any:
        """Return a batch on this worker's device; example: ``context.to_device(batch)``."""
        return pytorch.to_device(data, self.device, warned_types or self._warned)

    def prepare_model_for_inference(self, model: Any) -> Any:
        """Put a model on the device, in evaluation mode.

        Example: ``self.model = context.prepare_model_for_inference(Net())``
        """
        model.eval()
        model.to(self.device)
        return model

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """Provide an empty folder whose files are stored when the block ends without an error.

        All calls of a worker, of all runs of its trial, lead to one place in checkpoint storage; a
        file of the same name replaces the one before.

        Example::

            with context.upload_path() as path:
                torch.save(predictions, path / f"{batch_idx}.pt")
        """
        files = self._core_context.checkpoint._storage_manager.files(self._storage_path)
        with tempfile.TemporaryDirectory(prefix="determined-output-") as folder:
            root = pathlib.Path(folder)
            yield root
            self._used_storage = True
            for path in sorted(root.rglob("*")):
                if path.is_file():
                    files.store(path, path.relative_to(root).as_posix())

    def get_tensorboard_path(self) -> pathlib.Path:
        """Return the folder for TensorBoard's files.

        Example: ``SummaryWriter(context.get_tensorboard_path())``
        """
        return self._core_context.train.get_tensorboard_path()

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Report metrics of any group.

        Example: ``context.report_metrics("inference", batch_idx + 1, {"accuracy": 0.9})``
        """
        self._core_context.train.report_metrics(group, steps_completed, metrics)

    def report_task_using_model_version(self, model_version: Any) -> None:
        """Link the metrics of this trial to a version of a model.

        Example: ``context.report_task_using_model_version(version)``
        """
        self._core_context.experimental.report_task_using_model_version(model_version)

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Link the metrics of this trial to a checkpoint.

        Example: ``context.report_task_using_checkpoint(client.get_checkpoint(uuid))``
        """
        self._core_context.experimental.report_task_using_checkpoint(checkpoint)

    def get_distributed_rank(self) -> int:
        """Return this worker's rank; example: ``context.get_distributed_rank()``."""
        return self._core_context.distributed.rank

    def get_distributed_size(self) -> int:
        """Return how many workers there are; example: ``context.get_distributed_size()``."""
        return self._core_context.distributed.size


class TorchBatchProcessor(metaclass=abc.ABCMeta):
    """What to do with each batch; ``torch_batch_process`` makes one on each worker.

    Example::

        class Predict(TorchBatchProcessor):
            def __init__(self, context):
                self.context = context
                self.model = context.prepare_model_for_inference(Net())

            def process_batch(self, batch, batch_idx):
                predictions = self.model(self.context.to_device(batch))
                with self.context.upload_path() as path:
                    torch.save(predictions, path / f"{batch_idx}.pt")
    """

    @abc.abstractmethod
    def __init__(self, context: TorchBatchProcessorContext) -> None:
        """Keep the context, and prepare what ``process_batch`` needs."""

    @abc.abstractmethod
    def process_batch(self, batch: Any, batch_idx: int) -> None:
        """Process a batch; ``batch_idx`` counts those of this worker, through all of its runs.

        Example: ``self.total.update(self.model(batch).sum())``
        """

    def on_checkpoint_start(self) -> None:
        """Write the output of the batches so far: no later run processes them again.

        Example: ``self.file.flush()``
        """
        return

    def on_finish(self) -> None:
        """Finish, when this worker has processed all of its batches.

        Example: ``self.file.close()``
        """
        return
