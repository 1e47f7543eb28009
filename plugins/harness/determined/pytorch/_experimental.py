"""Switches of a trial that are rarely needed."""

from __future__ import annotations

from typing import Any

import torch


class PyTorchExperimentalContext:
    """``context.experimental`` of a trial.

    Example: ``self.context.experimental.use_amp()``
    """

    def __init__(self, parent: Any) -> None:
        self._parent = parent
        self._auto_amp = False
        self._auto_to_device = True
        self._data_checks = True
        self._reproducible_sums = False

    def disable_dataset_reproducibility_checks(self) -> None:
        """Accept a ``torch.utils.data.DataLoader`` from trials, which shards and resumes by itself.

        Example::

            context.experimental.disable_dataset_reproducibility_checks()
        """
        self._data_checks = False

    def disable_auto_to_device(self) -> None:
        """Yield batches as the data loader gives them, on whatever device they are.

        Example: ``context.experimental.disable_auto_to_device()``
        """
        self._auto_to_device = False

    def use_amp(self) -> None:
        """Train in mixed precision: call it before ``wrap_model``, and nothing else changes.

        Forward passes of wrapped models run under autocast and return 32-bit outputs; losses are
        scaled, and gradients unscaled before they are clipped.

        Example::

            context.experimental.use_amp()
            self.model = context.wrap_model(Net())
        """
        scaler = torch.amp.GradScaler("cuda", enabled=torch.cuda.is_available())
        self._parent.wrap_scaler(scaler)
        self._auto_amp = True

    def use_reproducible_sums(self) -> None:
        """Add the workers' gradients in one order: call it before ``wrap_model``.

        ``DistributedDataParallel`` regroups gradients after its first step, and three or more
        numbers that are added in another order can differ in the last bit. So a trial that resumes
        ends with slightly other weights than one that was never interrupted. With this switch
        gradients keep their groups, and the weights are the same bit by bit. Each step then also
        looks for parameters that the loss does not depend on, and models with reentrant activation
        checkpointing fail.

        Example::

            context.experimental.use_reproducible_sums()
            self.model = context.wrap_model(Net())
        """
        self._reproducible_sums = True
