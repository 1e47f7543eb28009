"""Trains a small BERT that this file makes, with the Trainer of Transformers."""

import json
import tempfile
from typing import Dict, List

import torch
import transformers

from determined import core
from determined.transformers import DetCallback

STEPS, WORDS, LENGTH = 60, 50, 16


def rows() -> List[Dict[str, object]]:
    """Return texts of numbers; the label is whether the first one is in the upper half."""
    generator = torch.Generator().manual_seed(1)
    texts = torch.randint(WORDS, (STEPS * 16, LENGTH), generator=generator).tolist()
    return [{"input_ids": text, "labels": int(text[0] >= WORDS // 2)} for text in texts]


def main() -> None:
    transformers.set_seed(1)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(
        vocab_size=WORDS,
        intermediate_size=128,
        max_position_embeddings=LENGTH,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **sizes,
    )
    model = transformers.BertForSequenceClassification(config)
    with core.init() as context, tempfile.TemporaryDirectory() as folder:
        args = transformers.TrainingArguments(
            output_dir=folder,
            max_steps=STEPS,
            per_device_train_batch_size=16,
            learning_rate=0.003,
            lr_scheduler_type="constant",
            logging_steps=5,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=not torch.cuda.is_available(),
        )
        texts = rows()
        trainer = transformers.Trainer(
            model,
            args,
            train_dataset=texts,
            eval_dataset=texts[:32],
            callbacks=[DetCallback(context, args)],
        )
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    found = {"device": model.device.type, "first": losses[0], "last": losses[-1]}
    print("GPUCHECK " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
