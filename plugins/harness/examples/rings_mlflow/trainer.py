"""The Trainer of Transformers, which logs to MLflow. Nothing in this file is about a cluster."""

import argparse
import os

import rings
import torch
import transformers


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = rings.network(width)

    def forward(self, x, labels=None):
        logits = self.net(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def rows(count, seed):
    x, labels = rings.points(count, seed)
    return [{"x": p.tolist(), "labels": int(label)} for p, label in zip(x, labels)]


def accuracy(predicted):
    return {"accuracy": float((predicted.predictions.argmax(axis=1) == predicted.label_ids).mean())}


parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=0.01)
parser.add_argument("--width", type=int, default=16)
parser.add_argument("--max_steps", type=int, default=200)
options = parser.parse_args()

transformers.set_seed(1)
args = transformers.TrainingArguments(
    output_dir="out",
    max_steps=options.max_steps,
    learning_rate=options.learning_rate,
    per_device_train_batch_size=32,
    lr_scheduler_type="constant",
    logging_steps=10,
    eval_strategy="steps",
    eval_steps=50,
    save_strategy="steps",
    save_steps=50,
    save_total_limit=1,
    enable_jit_checkpoint=True,  # a checkpoint at SIGTERM
    report_to="mlflow",
    disable_tqdm=True,
    use_cpu=True,
)
trainer = transformers.Trainer(
    Model(options.width),
    args,
    train_dataset=rows(2000, 1),
    eval_dataset=rows(500, 2),
    compute_metrics=accuracy,
)
# The newest checkpoint, if there is one.
started = os.path.isdir("out") and any(name.startswith("checkpoint-") for name in os.listdir("out"))
trainer.train(resume_from_checkpoint=started)
