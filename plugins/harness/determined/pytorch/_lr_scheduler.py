"""Learning rate schedulers that the platform steps."""

from __future__ import annotations

import enum
from typing import Any, Dict, List


class LRScheduler:
    """A scheduler of PyTorch's and when to step it; ``context.wrap_lr_scheduler`` makes one.

    Example::

        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(optimizer, 10),
            step_mode=pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH,
        )
    """

    class StepMode(enum.Enum):
        """When to step.

        ``STEP_EVERY_EPOCH`` steps after the last step of the optimizer in an epoch,
        ``STEP_EVERY_BATCH`` once per batch, ``STEP_EVERY_OPTIMIZER_STEP`` once per step of the
        optimizer, which with ``aggregation_frequency`` are fewer; with ``MANUAL_STEP`` the training
        code steps.

        Example: ``LRScheduler.StepMode.STEP_EVERY_BATCH``
        """

        STEP_EVERY_EPOCH = 1
        STEP_EVERY_BATCH = 2
        MANUAL_STEP = 3
        STEP_EVERY_OPTIMIZER_STEP = 4

    def __init__(self, scheduler: Any, step_mode: StepMode, frequency: int = 1) -> None:
        if not isinstance(step_mode, LRScheduler.StepMode):
            raise TypeError(f"step_mode is an LRScheduler.StepMode, not {step_mode!r}")
        if frequency < 1:
            raise ValueError(f"frequency must be at least 1, not {frequency}")
        self._scheduler = scheduler
        self._step_mode = step_mode
        self._frequency = frequency

    def step(self, *args: Any, **kwargs: Any) -> None:
        """Step the scheduler; example: ``scheduler.step()``."""
        self._scheduler.step(*args, **kwargs)

    def get_last_lr(self) -> List[Any]:
        """Return the last learning rates; example: ``scheduler.get_last_lr()[0]``."""
        found: List[Any] = self._scheduler.get_last_lr()
        return found

    def state_dict(self) -> Dict[Any, Any]:
        """Return the state of the scheduler; example: ``torch.save(scheduler.state_dict(), f)``."""
        found: Dict[Any, Any] = self._scheduler.state_dict()
        return found

    def load_state_dict(self, state_dict: Dict[Any, Any]) -> None:
        """Restore the state of the scheduler; example: ``scheduler.load_state_dict(state)``."""
        self._scheduler.load_state_dict(state_dict)

    def _steps_after(self, batch_idx: int, aggregation: int, epoch_length: int) -> int:
        """Return how often to step after a batch with which the optimizer stepped."""
        modes = LRScheduler.StepMode
        if self._step_mode == modes.STEP_EVERY_BATCH:
            # The batches since the last step of the optimizer count too.
            window = range(max(0, batch_idx - aggregation + 1), batch_idx + 1)
            return sum((batch + 1) % self._frequency == 0 for batch in window)
        if self._step_mode == modes.STEP_EVERY_OPTIMIZER_STEP:
            return int((batch_idx + 1) // aggregation % self._frequency == 0)
        if self._step_mode == modes.STEP_EVERY_EPOCH:
            now, then = batch_idx // epoch_length, (batch_idx + aggregation) // epoch_length
            return sum(epoch % self._frequency == 0 for epoch in range(now + 1, then + 1))
        return 0
