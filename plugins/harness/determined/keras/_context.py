"""The context of a Keras trial class."""

from __future__ import annotations

import logging
from typing import Any, List, Optional

from determined import core
from determined._env import EnvContext
from determined._trial import TrialContext, batch_sizes
from determined.keras._data import FitSettings

logger = logging.getLogger("determined.keras")

_UNSET: Any = object()


class TFKerasExperimentalContext:
    """Names of the data layer of older releases, which is gone: ``determined.data`` replaces it.

    Example::

        with pytest.raises(RuntimeError, match="determined.data"):
            context.experimental.cache_train_dataset()
        with pytest.raises(RuntimeError, match="determined.data"):
            context.experimental.cache_validation_dataset()
    """

    def cache_train_dataset(self, *_: Any) -> Any:
        """Raise RuntimeError."""
        raise RuntimeError(
            "context.experimental.cache_train_dataset was removed; use determined.data"
        )

    def cache_validation_dataset(self, *_: Any) -> Any:
        """Raise RuntimeError."""
        raise RuntimeError(
            "context.experimental.cache_validation_dataset was removed; use determined.data"
        )


class TFKerasTrialContext(TrialContext):
    """The context of a Keras trial class, with which it registers its model and optimizers.

    Example::

        class Digits(keras.TFKerasTrial):
            def __init__(self, context):
                self.context = context
                context.configure_fit(verbose=True, class_weight={0: 1.0, 1: 2.0})

            def build_model(self):
                model = self.context.wrap_model(make_model())
                optimizer = self.context.wrap_optimizer(tf.keras.optimizers.Adam())
                model.compile(optimizer, "mse")
                return model

            def build_training_data_loader(self):
                dataset = self.context.wrap_dataset(make_dataset())
                return dataset.batch(self.context.get_per_slot_batch_size())

            def build_validation_data_loader(self):
                return make_dataset().batch(self.context.get_global_batch_size())
    """

    def __init__(self, core_context: core.Context, env: EnvContext) -> None:
        super().__init__(core_context, env)
        self._per_slot_batch_size, self._global_batch_size = batch_sizes(
            env.hparams, self.distributed.size, "TFKerasTrial"
        )
        self.experimental = TFKerasExperimentalContext()
        self.model: Optional[Any] = None
        self._wrapped_optimizers: List[Any] = []
        self._fit = FitSettings()

    def get_global_batch_size(self) -> int:
        """Return the number of records that all slots together train on at once."""
        return self._global_batch_size

    def get_per_slot_batch_size(self) -> int:
        """Return the number of records that this slot trains on at once."""
        return self._per_slot_batch_size

    def wrap_model(self, model: Any) -> Any:
        """Register the model, before it is compiled; use the returned model."""
        self.model = model
        return model

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Register an optimizer, whose state then is part of checkpoints."""
        self._wrapped_optimizers.append(optimizer)
        return optimizer

    def wrap_dataset(self, dataset: Any, shard_dataset: bool = True) -> Any:
        """Register a ``tf.data.Dataset``; use the returned data set.

        With several workers each gets its share of the records, unless ``shard_dataset`` is
        false.
        """
        sharded = self.env.managed_training and shard_dataset and hasattr(dataset, "shard")
        if not sharded or self.distributed.size < 2:
            return dataset
        return dataset.shard(self.distributed.size, self.distributed.rank)

    def configure_fit(
        self,
        verbose: Optional[bool] = None,
        class_weight: Any = _UNSET,
        workers: Optional[int] = None,
        use_multiprocessing: Optional[bool] = None,
        max_queue_size: Optional[int] = None,
        shuffle: Optional[bool] = None,
        validation_steps: Any = _UNSET,
    ) -> None:
        """Set arguments of ``model.fit``; arguments that are left out do not change."""
        given = {
            "verbose": verbose,
            "workers": workers,
            "use_multiprocessing": use_multiprocessing,
            "max_queue_size": max_queue_size,
            "shuffle": shuffle,
        }
        for name, value in given.items():
            if value is not None:
                setattr(self._fit, name, value)
        if class_weight is not _UNSET:
            self._fit.class_weight = class_weight
        if validation_steps is not _UNSET:
            self._fit.validation_steps = validation_steps

    def _optimizers(self) -> List[Any]:
        """Return the optimizers whose state belongs to checkpoints."""
        if self._wrapped_optimizers:
            return self._wrapped_optimizers
        compiled = getattr(self.model, "optimizer", None)
        return [] if compiled is None else [compiled]
