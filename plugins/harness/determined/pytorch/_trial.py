"""The base class of PyTorch trials."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Dict, Type, Union

from determined._trial import LegacyTrial, TrialContext
from determined.pytorch import _data
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._reducer import Reducer


class PyTorchTrial(LegacyTrial):
    """A model, its data, and what to do with one batch; the platform does the rest.

    Train it with a ``Trainer``, or name it as the entrypoint of an experiment, ``module:Class``.

    Example::

        class Digits(pytorch.PyTorchTrial):
            def __init__(self, context):
                self.context = context
                self.model = context.wrap_model(Net())
                self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters()))

            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = cross_entropy(self.model(batch[0]), batch[1])
                self.context.backward(loss)
                self.context.step_optimizer(self.optimizer)
                return {"loss": loss}

            def evaluate_batch(self, batch):
                return {"validation_loss": cross_entropy(self.model(batch[0]), batch[1])}

            def build_training_data_loader(self):
                return pytorch.DataLoader(train_set, batch_size=32, shuffle=True)

            def build_validation_data_loader(self):
                return pytorch.DataLoader(test_set, batch_size=32)
    """

    trial_context_class: ClassVar[Type[TrialContext]] = PyTorchTrialContext
    _trainer = "determined.pytorch._trainer"

    @abc.abstractmethod
    def __init__(self, context: PyTorchTrialContext) -> None:
        """Keep the context, and wrap models and optimizers; example: as in the class."""

    @abc.abstractmethod
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Union[Any, Dict[str, Any]]:
        """Train on a batch; return the loss, or a map of metrics.

        Example: ``return {"loss": loss}``
        """

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """Return a ``DataLoader`` of the training data; example: as in the class."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """Return a ``DataLoader`` of the validation data; example: as in the class."""

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        """Return callbacks by name; example: ``return {"plateau": Plateau(self.scheduler)}``."""
        return {}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        """Return the metrics of a batch, reduced as ``evaluation_reducer`` says.

        ``batch_idx`` may be left out. Define this or ``evaluate_full_dataset``.

        Example: ``return {"accuracy": right / len(batch)}``
        """
        raise NotImplementedError

    def evaluation_reducer(self) -> Union[Reducer, Dict[str, Reducer]]:
        """Return how the metrics of ``evaluate_batch`` are reduced, for all or by name.

        Example: ``return {"errors": pytorch.Reducer.SUM}``
        """
        return Reducer.AVG

    def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
        """Return the metrics of the whole validation data; runs on the chief alone.

        Example: ``return {"auc": auc(self.model, data_loader)}``
        """
        raise NotImplementedError

    def get_batch_length(self, batch: Any) -> int:
        """Return how many records a batch has; example: ``return batch.num_graphs``."""
        return _data.data_length(batch)
