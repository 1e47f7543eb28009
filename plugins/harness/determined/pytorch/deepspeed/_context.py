"""The context of a DeepSpeed trial: it keeps model engines and how workers divide a model."""

from __future__ import annotations

import logging
import warnings
from typing import Any, Dict, Optional

from determined import core, errors
from determined._env import EnvContext
from determined.pytorch._base_context import TorchTrialContext
from determined.pytorch.deepspeed import _package
from determined.pytorch.deepspeed._mpu import (
    ModelParallelUnit,
    make_data_parallel_mpu,
    make_deepspeed_mpu,
)

logger = logging.getLogger("determined.pytorch")


class DeepSpeedTrialContext(TorchTrialContext):
    """The context of a DeepSpeed trial; ``init()`` of this package, or the platform, makes it.

    Example::

        def __init__(self, context):
            self.context = context
            engine, *_ = deepspeed.initialize(
                model=net, model_parameters=net.parameters(), config="ds_config.json"
            )
            self.engine = context.wrap_model_engine(engine)
    """

    _disables_data_checks = "context.disable_dataset_reproducibility_checks()"

    def __init__(
        self,
        core_context: core.Context,
        env: EnvContext,
        hparams: Optional[Dict[str, Any]] = None,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        device = _package.device(core_context.distributed.local_rank)
        super().__init__(core_context, env, hparams, enable_tensorboard_logging, device)
        self._mpu = make_data_parallel_mpu(self.distributed)
        self._mpu_is_set = False
        self._use_pipeline_parallel = False
        self._checks_data = True
        self._manual_grad_accumulation = False
        self._train_micro_batch_size_per_gpu: Optional[int] = None
        self._num_micro_batches_per_slot: Optional[int] = None

    @property
    def _data_checks(self) -> bool:
        return self._checks_data

    def wrap_model_engine(self, model: Any) -> Any:
        """Register an engine that ``deepspeed.initialize`` has made.

        Its state is part of checkpoints. The first engine determines the size of micro batches, the
        number of them in a step and, for a pipeline, how workers divide the model.

        Example: ``self.engine = context.wrap_model_engine(engine)``
        """
        model = model.to(self.device)
        micro_batch_size = int(model.train_micro_batch_size_per_gpu())
        if _package.is_pipeline(model):
            self._use_pipeline_parallel = True
            if not self.models:
                self._mpu = make_deepspeed_mpu(model.mpu)
        if not self.models:
            self._train_micro_batch_size_per_gpu = micro_batch_size
            self._num_micro_batches_per_slot = int(model.gradient_accumulation_steps())
        elif micro_batch_size != self._train_micro_batch_size_per_gpu:
            logger.warning(
                "model engine %d has micro batches of %d records; the data loader's have %s, as "
                "the first engine says",
                len(self.models) + 1,
                micro_batch_size,
                self._train_micro_batch_size_per_gpu,
            )
        self.models.append(model)
        return model

    def set_mpu(self, mpu: ModelParallelUnit) -> None:
        """Set how workers divide the model, if DeepSpeed does not know; once, after an engine.

        Example: ``context.set_mpu(ModelParallelUnit(rank, size, True, True))``
        """
        if not self.models:
            raise errors.InvalidExperimentException("call wrap_model_engine() before set_mpu()")
        if self._mpu_is_set:
            raise errors.InvalidExperimentException("call set_mpu() once: a trial has one division")
        self._mpu_is_set = True
        self._mpu = mpu

    def wrap_mpu(self, mpu: ModelParallelUnit) -> None:
        """Do the same as ``set_mpu``, by the name that Determined's documentation uses.

        Example: ``context.wrap_mpu(ModelParallelUnit(rank, size, True, True))``
        """
        self.set_mpu(mpu)

    def disable_auto_grad_accumulation(self) -> None:
        """Let each call of ``train_batch`` train on all micro batches of a step itself.

        Otherwise ``train_batch`` is called once for each micro batch.

        Example: ``context.disable_auto_grad_accumulation()``
        """
        self._manual_grad_accumulation = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Accept data loaders of other classes from the trial, which shard and resume themselves.

        Example: ``context.disable_dataset_reproducibility_checks()``
        """
        self._checks_data = False

    @property
    def use_pipeline_parallel(self) -> bool:
        """Whether an engine trains a pipeline.

        Example: ``assert not context.use_pipeline_parallel``
        """
        return self._use_pipeline_parallel

    def get_train_micro_batch_size_per_gpu(self) -> int:
        """Return how many records a worker trains on at once.

        Example::

            size = context.get_train_micro_batch_size_per_gpu()
            return pytorch.DataLoader(dataset, batch_size=size)
        """
        return _known(self._train_micro_batch_size_per_gpu)

    def get_num_micro_batches_per_slot(self) -> int:
        """Return how many micro batches a worker trains on in a step.

        Example: ``context.get_num_micro_batches_per_slot()``
        """
        return _known(self._num_micro_batches_per_slot)

    @property
    def train_micro_batch_size_per_gpu(self) -> int:
        """The older name of ``get_train_micro_batch_size_per_gpu()``.

        Example: ``context.train_micro_batch_size_per_gpu``
        """
        _deprecated("train_micro_batch_size_per_gpu")
        return self.get_train_micro_batch_size_per_gpu()

    @property
    def num_micro_batches_per_slot(self) -> int:
        """The older name of ``get_num_micro_batches_per_slot()``.

        Example: ``context.num_micro_batches_per_slot``
        """
        _deprecated("num_micro_batches_per_slot")
        return self.get_num_micro_batches_per_slot()


def _known(value: Optional[int]) -> int:
    if value is None:
        raise errors.InvalidExperimentException(
            "the sizes of batches come from the model engine: call wrap_model_engine() first"
        )
    return value


def _deprecated(name: str) -> None:
    warnings.warn(f"use context.get_{name}()", FutureWarning, stacklevel=3)
