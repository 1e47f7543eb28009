"""Fine-tunes a model made on the spot with Hugging Face's Trainer, with and without callback."""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import time
from typing import Any, Dict, List

import torch
import transformers

from determined import core
from determined.transformers import DetCallback

STEPS, BATCH, EVERY, WARM_UP = 60, 8, 10, 10


class Clock(transformers.TrainerCallback):
    """Notes when steps begin."""

    def __init__(self) -> None:
        self.at: List[float] = []
        self.cpu: List[float] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.at.append(time.perf_counter())
        self.cpu.append(time.process_time())


def sentences() -> List[Dict[str, List[int]]]:
    rows = range(STEPS * BATCH)
    return [
        {"input_ids": [(row + i) % 97 for i in range(32)], "labels": [row % 97] * 32}
        for row in rows
    ]


def network() -> Any:
    transformers.set_seed(7)
    size = {"vocab_size": 97, "n_positions": 32, "n_embd": 128, "n_layer": 2, "n_head": 4}
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**size, bos_token_id=0, eos_token_id=0)
    )


def train(folder: pathlib.Path, core_context: Any) -> Dict[str, float]:
    """Train once; return a step's time and processor time, in milliseconds."""
    args = transformers.TrainingArguments(
        output_dir=str(folder / "out"),
        max_steps=STEPS,
        per_device_train_batch_size=BATCH,
        logging_steps=EVERY,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    clock = Clock()
    callbacks: List[Any] = [clock]
    if core_context is not None:
        callbacks.append(DetCallback(core_context, args))
    data = sentences()
    trainer = transformers.Trainer(
        network(), args, train_dataset=data, eval_dataset=data[:BATCH], callbacks=callbacks
    )
    trainer.train()
    at, cpu = clock.at[WARM_UP:], clock.cpu[WARM_UP:]
    return {
        "step": 1000 * statistics.median(b - a for a, b in zip(at, at[1:])),
        "mean": 1000 * (at[-1] - at[0]) / (len(at) - 1),
        "cpu": 1000 * (cpu[-1] - cpu[0]) / (len(cpu) - 1),
    }


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    folder = pathlib.Path(os.environ["DET_RUN_DIR"])
    found: Dict[str, List[Dict[str, float]]] = {"ours": [], "yard": []}
    for number in range(2 * rounds):
        if number % 4 in (0, 3):
            with core.init() as core_context:
                found["ours"].append(train(folder, core_context))
        else:
            found["yard"].append(train(folder, None))
    pathlib.Path(os.environ["BENCH_OUT"]).write_text(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
