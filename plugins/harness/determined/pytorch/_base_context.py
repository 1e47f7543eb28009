"""The base class of the contexts of all trials in PyTorch."""

from __future__ import annotations

import pathlib
from typing import Any, ClassVar, Dict, List, Optional, Set, Type

import torch

from determined import core
from determined._env import EnvContext
from determined._trial import TrialContext, batch_sizes
from determined.pytorch import _data
from determined.pytorch._reducer import _PyTorchReducerContext


class TorchTrialContext(_PyTorchReducerContext, TrialContext):
    """Hyperparameters, sizes of batches, the place in training, TensorBoard, and reducers."""

    # What a trial calls before it may return a data loader of another class.
    _disables_data_checks: ClassVar[str]

    def __init__(
        self,
        core_context: core.Context,
        env: EnvContext,
        hparams: Optional[Dict[str, Any]],
        enable_tensorboard_logging: bool,
        device: Any,
    ) -> None:
        TrialContext.__init__(self, core_context, env)
        _PyTorchReducerContext.__init__(self, self.distributed.allgather)
        self._hparams = hparams
        self._enable_tensorboard_logging = enable_tensorboard_logging
        self._batch_sizes: Optional[tuple[int, int]] = None
        if hparams and hparams.get("global_batch_size"):
            self._batch_sizes = batch_sizes(hparams, self.distributed.size)
        self.device = device
        self.models: List[Any] = []
        self.profiler: Any = None
        self._warned: Set[Type[Any]] = set()
        self._batch_idx: Optional[int] = None
        self._epoch_length: Optional[int] = None
        self._writer: Any = None

    def get_hparams(self) -> Dict[str, Any]:
        """Return the hyperparameters; example: ``context.get_hparams()["lr"]``."""
        if self._hparams is None:
            raise RuntimeError(
                "there are no hyperparameters: give them to pytorch.init(hparams=...); on a "
                "cluster that is det.get_cluster_info().trial.hparams"
            )
        return self._hparams

    def get_hparam(self, name: str) -> Any:
        """Return one hyperparameter; example: ``context.get_hparam("lr")``."""
        known = self.get_hparams()
        if name not in known:
            raise ValueError(
                f"there is no hyperparameter {name!r}; there are: {', '.join(sorted(known))}"
            )
        return known[name]

    def get_global_batch_size(self) -> int:
        """Return how many records all slots train on at once; needs that hyperparameter.

        Example: ``context.get_global_batch_size()``
        """
        return self._sizes()[1]

    def get_per_slot_batch_size(self) -> int:
        """Return how many records this slot trains on at once.

        Example: ``DataLoader(dataset, batch_size=context.get_per_slot_batch_size())``
        """
        return self._sizes()[0]

    def _sizes(self) -> tuple[int, int]:
        if self._batch_sizes is None:
            raise ValueError("the hyperparameters have no global_batch_size")
        return self._batch_sizes

    def get_trial_id(self) -> int:
        """Return the trial's number, 0 off the cluster; example: ``context.get_trial_id()``."""
        return int(self.env.det_trial_id or 0)

    def get_experiment_id(self) -> int:
        """Return the number of the experiment, 0 off the cluster.

        Example: ``context.get_experiment_id()``
        """
        return int(self.env.det_experiment_id or 0)

    def current_train_batch(self) -> int:
        """Return the number of the batch in training, from 0; example: ``batch % 100 == 0``."""
        if self._batch_idx is None:
            raise RuntimeError("no batch is being trained yet")
        return self._batch_idx

    def current_train_epoch(self) -> int:
        """Return the number of the epoch in training, from 0.

        Example: ``context.current_train_epoch()``
        """
        return self.current_train_batch() // self._length()

    def is_epoch_start(self) -> bool:
        """Return whether an epoch begins with this batch; example: ``context.is_epoch_start()``."""
        return self.current_train_batch() % self._length() == 0

    def is_epoch_end(self) -> bool:
        """Return whether an epoch ends with this batch; example: ``context.is_epoch_end()``."""
        return (self.current_train_batch() + 1) % self._length() == 0

    def _length(self) -> int:
        if self._epoch_length is None:
            raise RuntimeError("the training data is not built yet, so epochs have no length")
        return self._epoch_length

    def to_device(self, data: Any) -> Any:
        """Return a batch on this slot's device; example: ``context.to_device(batch)``."""
        return _data.to_device(data, self.device, self._warned)

    def set_profiler(self, *args: Any, **kwargs: Any) -> None:
        """Profile training with ``torch.profiler.profile``; traces go to TensorBoard.

        Example::

            context.set_profiler(schedule=torch.profiler.schedule(wait=1, warmup=1, active=3))
        """
        folder = str(self.get_tensorboard_path())
        kwargs.setdefault("on_trace_ready", torch.profiler.tensorboard_trace_handler(folder))
        self.profiler = torch.profiler.profile(*args, **kwargs)

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        """Return whether reported metrics go to TensorBoard.

        Example: ``context.set_enable_tensorboard_logging(False)``
        """
        if not isinstance(enable_tensorboard_logging, bool):
            raise TypeError("enable_tensorboard_logging is a bool")
        self._enable_tensorboard_logging = enable_tensorboard_logging
        if hasattr(self._core.train, "_tensorboard_mode"):
            modes = core.TensorboardMode
            self._core.train._tensorboard_mode = (
                modes.AUTO if enable_tensorboard_logging else modes.MANUAL
            )

    def get_enable_tensorboard_logging(self) -> bool:
        """Return whether reported metrics go to TensorBoard.

        Example: ``context.get_enable_tensorboard_logging()``
        """
        return self._enable_tensorboard_logging

    def get_tensorboard_writer(self) -> Any:
        """Return a ``torch.utils.tensorboard.SummaryWriter`` for metrics of the user's own.

        Example: ``context.get_tensorboard_writer().add_scalar("loss", loss, batch_idx)``
        """
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415

            self._writer = SummaryWriter(log_dir=str(self.get_tensorboard_path()))
        return self._writer

    def get_tensorboard_path(self) -> pathlib.Path:
        """Return TensorBoard's folder; example: ``context.get_tensorboard_path()``."""
        return super().get_tensorboard_path()

    @property
    def _data_checks(self) -> bool:
        """Whether data loaders must be the platform's, which shard and resume."""
        raise NotImplementedError

    def _close(self) -> None:
        """Write what TensorBoard's files still lack."""
        if self._writer is not None:
            self._writer.close()


def slot_device(local_rank: int) -> Any:
    """Return the device of this worker: a GPU where there is one."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", local_rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device
