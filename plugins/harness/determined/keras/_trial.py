"""The base class of Keras trial classes."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, List, Type

from determined._trial import LegacyTrial, TrialContext
from determined.keras._context import TFKerasTrialContext


class TFKerasTrial(LegacyTrial):
    """A model in Keras, trained by the platform.

    A subclass builds a compiled model and its data; lengths and periods come from the
    configuration of the experiment.

    Example::

        class Digits(keras.TFKerasTrial):
            def __init__(self, context):
                self.context = context

            def build_model(self):
                model = self.context.wrap_model(tf.keras.Sequential([tf.keras.layers.Dense(10)]))
                model.compile("adam", "mse")
                return model

            def build_training_data_loader(self):
                return images, labels

            def build_validation_data_loader(self):
                return test_images, test_labels

            def keras_callbacks(self):
                return [keras.callbacks.EarlyStopping(patience=3)]

            def session_config(self):                 # for TensorFlow 1; has no effect
                return None
    """

    trial_context_class: ClassVar[Type[TrialContext]] = TFKerasTrialContext
    _trainer = "determined.keras._trainer"

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_model(self) -> Any:
        """Return the model, wrapped with ``context.wrap_model`` and then compiled."""

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """Return the data to train on.

        That is a tuple ``(x, y)`` or ``(x, y, sample_weights)`` of arrays, a ``tf.data.Dataset``
        or a Keras ``Sequence``; the last two provide whole batches of
        ``context.get_per_slot_batch_size()`` records.
        """

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """Return the data to validate with, in one of the same forms."""

    def keras_callbacks(self) -> List[Any]:
        """Return callbacks: Keras's own, or those of ``determined.keras.callbacks``."""
        return []

    def session_config(self) -> Any:
        """Return a session's configuration; releases with sessions are not supported."""
        return None
