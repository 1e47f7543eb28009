"""The loop of all trials: read it top to bottom.

    until max_length:
        train up to the next boundary: a report, a validation, a checkpoint or the end
        report the metrics of the batches since the last one
        validate if that is due; save if the checkpoint policy says so
        save if that is due
        save and end if the trial is preempted
    validate and save if the last step has no validation or checkpoint

Several workers run it in step. It knows lengths, reports and preemption; an ``Engine`` knows the
framework: how to train on a batch, to evaluate, to save and to load.
"""

from __future__ import annotations

import dataclasses
import logging
import pathlib
from typing import Any, ClassVar, Dict, List, Optional, Protocol

from determined import core, errors, util
from determined._info import trial_origins
from determined.pytorch._units import Batch, Epoch, TrainUnit

logger = logging.getLogger("determined.pytorch")


class Engine(Protocol):
    """The interface between the loop and a framework."""

    epoch_length: int
    # Whether every worker writes its part of a checkpoint; else the chief writes all of it.
    sharded: ClassVar[bool]

    def start(self, skip: int) -> None:
        """Get ready to train, after so many batches."""

    def train_step(self, batch_idx: int) -> Dict[str, Any]:
        """Train on the next batch, and return this worker's metrics."""

    def training_metrics(self, batches: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """Return the metrics of batches as averages over all workers."""

    def reduced_training_metrics(self) -> Dict[str, Any]:
        """Return the metrics of custom reducers, and reset them."""

    def evaluate(self, only_one: bool) -> Dict[str, Any]:
        """Return the metrics of validation, the same on all workers."""

    def save(self, path: pathlib.Path, state: Dict[str, Any]) -> None:
        """Write a checkpoint and the state of the loop; runs where ``sharded`` says."""

    def load(self, path: pathlib.Path) -> Optional[Dict[str, Any]]:
        """Read a checkpoint, and return the state of the loop that wrote it."""

    def metadata(self) -> Dict[str, Any]:
        """Return the metadata of a checkpoint."""

    def tell(self, hook: str, *args: Any, **kwargs: Any) -> None:
        """Call a method of all callbacks."""


@dataclasses.dataclass
class Plan:
    """The length of training, and the periods of reports, validations and checkpoints."""

    max_length: TrainUnit
    reporting_period: TrainUnit
    validation_period: Optional[TrainUnit] = None
    checkpoint_period: Optional[TrainUnit] = None
    checkpoint_policy: str = "best"
    step_zero_validation: bool = False
    test_mode: bool = False
    searcher_metric: Optional[str] = None
    smaller_is_better: bool = True
    latest_checkpoint: Optional[str] = None
    # From the master; None off the cluster, where the checkpoint has it.
    steps_completed: Optional[int] = None
    trial_id: int = 0


class Loop:
    """The training of one trial."""

    def __init__(self, core_context: core.Context, engine: Engine, plan: Plan, stop: Any) -> None:
        self._core = core_context
        self._dist = core_context.distributed
        self._chief = core_context.distributed.rank == 0
        self._engine = engine
        self._plan = plan
        self._stop_requested = stop
        self.steps = 0
        self._last_validation: Optional[int] = None
        self._last_checkpoint: Optional[int] = None
        self._best: Optional[float] = None

    def run(self) -> None:
        """Train until the end, or until the trial is preempted."""
        skip = self._plan.steps_completed or 0
        self._engine.tell("on_trial_startup", skip, self._plan.latest_checkpoint)
        try:
            if self._plan.latest_checkpoint is not None:
                self._restore(self._plan.latest_checkpoint)
            if self._plan.steps_completed is None:
                skip = self.steps
            self._engine.tell("on_training_start")
            if (
                self._plan.step_zero_validation
                and self.steps == 0
                and self._last_validation is None
            ):
                self._validate()
            self._engine.start(skip)
            if self._train():
                self._checkpoint_unless_current()
                return
            if self._last_validation != self.steps:
                self._validate()
            self._checkpoint_unless_current()
        finally:
            self._engine.tell("on_trial_shutdown")

    @property
    def _total(self) -> int:
        length = self._plan.max_length._number("max_length")
        return (
            length * self._engine.epoch_length
            if isinstance(self._plan.max_length, Epoch)
            else length
        )

    def _train(self) -> bool:
        """Train to the end; return True if training ends early."""
        while self.steps < self._total:
            self._status("training")
            self._train_to_boundary()
            if self._plan.test_mode:
                return False
            if self._due(self._plan.validation_period) and self._last_validation != self.steps:
                self._validate()
            if self._due(self._plan.checkpoint_period):
                self._checkpoint_unless_current()
            if self._leave():
                return True
        return False

    def _train_to_boundary(self) -> None:
        batches: List[Dict[str, Any]] = []
        while True:
            batches.append(self._engine.train_step(self.steps))
            self.steps += 1
            if self._at_boundary():
                break
        per_batch = self._engine.training_metrics(batches)
        metrics = {**_averages(per_batch), **self._engine.reduced_training_metrics()}
        metrics = {**metrics, **self._counters()}
        if self._chief:
            self._core.train.report_training_metrics(
                steps_completed=self.steps, metrics=metrics, batch_metrics=per_batch
            )
        self._engine.tell("on_training_workload_end", avg_metrics=metrics, batch_metrics=per_batch)
        done = self.steps >= self._total
        if self._chief and (done or self._plan.test_mode or self._due(self._plan.reporting_period)):
            self._core.train.report_progress(progress=min(1.0, self.steps / self._total))

    def _at_boundary(self) -> bool:
        plan = self._plan
        periods = (plan.reporting_period, plan.validation_period, plan.checkpoint_period)
        ended = plan.test_mode or self.steps >= self._total
        return ended or any(self._due(period) for period in periods)

    def _due(self, period: Optional[TrainUnit]) -> bool:
        if period is None:
            return False
        if not isinstance(period, Epoch):
            return period.should_stop(self.steps)
        epochs, rest = divmod(self.steps, self._engine.epoch_length)
        return rest == 0 and period.should_stop(epochs)

    def _leave(self) -> bool:
        if any(self._dist.allgather(bool(self._stop_requested()))):
            logger.info("the trial requested to stop early, at batch %d", self.steps)
            return True
        if self._core.preempt.should_preempt():
            logger.info("stopping at batch %d; the trial resumes later", self.steps)
            return True
        return False

    # Validation.

    def _validate(self) -> None:
        self._status("validating")
        metrics = {**self._engine.evaluate(self._plan.test_mode), **self._counters()}
        self._last_validation = self.steps
        before = self._dist.broadcast(self._best_before() if self._chief else None)
        if self._chief:
            self._core.train.report_validation_metrics(steps_completed=self.steps, metrics=metrics)
        if self.steps == 0:
            # Nothing is trained worth keeping.
            return
        policy = self._plan.checkpoint_policy
        if policy == "all" or (policy == "best" and self._is_better(metrics, before)):
            self._checkpoint_unless_current()

    def _best_before(self) -> Optional[float]:
        """Return the best metric of the experiment so far.

        The master may not have received the last validation of this process yet.
        """
        if self._plan.checkpoint_policy != "best":
            return None
        known = [self._core.train.get_experiment_best_validation(), self._best]
        values = [value for value in known if value is not None]
        if not values:
            return None
        return min(values) if self._plan.smaller_is_better else max(values)

    def _is_better(self, metrics: Dict[str, Any], before: Optional[float]) -> bool:
        name = self._plan.searcher_metric
        if name not in metrics or not util.is_numerical_scalar(metrics[name]):
            raise errors.InvalidExperimentException(
                f"checkpoint_policy best needs searcher.metric, {name!r}, as a number; validation "
                f"has {', '.join(sorted(metrics))}"
            )
        value = float(metrics[name])
        sign = 1 if self._plan.smaller_is_better else -1
        better = before is None or sign * value < sign * before
        self._best = value if better else before
        return better

    # Checkpoints.

    def _checkpoint_unless_current(self) -> None:
        if self._last_checkpoint == self.steps:
            return
        self._status("checkpointing")
        self._last_checkpoint = self.steps
        sharded = self._engine.sharded
        if self._chief or sharded:
            metadata = {**self._engine.metadata(), "steps_completed": self.steps}
            with self._core.checkpoint.store_path(metadata, shard=sharded) as (path, uuid):
                self._engine.save(path, self._state())
            self._engine.tell("on_checkpoint_upload_end", uuid=uuid)
        # The others continue when it is stored: what comes next may be the end of the process.
        self._dist.broadcast(None)

    def _state(self) -> Dict[str, Any]:
        return {
            "trial_id": self._plan.trial_id,
            "last_ckpt": self._last_checkpoint,
            "step_id": 0,
            "last_val": self._last_validation or 0,
            "batches_trained": self.steps,
            "epochs_trained": self.steps // self._engine.epoch_length,
        }

    def _restore(self, uuid: str) -> None:
        self._status("restoring")
        with self._core.checkpoint.restore_path(uuid) as path:
            state = self._engine.load(pathlib.Path(path))
        own = [self._plan.trial_id, *trial_origins()]
        if state is None or int(state.get("trial_id", -1)) not in own:
            logger.info("training begins at batch 0 with the weights of checkpoint %s", uuid)
            return
        self.steps = int(state.get("batches_trained", state.get("latest_batch", 0)))
        self._last_checkpoint = self.steps
        self._last_validation = state.get("last_val") or None
        # The checkpoint may have been validated after it was written.
        known = self._core.train._get_last_validation() if self._chief else None
        if self._dist.broadcast(known) == self.steps:
            self._last_validation = self.steps
        logger.info("continuing from checkpoint %s at batch %d", uuid, self.steps)

    def _counters(self) -> Dict[str, int]:
        return {"batches": self.steps, "epochs": self.steps // self._engine.epoch_length}

    def _status(self, words: str) -> None:
        if self._chief:
            self._core.train.set_status(words)


def _averages(batches: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Return the average of each metric over the batches that have it."""
    found: Dict[str, Any] = {}
    for name in {name: None for metrics in batches for name in metrics}:
        values = [metrics[name] for metrics in batches if name in metrics]
        numbers = all(util.is_numerical_scalar(value) for value in values)
        found[name] = sum(map(float, values)) / len(values) if numbers else values[-1]
    return found


DEFAULT_REPORTING_PERIOD = Batch(100)
