"""The Core API: what a training loop of your own needs on a cluster.

``init`` returns a ``Context`` of smaller contexts, each in its own module. For use off the
cluster, each has a counterpart that changes nothing on a master. One ``_reporter`` sends all
reports, and stores them while no master answers.
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
