"""The package that training code imports on a Detent cluster.

It has the interface of Determined 0.38.1, so code written for that release runs unchanged:

- ``get_cluster_info()`` describes this task; it returns None off the cluster;
- ``core`` reports metrics, stores checkpoints, signals preemption and connects workers;
- ``experimental.client`` is the SDK, for scripts and notebooks;
- ``keras`` trains models in Keras;
- ``pytorch`` trains models in PyTorch;
- ``launch`` has the launchers that start user programs.

The package, ``determined.core`` and the SDK need only the standard library.
"""

from determined import _missing, core, errors, util
from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._import import import_from_path
from determined._info import (
    ClusterInfo,
    RendezvousInfo,
    ResourcesInfo,
    TrialInfo,
    get_cluster_info,
)
from determined._trial import LegacyTrial, TrialContext
from determined._version import API_VERSION, DETENT_VERSION
from determined.errors import InvalidHP

_missing.explain()

__version__ = API_VERSION
__detent_version__ = DETENT_VERSION

# The log viewer reads the level of a line from this layout.
LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"

__all__ = [
    "LOG_FORMAT",
    "ClusterInfo",
    "EnvContext",
    "ExperimentConfig",
    "InvalidHP",
    "LegacyTrial",
    "RendezvousInfo",
    "ResourcesInfo",
    "TrialContext",
    "TrialInfo",
    "__detent_version__",
    "__version__",
    "core",
    "errors",
    "get_cluster_info",
    "import_from_path",
    "util",
]
