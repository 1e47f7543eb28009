"""The Core API for programs that run anywhere: on a laptop, under Ray, on another cluster.

    from determined.experimental import core_v2

    core_v2.init(config=core_v2.Config(name="laptop", hparams={"lr": 0.1}))
    core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
    core_v2.close()

In a trial of the cluster ``init`` connects to that trial. Elsewhere it creates an unmanaged
experiment, and this program is the experiment's trial: it reports metrics and checkpoints, sends
its output, and reports every minute that it is alive. ``init_context`` returns a
``core.Context`` for a ``with`` block; use it if a program needs several contexts.
"""

from typing import Optional

import determined
from determined import core
from determined.core import DistributedContext, PreemptMode, TensorboardMode
from determined.experimental.core_v2._config import Config, DefaultConfig, UnmanagedConfig
from determined.experimental.core_v2._context import init_context
from determined.experimental.core_v2._single import close, init, url_reverse_webui_exp_view

# The contexts that init has made; None before init and after close.
train: Optional[core.TrainContext] = None
distributed: Optional[core.DistributedContext] = None
preempt: Optional[core.PreemptContext] = None
checkpoint: Optional[core.CheckpointContext] = None
searcher: Optional[core.SearcherContext] = None
info: Optional[determined.ClusterInfo] = None

__all__ = [
    "Config",
    "DefaultConfig",
    "DistributedContext",
    "PreemptMode",
    "TensorboardMode",
    "UnmanagedConfig",
    "checkpoint",
    "close",
    "distributed",
    "info",
    "init",
    "init_context",
    "preempt",
    "searcher",
    "train",
    "url_reverse_webui_exp_view",
]
