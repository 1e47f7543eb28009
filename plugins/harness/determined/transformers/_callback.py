"""The callback that connects ``transformers.Trainer`` to the cluster."""

from __future__ import annotations

import json
import logging
import pathlib
from typing import Any, Dict, List, Optional

import transformers
from transformers import trainer_utils

import determined as det
from determined import core
from determined.core._train import TRAINING, VALIDATION
from determined.transformers import _metrics, _search

logger = logging.getLogger("determined.transformers")


class DetCallback(transformers.TrainerCallback):
    """Reports metrics, stores checkpoints, stops when the trial is preempted, and resumes.

    Make it before the ``Trainer``: where the trial has a checkpoint, it is downloaded into
    ``args.output_dir``, and ``args.resume_from_checkpoint`` names it::

        with core.init() as core_context:
            callback = DetCallback(core_context, args)
            trainer = transformers.Trainer(model, args, callbacks=[callback])
            trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)

    Metrics are reported when the Trainer logs them, and a checkpoint is stored when it saves one.
    At the end of training the callback asks for an evaluation and a checkpoint, if those of the
    last step are not there. A trial that is preempted saves and does not evaluate.

    ``filter_metrics`` are parts of the names of the metrics to report; the searcher's metrics are
    reported in any case. ``user_data`` is written into every checkpoint as ``my_data.json``.
    """

    def __init__(
        self,
        core_context: core.Context,
        args: transformers.TrainingArguments,
        filter_metrics: Optional[List[str]] = None,
        user_data: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__()
        info = det.get_cluster_info()
        if info is None:
            raise RuntimeError(
                "determined.transformers.DetCallback works on a cluster only; leave it out of the "
                "callbacks where det.get_cluster_info() is None"
            )
        self.core_context = core_context
        self.info = info
        self.filter_metrics = list(filter_metrics) if filter_metrics else None
        self.user_data = user_data
        # The last step of each kind: no step is reported or stored twice.
        self.last_train_metrics = -1
        self.last_eval_metrics = -1
        self.last_save = -1
        self.last_progress = 0
        self._preempted = False
        self.searcher_metric: Optional[str] = None
        self.time_metric: Optional[str] = None
        self.objectives: List[str] = []  # of a search with several metrics
        if info.task_type == "TRIAL":
            searcher = info.trial._config["searcher"]
            _search.check_length(searcher, args)
            self.searcher_metric = searcher["metric"]
            self.time_metric = searcher.get("time_metric")
            self.objectives = [metric["name"] for metric in searcher.get("metrics") or []]
        self.load_last_checkpoint(args)

    def load_last_checkpoint(self, args: transformers.TrainingArguments) -> None:
        """Download the trial's checkpoint, and have ``args.resume_from_checkpoint`` name it.

        Example: ``callback.load_last_checkpoint(args)``
        """
        latest = self.info.latest_checkpoint
        # Newer versions of transformers have no such argument.
        if latest is None or getattr(args, "overwrite_output_dir", False):
            return
        # Each node needs all parts: those of DeepSpeed's engines too.
        self.core_context.checkpoint.download(latest, args.output_dir)
        # A folder that remains after tasks may have checkpoints of other runs.
        metadata = self.core_context.checkpoint.get_metadata(latest)
        named = pathlib.Path(args.output_dir, f"checkpoint-{metadata.get('steps_completed')}")
        found = str(named) if named.is_dir() else trainer_utils.get_last_checkpoint(args.output_dir)
        args.resume_from_checkpoint = found
        logger.info("the trial continues from %s", found)

    def on_log(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        logs: Optional[Dict[str, Any]] = None,
        **kwargs: Any,
    ) -> None:
        """Report the Trainer's logs, once per step, and ask whether the trial is preempted."""
        if logs:
            self._report(state, logs)
        self._make_room(control)

    def _report(self, state: transformers.TrainerState, logs: Dict[str, Any]) -> None:
        step = state.global_step
        searched = (self.searcher_metric, self.time_metric, *self.objectives)
        wanted = [name for name in searched if name]
        metrics = _metrics.reported(logs, self.filter_metrics, wanted)
        metrics.setdefault("batches", step)
        metrics.setdefault("epochs", state.epoch)
        kind = _metrics.kind_of(logs)
        # After training the Trainer logs averages, and an evaluation may come once more: the
        # step has its report already.
        if kind == TRAINING and step != self.last_train_metrics:
            self.last_train_metrics = step
        elif kind == VALIDATION and step != self.last_eval_metrics:
            self.last_eval_metrics = step
            _metrics.check_searcher_metrics(metrics, self.searcher_metric, self.time_metric)
        else:
            return
        if state.is_world_process_zero:
            self.core_context.train.report_metrics(kind, step, metrics)

    def _make_room(self, control: transformers.TrainerControl) -> None:
        """End training if the trial is preempted; all workers get the same answer."""
        if self._preempted or self.core_context.preempt.should_preempt():
            self._preempted = True
            control.should_training_stop = True
            control.should_evaluate = False
            # The save at the end of training stores the checkpoint, once.

    def on_step_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Report the progress, each percent once."""
        if state.is_world_process_zero and state.max_steps > 0:
            percent = 100 * state.global_step // state.max_steps
            if percent > self.last_progress:
                self.last_progress = percent
                self.core_context.train.report_progress(min(1, percent / 100))

    def on_epoch_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """At the end of training, request a missing evaluation and checkpoint of the last step."""
        self._make_room(control)
        finished = state.global_step >= state.max_steps
        if not control.should_training_stop and not finished:
            return
        # A trial that continues from its last step trains no more, and would not evaluate either.
        if (finished or not self._preempted) and self.last_eval_metrics < state.global_step:
            control.should_evaluate = True
        if self.last_save < state.global_step:
            control.should_save = True

    def on_save(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Store what the Trainer has saved as a checkpoint of the trial."""
        step = state.global_step
        self.last_save = step
        folder = f"checkpoint-{step}"
        if self.user_data is not None and state.is_world_process_zero:
            path = pathlib.Path(args.output_dir, folder, "my_data.json")
            path.write_text(json.dumps(self.user_data), encoding="utf-8")
        metadata: Dict[str, Any] = {"steps_completed": step}
        if self.info.task_type == "TRIAL":
            metadata["trial_id"] = self.info.trial.trial_id
        # Everybody has saved before anybody looks for files.
        self.core_context.distributed.allgather(None)
        self.core_context.checkpoint.upload(
            args.output_dir,
            metadata=metadata,
            shard=True,
            selector=lambda path: path.startswith((f"{folder}/", "runs/")),
        )
