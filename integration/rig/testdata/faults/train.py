"""A training of which everything can be counted afterwards.

It numbers its log lines, metrics and checkpoints by step, and keeps its own account of them in
the folder that the hyperparameter "record" names: a line per process that was started ("starts"),
per step that was reported ("steps"), per checkpoint that was stored ("checkpoints"). While it
lives it writes the machine's monotonic time into a file of its process ("beat-<name>"), so that it
can be told whether two processes of it ever ran at once. A process is known by a random name, as
its pid is one of its sandbox. It continues until there is a file "stop".

With the hyperparameter "stubborn" it cares neither for what is answered to its reports nor for
requests to end, as code that reports nothing would.
"""

import contextlib
import os
import pathlib
import signal
import threading
import time

import determined as det
from determined import core


class Record:
    def __init__(self, folder: str) -> None:
        self.folder = pathlib.Path(folder)
        self.name = os.urandom(4).hex()

    def add(self, name: str, *words) -> None:
        # One write of few bytes to a file opened for appending: whole, or not there.
        line = " ".join(map(str, words)) + "\n"
        fd = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)

    def asks_for_the_end(self) -> bool:
        return (self.folder / "stop").exists()

    def beat(self) -> None:
        fd = os.open(self.folder / f"beat-{self.name}", os.O_WRONLY | os.O_CREAT, 0o644)
        while True:
            os.pwrite(fd, b"%020.6f\n" % time.monotonic(), 0)
            time.sleep(0.02)


def restored(context: core.Context, latest) -> int:
    if latest is None:
        return 0
    with context.checkpoint.restore_path(latest) as path:
        return int((path / "state").read_text())


def advance(context: core.Context, record: Record, run: str, step: int, every: int) -> None:
    context.train.report_training_metrics(
        steps_completed=step, metrics={"loss": 1.0 / step, "step": step}
    )
    record.add("steps", run, step)
    if step % every == 0:
        context.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1.0 / step})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "state").write_text(str(step))
        record.add("checkpoints", run, step, uuid)


def train(context: core.Context, info: det.ClusterInfo, record: Record) -> None:
    hparams = info.trial.hparams
    run = info.allocation_id.rsplit(".", 1)[1]
    ignored = (Exception,) if hparams["stubborn"] else ()
    if hparams["stubborn"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    step = restored(context, info.latest_checkpoint)
    while not record.asks_for_the_end():
        step += 1
        print(f"run {run} step {step}", flush=True)
        if hparams["noise"]:
            print("." * hparams["noise"], flush=True)
        with contextlib.suppress(*ignored):
            advance(context, record, run, step, hparams["every"])
        time.sleep(hparams["pause"])


def main() -> None:
    info = det.get_cluster_info()
    record = Record(info.trial.hparams["record"])
    run = info.allocation_id.rsplit(".", 1)[1]
    record.add("starts", run, record.name, f"{time.monotonic():.6f}")
    threading.Thread(target=record.beat, daemon=True).start()
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
        train(context, info, record)
    record.add("ends", run, record.name)


if __name__ == "__main__":
    main()
