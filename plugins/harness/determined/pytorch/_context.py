"""The context of a PyTorch trial: it wraps models and optimizers, and takes each step."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional

import torch
from torch.nn.parallel import DistributedDataParallel

from determined import core
from determined._env import EnvContext
from determined.pytorch._base_context import TorchTrialContext, slot_device
from determined.pytorch._experimental import PyTorchExperimentalContext
from determined.pytorch._lr_scheduler import LRScheduler

logger = logging.getLogger("determined.pytorch")


class _DDP(DistributedDataParallel):
    """A distributed model that also has the attributes and methods of the user's class."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)


class PyTorchTrialContext(TorchTrialContext):
    """The context of a trial class; ``pytorch.init()``, or the platform, makes it.

    Example::

        def __init__(self, context):
            self.context = context
            self.model = context.wrap_model(Net())
            self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters()))
    """

    _disables_data_checks = "context.experimental.disable_dataset_reproducibility_checks()"

    def __init__(
        self,
        core_context: core.Context,
        env: EnvContext,
        hparams: Optional[Dict[str, Any]] = None,
        aggregation_frequency: int = 1,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        if aggregation_frequency < 1:
            raise ValueError(
                f"aggregation_frequency must be at least 1, not {aggregation_frequency}"
            )
        device = slot_device(core_context.distributed.local_rank)
        super().__init__(core_context, env, hparams, enable_tensorboard_logging, device)
        self._aggregation_frequency = aggregation_frequency
        self.experimental = PyTorchExperimentalContext(self)
        self.optimizers: List[Any] = []
        self.lr_schedulers: List[LRScheduler] = []
        self._scaler: Any = None
        self._averaged: Dict[int, bool] = {}
        if env.managed_training and self.distributed.size > 1:
            _join_group(self.device)

    @property
    def _data_checks(self) -> bool:
        return self.experimental._data_checks

    # Models, optimizers, schedulers and reducers of the trial.

    def wrap_model(self, model: Any) -> Any:
        """Put a model on its device and, with several slots, wrap it in DistributedDataParallel.

        Use the returned model; the state of wrapped models is part of checkpoints.

        Example: ``self.model = context.wrap_model(Net())``
        """
        if self.env.managed_training:
            model = model.to(self.device)
            if self.experimental._auto_amp:
                model = self.autocast_forward_pass(model)
            if self.distributed.size > 1 and any(p.requires_grad for p in model.parameters()):
                devices = [self.device] if self.device.type == "cuda" else None
                # With the search for unused parameters, DDP does not regroup gradients.
                ordered = self.experimental._reproducible_sums
                model = _DDP(model, device_ids=devices, find_unused_parameters=ordered)
        self.models.append(model)
        return model

    def wrap_optimizer(
        self,
        optimizer: Any,
        backward_passes_per_step: int = 1,
        fp16_compression: Optional[bool] = None,
        average_aggregated_gradients: Optional[bool] = None,
    ) -> Any:
        """Register an optimizer, to be stepped with ``step_optimizer``.

        With ``aggregation_frequency`` above 1 gradients are averaged over the batches, unless
        ``average_aggregated_gradients`` is false. ``backward_passes_per_step`` and
        ``fp16_compression`` belonged to Horovod and have no effect.

        Example: ``self.optimizer = context.wrap_optimizer(torch.optim.SGD(params, lr=0.1))``
        """
        if backward_passes_per_step < 1:
            raise ValueError("backward_passes_per_step must be at least 1")
        if fp16_compression:
            logger.warning("fp16_compression has no effect: gradients are sent uncompressed")
        self.optimizers.append(optimizer)
        self._averaged[id(optimizer)] = average_aggregated_gradients is not False
        return optimizer

    def wrap_lr_scheduler(
        self, lr_scheduler: Any, step_mode: LRScheduler.StepMode, frequency: int = 1
    ) -> Any:
        """Register a scheduler of a wrapped optimizer; ``step_mode`` says when to step it.

        Example::

            scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 10)
            context.wrap_lr_scheduler(scheduler, pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH)
        """
        plateau = isinstance(lr_scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
        if plateau and step_mode != LRScheduler.StepMode.MANUAL_STEP:
            raise ValueError(
                "ReduceLROnPlateau needs a metric to step: wrap it with StepMode.MANUAL_STEP, and "
                "call its step(metric) in on_validation_end of a callback"
            )
        optimizer = getattr(lr_scheduler, "optimizer", None)
        if optimizer is not None and not any(optimizer is known for known in self.optimizers):
            raise ValueError("wrap the optimizer of a scheduler before the scheduler")
        self.lr_schedulers.append(LRScheduler(lr_scheduler, step_mode, frequency))
        return lr_scheduler

    def wrap_scaler(self, scaler: Any) -> Any:
        """Register a ``torch.amp.GradScaler``, before any model; its state is part of checkpoints.

        Example::

            self.scaler = context.wrap_scaler(torch.amp.GradScaler("cuda"))
        """
        if self.models:
            raise RuntimeError("call wrap_scaler() or use_amp() before wrap_model()")
        self._scaler = scaler
        return scaler

    def autocast_forward_pass(self, to_wrap: Any) -> Any:
        """Let a model's forward pass run in mixed precision, and return 32-bit outputs.

        Example: ``model = context.autocast_forward_pass(model)``
        """
        forward, kind = to_wrap.forward, self.device.type

        def autocast(*args: Any, **kwargs: Any) -> Any:
            with torch.autocast(kind):
                return _widen(forward(*args, **kwargs))

        to_wrap.forward = autocast
        return to_wrap

    def configure_apex_amp(self, *_: Any, **__: Any) -> Any:
        """Raise RuntimeError: NVIDIA's Apex is not supported; use automatic mixed precision.

        Example: ``context.experimental.use_amp()``
        """
        raise RuntimeError(
            "Apex is not supported; call context.experimental.use_amp() before wrap_model()"
        )

    # A step.

    def backward(
        self,
        loss: Any,
        gradient: Optional[Any] = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Compute gradients, of a loss that is scaled where ``use_amp`` is in force.

        Example: ``context.backward(loss)``
        """
        if self.experimental._auto_amp:
            loss = self._scaler.scale(loss)
        loss.backward(gradient=gradient, retain_graph=retain_graph, create_graph=create_graph)

    def step_optimizer(
        self,
        optimizer: Any,
        clip_grads: Optional[Callable[[Iterator[Any]], Any]] = None,
        auto_zero_grads: bool = True,
        scaler: Optional[Any] = None,
    ) -> None:
        """Step an optimizer and clear its gradients, with every ``aggregation_frequency``-th batch.

        ``clip_grads`` gets the parameters, when their gradients are averaged and unscaled.

        Example::

            context.step_optimizer(
                self.optimizer, clip_grads=lambda params: clip_grad_norm_(params, 1.0)
            )
        """
        if not auto_zero_grads and self._aggregation_frequency > 1:
            raise ValueError(
                "auto_zero_grads=False needs aggregation_frequency 1: gradients of several batches "
                "are cleared by the platform"
            )
        if not self._should_step():
            return
        # The workers' gradients are averaged already: DistributedDataParallel does it in backward.
        params = [param for group in optimizer.param_groups for param in group["params"]]
        if self._aggregation_frequency > 1 and self._averaged.get(id(optimizer), True):
            for param in params:
                if param.grad is not None:
                    param.grad.div_(self._aggregation_frequency)
        scaler = self._scaler if self.experimental._auto_amp else scaler
        if clip_grads is not None:
            if self.experimental._auto_amp:
                self._scaler.unscale_(optimizer)
            clip_grads(iter(params))
        if scaler is not None:
            scaler.step(optimizer)
        else:
            optimizer.step()
        if auto_zero_grads:
            optimizer.zero_grad()

    def _should_step(self) -> bool:
        return (self.current_train_batch() + 1) % self._aggregation_frequency == 0

    def _no_sync(self) -> ContextManager[Any]:
        """Return a context in which workers do not average gradients, before a step."""
        stack = contextlib.ExitStack()
        if not self._should_step():
            for model in self.models:
                if isinstance(model, DistributedDataParallel):
                    stack.enter_context(model.no_sync())
        return stack

    def _after_batch(self) -> None:
        """Step the objects that the platform steps: schedulers, and the scaler of ``use_amp``."""
        if not self._should_step():
            return
        if self.experimental._auto_amp:
            self._scaler.update()
        for scheduler in self.lr_schedulers:
            times = scheduler._steps_after(
                self.current_train_batch(), self._aggregation_frequency, self._length()
            )
            for _ in range(times):
                scheduler.step()


def _join_group(device: Any) -> None:
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")


def _widen(output: Any) -> Any:
    """Return outputs of mixed precision as 32-bit numbers."""
    if isinstance(output, torch.Tensor):
        return output.float() if output.is_floating_point() else output
    if isinstance(output, dict):
        return type(output)((name, _widen(value)) for name, value in output.items())
    if isinstance(output, tuple) and hasattr(output, "_fields"):
        return type(output)(*map(_widen, output))
    if isinstance(output, (list, tuple)):
        return type(output)(map(_widen, output))
    return output
