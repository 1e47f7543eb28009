"""The SDK's objects, a module per noun; scripts use ``determined.experimental.client``."""

from determined.common.experimental import (
    checkpoint,
    experiment,
    metrics,
    model,
    project,
    search,
    trial,
    user,
    workspace,
)
from determined.common.experimental._util import OrderBy
from determined.common.experimental.checkpoint import (
    Checkpoint,
    CheckpointOrderBy,
    CheckpointSortBy,
    CheckpointState,
    DownloadMode,
)
from determined.common.experimental.determined import Determined
from determined.common.experimental.experiment import (
    Experiment,
    ExperimentOrderBy,
    ExperimentReference,
    ExperimentSortBy,
    ExperimentState,
    FrontPoint,
    RepeatedConfiguration,
)
from determined.common.experimental.metrics import (
    TrainingMetrics,
    TrialMetrics,
    ValidationMetrics,
)
from determined.common.experimental.model import Model, ModelOrderBy, ModelSortBy, ModelVersion
from determined.common.experimental.project import Project
from determined.common.experimental.resource_pool import ResourcePool
from determined.common.experimental.search import (
    Hyperparameter,
    News,
    ProposalError,
    ProposedTrial,
    Search,
    SearchResult,
)
from determined.common.experimental.trial import (
    LogLevel,
    Trial,
    TrialOrderBy,
    TrialReference,
    TrialSortBy,
    TrialState,
)
from determined.common.experimental.user import User
from determined.common.experimental.workspace import Workspace

__all__ = [
    "Checkpoint",
    "CheckpointOrderBy",
    "CheckpointSortBy",
    "CheckpointState",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentReference",
    "ExperimentSortBy",
    "ExperimentState",
    "FrontPoint",
    "Hyperparameter",
    "LogLevel",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "News",
    "OrderBy",
    "Project",
    "ProposalError",
    "ProposedTrial",
    "RepeatedConfiguration",
    "ResourcePool",
    "Search",
    "SearchResult",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "TrialState",
    "User",
    "ValidationMetrics",
    "Workspace",
    "checkpoint",
    "experiment",
    "metrics",
    "model",
    "project",
    "resource_pool",
    "search",
    "trial",
    "user",
    "workspace",
]
