"""The base class of DeepSpeed trials."""

from __future__ import annotations

import abc
import pathlib
from typing import Any, ClassVar, Dict, Iterator, Optional, Type, Union

from determined._trial import LegacyTrial, TrialContext
from determined.pytorch import _data
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._reducer import Reducer
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext


class DeepSpeedTrial(LegacyTrial):
    """Model engines of DeepSpeed, their data, and what to do with a batch.

    Train it with a ``Trainer``, or name it as the entrypoint of an experiment, ``module:Class``.

    Example::

        class Digits(DeepSpeedTrial):
            def __init__(self, context):
                self.context = context
                net = Net()
                engine, *_ = deepspeed.initialize(
                    model=net, model_parameters=net.parameters(), config="ds_config.json"
                )
                self.engine = context.wrap_model_engine(engine)

            def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
                images, labels = self.context.to_device(next(dataloader_iter))
                loss = cross_entropy(self.engine(images), labels)
                self.engine.backward(loss)
                self.engine.step()
                return {"loss": loss}

            def evaluate_batch(self, dataloader_iter, batch_idx):
                images, labels = self.context.to_device(next(dataloader_iter))
                return {"validation_loss": cross_entropy(self.engine(images), labels)}

            def build_training_data_loader(self):
                size = self.context.get_train_micro_batch_size_per_gpu()
                return pytorch.DataLoader(train_set, batch_size=size, shuffle=True)

            def build_validation_data_loader(self):
                size = self.context.get_train_micro_batch_size_per_gpu()
                return pytorch.DataLoader(test_set, batch_size=size)
    """

    trial_context_class: ClassVar[Type[TrialContext]] = DeepSpeedTrialContext
    _trainer = "determined.pytorch.deepspeed._trainer"

    @abc.abstractmethod
    def __init__(self, context: DeepSpeedTrialContext) -> None:
        """Store the context, and wrap the model engines; example: as in the class."""

    @abc.abstractmethod
    def train_batch(
        self, dataloader_iter: Optional[Iterator[Any]], epoch_idx: int, batch_idx: int
    ) -> Union[Any, Dict[str, Any]]:
        """Train on a micro batch; return the loss, or a map of metrics.

        The trainer calls it ``gradient_accumulation_steps`` times for a step. For a pipeline, and
        after ``context.disable_auto_grad_accumulation()``, the trainer calls it once for a step: it
        trains on all micro batches of the step (``self.engine.train_batch(dataloader_iter)``).
        On a worker that reads no data, ``dataloader_iter`` is None.

        Example: ``return {"loss": loss}``
        """

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """Return a ``DataLoader`` of micro batches to train on; example: as in the class."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """Return a ``DataLoader`` of micro batches to validate with; example: as in the class."""

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        """Return callbacks by name; example: ``return {"timer": Timer()}``."""
        return {}

    def evaluate_batch(
        self, dataloader_iter: Optional[Iterator[Any]], batch_idx: int
    ) -> Dict[str, Any]:
        """Return the metrics of a batch; ``evaluation_reducer`` selects how they are reduced.

        The parameter ``batch_idx`` is optional. A pipeline reads as many batches as in training:
        ``self.engine.eval_batch(dataloader_iter)``.

        Example: as in the class.
        """
        raise NotImplementedError

    def evaluation_reducer(self) -> Union[Reducer, Dict[str, Reducer]]:
        """Return how the metrics of ``evaluate_batch`` are reduced, for all or by name.

        Example: ``return {"errors": pytorch.Reducer.SUM}``
        """
        return Reducer.AVG

    def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
        """Return the metrics of the whole validation data; runs on the chief alone.

        The trainer calls it if the class does not define ``evaluate_batch``. It must not use an
        engine that needs the other workers.

        Example: ``return {"auc": auc(self.engine.module, data_loader)}``
        """
        raise NotImplementedError

    def save(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """Write the engines into a checkpoint; runs on every worker.

        Example::

            def save(self, context, path):
                super().save(context, path)
                if context.distributed.rank == 0:
                    self.tokenizer.save(path / "tokenizer.json")
        """
        for number, engine in enumerate(context.models):
            engine.save_checkpoint(str(path), tag=f"model{number}")

    def load(self, context: DeepSpeedTrialContext, load_path: pathlib.Path) -> None:
        """Read the engines from a checkpoint; runs on every worker.

        Example::

            def load(self, context, load_path):
                self.engine.load_checkpoint(load_path, tag="model0", load_module_strict=False)
        """
        for number, engine in enumerate(context.models):
            _load_engine(engine, load_path, f"model{number}")

    def get_batch_length(self, batch: Any) -> int:
        """Return how many records a batch has; example: ``return batch.num_graphs``."""
        return _data.data_length(batch)


def _load_engine(engine: Any, path: pathlib.Path, name: str) -> None:
    # If files are missing, DeepSpeed returns None or raises an AssertionError without a message.
    try:
        loaded, _ = engine.load_checkpoint(str(path), tag=name)
    except AssertionError as err:
        raise ValueError(
            f"DeepSpeed cannot load {name} of the checkpoint in {path}: {err}"
        ) from err
    if loaded is None:
        raise ValueError(f"the checkpoint in {path} has no {name} that this worker can load")
