"""Batch inference: runs a model over a dataset, which workers divide among themselves."""

from determined.pytorch.experimental._batch_processor import (
    TorchBatchProcessor,
    TorchBatchProcessorContext,
    get_default_device,
)
from determined.pytorch.experimental._torch_batch_process import torch_batch_process

__all__ = [
    "TorchBatchProcessor",
    "TorchBatchProcessorContext",
    "get_default_device",
    "torch_batch_process",
]
