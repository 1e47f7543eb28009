"""Fine-tunes a small BERT to tell good reviews from bad ones, with the Trainer of Transformers.

On a cluster: ``det experiment create const.yaml .``; on a laptop: ``python3 finetune.py``.
"""

import logging
import os
import tempfile

import torch
import transformers
from reviews import Reviews, make_base

import determined as det
from determined import core
from determined.transformers import DetCallback

# The settings of const.yaml, for a run outside a cluster.
HPARAMS = {"learning_rate": 0.003, "batch_size": 32}
STEPS = 200


def main():
    info = det.get_cluster_info()
    distributed = None
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        distributed = core.DistributedContext.from_torch_distributed()
    with core.init(distributed=distributed) as context, tempfile.TemporaryDirectory() as folder:
        finetune(context, info.trial.hparams if info else HPARAMS, folder)


def finetune(core_context, hparams, folder):
    base = os.path.join(folder, f"base-{core_context.distributed.rank}")
    make_base(base)
    words = transformers.AutoTokenizer.from_pretrained(base)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=2)
    args = transformers.TrainingArguments(
        output_dir="out",
        max_steps=STEPS,
        per_device_train_batch_size=hparams["batch_size"] // core_context.distributed.size,
        learning_rate=hparams["learning_rate"],
        lr_scheduler_type="constant",
        logging_steps=20,
        eval_strategy="steps",
        eval_steps=100,
        save_strategy="steps",
        save_steps=100,
        report_to=[],
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
    )
    callbacks = []
    if det.get_cluster_info() is not None:
        callbacks.append(DetCallback(core_context, args))
    trainer = transformers.Trainer(
        model,
        args,
        train_dataset=Reviews(words, 1000, seed=1),
        eval_dataset=Reviews(words, 200, seed=2),
        compute_metrics=accuracy,
        callbacks=callbacks,
    )
    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)


def accuracy(predicted):
    right = predicted.predictions.argmax(axis=1) == predicted.label_ids
    return {"accuracy": float(right.mean())}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    main()
