"""The callback that stores checkpoints, and stops training when the trial is preempted."""

from __future__ import annotations

import math
import pathlib
import tempfile
from typing import Any, Optional

import determined as det
from determined import core
from determined.lightning import _package

_lightning: Any = _package.find()

_FILE = "lightning.ckpt"


class DeterminedCallback(_lightning.Callback):
    """Stores checkpoints, reports the progress, and stops when the trial is preempted.

    Pass it among the ``callbacks`` of Lightning's ``Trainer``, and its checkpoint to ``fit``::

        with core.init(distributed=distributed) as core_context:
            callback = DeterminedCallback(core_context)
            trainer = Trainer(
                max_epochs=10, callbacks=[callback], logger=DeterminedLogger(core_context)
            )
            trainer.fit(model, data, ckpt_path=callback.latest_checkpoint())

    A checkpoint is stored every ``checkpoint_epochs`` epochs and at the end. Every
    ``preempt_batches`` batches all workers ask together whether the trial is preempted; then they
    store a checkpoint and end, without a validation.
    """

    def __init__(
        self, core_context: core.Context, checkpoint_epochs: int = 1, preempt_batches: int = 10
    ) -> None:
        super().__init__()
        if checkpoint_epochs < 1 or preempt_batches < 1:
            raise ValueError("checkpoint_epochs and preempt_batches must be at least 1")
        self._core = core_context
        self._checkpoint_epochs = checkpoint_epochs
        self._preempt_batches = preempt_batches
        self._stored_step = -1
        self._percent = 0
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None

    def latest_checkpoint(self) -> Optional[str]:
        """Download the trial's checkpoint and return its path; None where there is none."""
        info = det.get_cluster_info()
        latest = info.latest_checkpoint if info is not None else None
        if latest is None:
            return None
        # It goes with the callback: Lightning reads it when training begins.
        self._folder = tempfile.TemporaryDirectory(prefix="determined-lightning-")
        self._core.checkpoint.download(
            latest, self._folder.name, core.DownloadMode.NoSharedDownload
        )
        return str(pathlib.Path(self._folder.name, _FILE))

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Report the progress, and ask whether the trial is preempted."""
        self._report_progress(trainer)
        batches = trainer.fit_loop.total_batch_idx + 1
        if batches % self._preempt_batches == 0 and self._core.preempt.should_preempt():
            self._store(trainer)
            self._stop(trainer)

    def on_train_epoch_end(self, trainer: Any, *_: Any) -> None:
        """Store a checkpoint if one is due."""
        due = (trainer.current_epoch + 1) % self._checkpoint_epochs == 0
        if due and not trainer.should_stop:
            self._store(trainer)

    def on_train_end(self, trainer: Any, *_: Any) -> None:
        """Store the last checkpoint."""
        self._store(trainer)

    def _stop(self, trainer: Any) -> None:
        trainer.should_stop = True
        # A preempted trial ignores Lightning's minimum of epochs, and does not validate.
        trainer.fit_loop.min_epochs = trainer.fit_loop.epoch_loop.min_steps = None
        trainer.limit_val_batches = 0

    def _store(self, trainer: Any) -> None:
        """Store a checkpoint of this step, if there is none; all workers call in step."""
        step = trainer.global_step
        if step == self._stored_step:
            return
        self._stored_step = step
        sharded = self._core.distributed.size > 1
        with self._core.checkpoint.store_path({"steps_completed": step}, shard=sharded) as (
            path,
            _,
        ):
            trainer.save_checkpoint(path / _FILE)

    def _report_progress(self, trainer: Any) -> None:
        whole = trainer.estimated_stepping_batches
        if self._core.distributed.rank != 0 or not math.isfinite(whole) or whole <= 0:
            return
        percent = min(100, int(100 * trainer.global_step / whole))
        if percent > self._percent:
            self._percent = percent
            self._core.train.report_progress(percent / 100)
