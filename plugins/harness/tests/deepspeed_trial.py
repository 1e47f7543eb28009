"""Small trials for the tests of determined.pytorch.deepspeed; run as a script it trains them."""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, List, Optional

import deepspeed
import deepspeed.ops
import torch

from determined import core, pytorch
from determined.pytorch import deepspeed as det_ds
from tests.pytorch_trial import Data

# On one node DeepSpeed's workers would exchange data through an extension, which it compiles for
# minutes at first. Without any extension they do so through PyTorch's gloo.
deepspeed.ops.__compatible_ops__ = {}

HPARAMS: Dict[str, Any] = {"dropout": 0.5, "micro_batch": 2, "accumulation": 2, "zero": 0}


def configuration(hparams: Dict[str, Any]) -> Dict[str, Any]:
    base = {
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
        "train_micro_batch_size_per_gpu": 1,
        "steps_per_print": 1000,
    }
    over = {
        "train_micro_batch_size_per_gpu": hparams["micro_batch"],
        "gradient_accumulation_steps": hparams["accumulation"],
        "optimizer": {"params": {"lr": 0.05}},
        "zero_optimization": {"stage": hparams["zero"]},
    }
    return det_ds.overwrite_deepspeed_config(base, over)


class Recorder(pytorch.PyTorchCallback):
    """Records its calls, and stores a number in checkpoints."""

    def __init__(self) -> None:
        self.uuids: List[str] = []
        self.reports: List[Any] = []
        self.validations: List[Any] = []
        self.loaded: Any = None

    def on_training_workload_end(self, avg_metrics: Any, batch_metrics: Any) -> None:
        self.reports.append({name: float(value) for name, value in avg_metrics.items()})

    def on_validation_end(self, metrics: Any) -> None:
        self.validations.append({name: float(value) for name, value in metrics.items()})

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        self.uuids.append(uuid)

    def state_dict(self) -> Dict[str, Any]:
        return {"reports": len(self.reports)}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.loaded = state_dict


class Line(det_ds.DeepSpeedTrial):
    """Learns a line, and records its batches."""

    def __init__(self, context: det_ds.DeepSpeedTrialContext) -> None:
        self.context = context
        self.hparams = {**HPARAMS, **context.get_hparams()}
        torch.manual_seed(3)
        # Dropout draws random numbers, so a test sees whether they are restored.
        net = torch.nn.Sequential(torch.nn.Dropout(self.hparams["dropout"]), torch.nn.Linear(4, 1))
        engine, *_ = deepspeed.initialize(
            model=net, model_parameters=net.parameters(), config=configuration(self.hparams)
        )
        self.model = context.wrap_model_engine(engine)
        self.recorder = Recorder()
        self.seen: Dict[int, Any] = {}
        self.losses: Dict[int, Any] = {}
        self.stop_at = int(self.hparams.get("stop_at", -1))

    def train_batch(self, dataloader_iter: Any, epoch_idx: int, batch_idx: int) -> Any:
        x, y, index = self.context.to_device(next(dataloader_iter))
        loss = ((self.model(x).squeeze(1) - y) ** 2).mean()
        self.model.backward(loss)
        self.model.step()
        self.seen.setdefault(batch_idx, []).extend(index.tolist())
        self.losses.setdefault(batch_idx, []).append(loss.item())
        if batch_idx == self.stop_at:
            self.context.set_stop_requested(True)
        return {"loss": loss}

    def evaluate_batch(self, dataloader_iter: Any, number: int) -> Dict[str, Any]:
        x, y, _ = self.context.to_device(next(dataloader_iter))
        return {"val_loss": ((self.model(x).squeeze(1) - y) ** 2).mean()}

    def build_training_data_loader(self) -> Any:
        size = self.context.get_train_micro_batch_size_per_gpu()
        in_order = bool(self.hparams.get("in_order"))
        return pytorch.DataLoader(Data(24), batch_size=size, shuffle=not in_order)

    def build_validation_data_loader(self) -> Any:
        return pytorch.DataLoader(Data(16), batch_size=2)

    def build_callbacks(self) -> Dict[str, pytorch.PyTorchCallback]:
        return {"recorder": self.recorder}

    def weights(self) -> List[Any]:
        return [parameter.tolist() for parameter in self.model.parameters()]


def _loss(output: Any, wanted: Any) -> Any:
    return ((output.squeeze(1) - wanted) ** 2).mean()


class Stages(Line):
    """The same line, as a pipeline of as many stages as there are workers."""

    def __init__(self, context: det_ds.DeepSpeedTrialContext) -> None:
        self.context = context
        self.hparams = {**HPARAMS, **context.get_hparams()}
        torch.manual_seed(3)
        net = deepspeed.pipe.PipelineModule(
            [torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)],
            num_stages=context.distributed.size,
            loss_fn=_loss,
            partition_method="uniform",
        )
        engine, *_ = deepspeed.initialize(
            model=net,
            model_parameters=[p for p in net.parameters() if p.requires_grad],
            config=configuration(self.hparams),
        )
        self.model = context.wrap_model_engine(engine)
        self.recorder = Recorder()
        self.seen = {}
        self.losses = {}

    def train_batch(self, dataloader_iter: Any, epoch_idx: int, batch_idx: int) -> Any:
        loss = self.model.train_batch(dataloader_iter)
        self.losses[batch_idx] = [float(loss)]
        return loss

    def evaluate_batch(self, dataloader_iter: Any) -> Dict[str, Any]:  # type: ignore[override]
        return {"val_loss": self.model.eval_batch(dataloader_iter)}

    def build_training_data_loader(self) -> Any:
        size = self.context.get_train_micro_batch_size_per_gpu()
        return pytorch.DataLoader(Pairs(24), batch_size=size)

    def build_validation_data_loader(self) -> Any:
        return pytorch.DataLoader(Pairs(12), batch_size=2)


class Pairs(Data):
    """The records of a pipeline: inputs and the expected outputs."""

    def __getitem__(self, index: int) -> Any:
        return self.x[index], self.y[index]


def fit(trial_class: Any = Line, hparams: Optional[Dict[str, Any]] = None, **arguments: Any) -> Any:
    """Train a trial off the cluster, and return it."""
    given = {**HPARAMS, **(hparams or {})}
    with det_ds.init(hparams=given) as context:
        trial = trial_class(context)
        det_ds.Trainer(trial, context).fit(**arguments)
    return trial


def found(trial: Any) -> Dict[str, Any]:
    """Return the values that tests compare."""
    return {
        "seen": trial.seen,
        "losses": trial.losses,
        "weights": trial.weights(),
        "reports": trial.recorder.reports,
        "validations": trial.recorder.validations,
        "uuids": trial.recorder.uuids,
        "loaded": trial.recorder.loaded,
    }


def main(out: str) -> None:
    """Train without a stop, with one, in order, and as a pipeline; write the results of each."""
    runs: Dict[str, Any] = {}
    zero = {"zero": 1}
    periods: Any = {"max_length": pytorch.Batch(8), "validation_period": pytorch.Epoch(1)}
    runs["whole"] = fit(hparams=zero, checkpoint_policy="none", **periods)
    stopped = {**zero, "stop_at": 4}
    each: Any = {"reporting_period": pytorch.Batch(1), "checkpoint_policy": "none"}
    runs["part"] = fit(hparams=stopped, **{**periods, **each})
    uuid = runs["part"].recorder.uuids[-1]
    torch.manual_seed(99)
    runs["rest"] = fit(hparams=zero, latest_checkpoint=uuid, checkpoint_policy="none", **periods)
    in_order = {"in_order": 1, "dropout": 0.0, "micro_batch": 1}
    runs["in order"] = fit(hparams=in_order, max_length=pytorch.Batch(6), **each)
    runs["stages"] = fit(Stages, max_length=pytorch.Batch(6), **each)
    dist = core.DistributedContext.from_torch_distributed()
    with open(f"{out}.{dist.rank}", "w", encoding="utf-8") as file:
        json.dump({name: found(trial) for name, trial in runs.items()}, file)
    dist.close()


if __name__ == "__main__":
    main(sys.argv[1])
