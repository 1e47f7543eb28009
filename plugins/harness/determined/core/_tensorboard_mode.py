"""Whether the platform or user code writes and stores TensorBoard's files."""

import enum


class TensorboardMode(enum.Enum):
    """``AUTO``: the chief writes reported metrics and stores all its files. ``MANUAL``: user code.

    In manual mode ``TrainContext.upload_tensorboard_files`` stores what user code wrote below
    ``TrainContext.get_tensorboard_path``.

    Example: ``core.init(tensorboard_mode=TensorboardMode.MANUAL)``
    """

    AUTO = "AUTO"
    MANUAL = "MANUAL"
