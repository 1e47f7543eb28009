import os

import torch

import determined as det
from determined import core


def make_data(count, seed):
    """Points of two spirals, and of which spiral each is."""
    generator = torch.Generator().manual_seed(seed)
    radius = 3 * torch.rand(count, generator=generator)
    kinds = torch.randint(2, (count,), generator=generator)
    angle = 2 * radius + 3.14 * kinds
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), kinds


def main(core_context, hparams, latest):
    torch.manual_seed(1)
    points, kinds = make_data(1024, seed=1)
    test_points, test_kinds = make_data(256, seed=2)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 32),
        torch.nn.Tanh(),
        torch.nn.Linear(32, 32),
        torch.nn.Tanh(),
        torch.nn.Linear(32, 2),
    )
    rank, size = core_context.distributed.rank, core_context.distributed.size
    trained = torch.nn.parallel.DistributedDataParallel(model) if size > 1 else model
    optimizer = torch.optim.Adam(model.parameters(), lr=hparams["lr"])
    done = 0
    if latest is not None:
        with core_context.checkpoint.restore_path(latest) as path:
            state = torch.load(path / "state.pt")
        done = state["epoch"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        print("continuing after epoch", done)

    def save(epoch):
        state = {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        state["random"] = torch.get_rng_state()
        if rank == 0:
            with core_context.checkpoint.store_path({"steps_completed": epoch}) as (path, _):
                torch.save(state, path / "state.pt")

    for epoch in range(done + 1, hparams["epochs"] + 1):
        for batch in torch.randperm(len(points)).split(64):
            mine = batch[rank::size]
            loss = torch.nn.functional.cross_entropy(trained(points[mine]), kinds[mine])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(test_points).argmax(1) == test_kinds).float().mean().item()
        if rank == 0:
            core_context.train.report_training_metrics(epoch, {"loss": loss.item()})
            validation = {"accuracy": accuracy, "epochs": epoch}
            core_context.train.report_validation_metrics(epoch, validation)
            core_context.train.report_progress(epoch / hparams["epochs"])
        if epoch % 100 == 0 or epoch == hparams["epochs"]:
            save(epoch)
        elif core_context.preempt.should_preempt():
            save(epoch)
            print("stopping after epoch", epoch)
            return


if __name__ == "__main__":
    info, distributed = det.get_cluster_info(), None
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        distributed = core.DistributedContext.from_torch_distributed()
    with core.init(distributed=distributed) as core_context:
        if info is None:
            main(core_context, {"lr": 0.003, "epochs": 30}, None)
        else:
            main(core_context, info.trial.hparams, info.latest_checkpoint)
