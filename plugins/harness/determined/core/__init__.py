"""The Core API: everything a training loop of its own needs to run on a cluster.

``init`` returns a ``Context`` made of small contexts, one per concern, each in a module of its
name. Each has a stand-in that does nothing harmful off the cluster. Reports go through one
``_reporter``, which holds them while no master answers.
"""

from determined.core._checkpoint import (
    CheckpointContext,
    DownloadMode,
    DummyCheckpointContext,
)
from determined.core._context import Context, _dummy_init, init
from determined.core._distributed import (
    DistributedContext,
    DummyDistributedContext,
    _run_on_rank_0_and_broadcast,
)
from determined.core._experimental import (
    DummyExperimentalCoreContext,
    ExperimentalCoreContext,
)
from determined.core._heartbeat import (
    _Heartbeat,
    _ManagedTrialHeartbeat,
    _UnmanagedTrialHeartbeat,
)
from determined.core._metrics import _DummyMetricsContext, _MetricsContext
from determined.core._preempt import (
    DummyPreemptContext,
    PreemptContext,
    PreemptMode,
    _PreemptionWatcher,
)
from determined.core._profiler import DummyProfilerContext, ProfilerContext
from determined.core._searcher import (
    DummySearcherContext,
    DummySearcherOperation,
    SearcherContext,
    SearcherContextMissing,
    SearcherMode,
    SearcherOperation,
    Unit,
    _parse_searcher_max_length,
    _parse_searcher_units,
)
from determined.core._tensorboard_mode import TensorboardMode
from determined.core._train import (
    DummyTrainContext,
    EarlyExitReason,
    ExitedReason,
    TrainContext,
)

__all__ = [
    "CheckpointContext",
    "Context",
    "DistributedContext",
    "DownloadMode",
    "DummyCheckpointContext",
    "DummyDistributedContext",
    "DummyExperimentalCoreContext",
    "DummyPreemptContext",
    "DummyProfilerContext",
    "DummySearcherContext",
    "DummySearcherOperation",
    "DummyTrainContext",
    "EarlyExitReason",
    "ExitedReason",
    "ExperimentalCoreContext",
    "PreemptContext",
    "PreemptMode",
    "ProfilerContext",
    "SearcherContext",
    "SearcherContextMissing",
    "SearcherMode",
    "SearcherOperation",
    "TensorboardMode",
    "TrainContext",
    "Unit",
    "_DummyMetricsContext",
    "_Heartbeat",
    "_ManagedTrialHeartbeat",
    "_MetricsContext",
    "_PreemptionWatcher",
    "_UnmanagedTrialHeartbeat",
    "_dummy_init",
    "_parse_searcher_max_length",
    "_parse_searcher_units",
    "_run_on_rank_0_and_broadcast",
    "init",
]
