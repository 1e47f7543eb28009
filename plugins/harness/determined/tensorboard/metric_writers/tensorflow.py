"""A writer for training code in TensorFlow."""

from __future__ import annotations

from determined.tensorboard import EventWriter, get_base_path


class TFWriter(EventWriter):
    """Writes scalars to the folder of the platform's TensorBoard; needs no TensorFlow.

    Example: ``TFWriter().add_scalar("loss", 0.5, step)``
    """

    def __init__(self) -> None:
        super().__init__(get_base_path({}))
