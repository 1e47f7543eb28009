"""The callbacks of a trial."""

from __future__ import annotations

from typing import Any, Dict, List, Optional


class PyTorchCallback:
    """Base class of callbacks, whose methods are called on every worker during training.

    Return callbacks from ``build_callbacks``. What ``state_dict`` returns is part of checkpoints.

    Example::

        class Plateau(pytorch.PyTorchCallback):
            def __init__(self, scheduler):
                self.scheduler = scheduler

            def on_validation_end(self, metrics):
                self.scheduler.step(metrics["validation_loss"])
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """Run first, before a checkpoint is loaded; example: ``print(checkpoint_uuid)``."""

    def on_trial_shutdown(self) -> None:
        """Run last, also when training fails; example: ``self.file.close()``."""

    def on_training_start(self) -> None:
        """Run after a checkpoint is loaded, before the first batch; example: ``self.seen = 0``."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Run before the first batch of an epoch; example: ``self.seen = 0``."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """Run after the last batch of an epoch; example: ``print(epoch_idx)``."""

    def on_training_workload_end(
        self, avg_metrics: Dict[str, Any], batch_metrics: List[Dict[str, Any]]
    ) -> None:
        """Run after training metrics were reported; example: ``print(avg_metrics["loss"])``."""

    def on_validation_start(self) -> None:
        """Run before validation; example: ``self.began = time.time()``."""

    def on_validation_epoch_start(self) -> None:
        """Run before the validation data is read; example: ``self.outputs = []``."""

    def on_validation_epoch_end(self, outputs: List[Any]) -> None:
        """Run with what this worker's batches gave; example: ``print(len(outputs))``."""

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """Run with the reduced metrics, before they are reported; example: ``print(metrics)``."""

    def on_checkpoint_load_start(self, checkpoint: Dict[str, Any]) -> None:
        """Change a loaded checkpoint; example: ``checkpoint.pop("extra", None)``."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """Add to a checkpoint, on the chief; example: ``checkpoint["extra"] = 1``."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Do the same as ``on_checkpoint_write_end``, whose older name it is; example: as there."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """Add files to a checkpoint, on the chief.

        Example: ``open(f"{checkpoint_dir}/note", "w").close()``
        """

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """Run when a checkpoint is stored, on the chief; example: ``print(uuid)``."""

    def state_dict(self) -> Dict[str, Any]:
        """Return the state for a checkpoint; example: ``return {"seen": self.seen}``."""
        return {}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restore what ``state_dict`` returned; example: ``self.seen = state_dict["seen"]``."""
