"""Trains the language model with the Core API, on one slot or with DDP on several.

On a cluster: ``det experiment create const.yaml .``; on a laptop: ``python3 train.py``.
"""

import contextlib
import logging
import os

import torch
from sentences import Model, loss_of, make, perplexity_of, write

import determined as det
from determined import core

# The settings of const.yaml, for a run outside a cluster.
HPARAMS = {"global_batch_size": 32, "lr": 0.003, "width": 32, "layers": 1}
STEPS, REPORT, VALIDATE, SAVE = 300, 20, 100, 100


def main():
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else HPARAMS
    latest = info.latest_checkpoint if info else None
    torch.manual_seed(info.trial.trial_seed if info else 1)
    with workers() as distributed, core.init(distributed=distributed) as core_context:
        train(core_context, hparams, latest)


@contextlib.contextmanager
def workers():
    """Connect the workers of determined.launch.torch_distributed; return None if there is one."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield None
        return
    torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield core.DistributedContext.from_torch_distributed()
    finally:
        torch.distributed.destroy_process_group()


def train(core_context, hparams, latest):
    rank, size = core_context.distributed.rank, core_context.distributed.size
    logging.info("worker %d of %d", rank + 1, size)
    rows, test = make(2000, seed=1), make(200, seed=2)
    bare = model = Model(hparams["width"], hparams["layers"])
    if size > 1:
        # All workers begin with the same weights, and average their gradients.
        model = torch.nn.parallel.DistributedDataParallel(bare)
    optimizer = torch.optim.Adam(model.parameters(), lr=hparams["lr"])
    # The same on all workers: each draws the whole batch, and uses its own part of it.
    generator = torch.Generator().manual_seed(7)
    step = 0

    def save():
        if rank == 0:
            state = {"step": step, "model": bare.state_dict(), "optimizer": optimizer.state_dict()}
            state["generator"] = generator.get_state()
            with core_context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                torch.save(state, path / "state.pt")

    if latest is not None:
        with core_context.checkpoint.restore_path(latest) as path:
            state = torch.load(path / "state.pt")
        step = state["step"]
        bare.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        generator.set_state(state["generator"])
        logging.info("continuing from checkpoint %s at step %d", latest, step)

    losses = []
    while step < STEPS:
        batch = torch.randint(len(rows), (hparams["global_batch_size"],), generator=generator)
        loss = loss_of(model, rows[batch[rank::size]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        step += 1

        if step % REPORT == 0:
            mean = sum(losses) / len(losses)
            losses.clear()
            parts = core_context.distributed.gather(mean)  # None but on the chief
            if rank == 0:
                core_context.train.report_training_metrics(step, {"loss": sum(parts) / size})
                core_context.train.report_progress(step / STEPS)
        if step % VALIDATE == 0 and rank == 0:
            perplexity = perplexity_of(bare, test)
            core_context.train.report_validation_metrics(step, {"perplexity": perplexity})
        if step % SAVE == 0:
            save()
        if step % REPORT == 0 and step < STEPS and core_context.preempt.should_preempt():
            if step % SAVE != 0:
                save()
            logging.info("stopping at step %d; the trial resumes later", step)
            return
    if rank == 0:
        logging.info("the model writes: %s", write(bare, torch.Generator().manual_seed(1)))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    main()
