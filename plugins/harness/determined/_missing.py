"""Names replacements for modules of Determined's package that this package does not have.

These modules are internal parts of Determined's own programs. An import of such a module fails,
and the error message names the replacement that a script can use.
"""

from __future__ import annotations

import sys
from importlib import abc, machinery
from types import ModuleType
from typing import Optional, Sequence

_WORKERS = "core.DistributedContext, whose gather, allgather and broadcast connect workers"
_TRAINERS = "determined.pytorch.Trainer or determined.keras, which have loops of their own"
_STARTED = "nothing: the platform's runner starts the task, and needs no such program"
_LOGS = "Trial.iter_logs() of determined.experimental.client"
_STORAGE = "determined.common.storage, which has one manager for each kind of storage"
_BOARDS = "determined.tensorboard, whose managers need no code for each kind of storage"
_BINDINGS = "determined.common.api.bindings"

# The modules with their replacements; an entry also applies to the modules below it.
_INSTEAD = {
    "determined.common.api.analytics": "nothing: this package reports to nobody but the master",
    "determined.common.api.logs": _LOGS,
    "determined.common.api.metric": "determined.experimental.client.iter_trials_metrics()",
    "determined.common.detignore": "determined.common.context.IgnoreRules",
    "determined.common.detlomond": _LOGS,
    "determined.common.experimental.oauth2_scim_client": _BINDINGS,
    "determined.common.storage.azure_client": _STORAGE,
    "determined.common.storage.boto3_credential_manager": _STORAGE,
    "determined.common.storage.cloud": _STORAGE,
    "determined.common.streams": f"the lists of {_BINDINGS}, because the master streams no changes",
    "determined.common.v1file_utils": "determined.common.context.read()",
    "determined.exec.gc_checkpoints": "nothing: the master removes checkpoints itself",
    "determined.exec.launch": _STARTED,
    "determined.exec.pid_client": _STARTED,
    "determined.exec.pid_server": _STARTED,
    "determined.exec.prep_container": _STARTED,
    "determined.ipc": _WORKERS,
    "determined.layers": _TRAINERS,
    "determined.load": "determined.import_from_path()",
    "determined.tensorboard.azure": _BOARDS,
    "determined.tensorboard.base": _BOARDS,
    "determined.tensorboard.directory": _BOARDS,
    "determined.tensorboard.fetchers": _BOARDS,
    "determined.tensorboard.gcs": _BOARDS,
    "determined.tensorboard.metric_writers.callback": "determined.tensorboard.MetricWriter",
    "determined.tensorboard.s3": _BOARDS,
    "determined.tensorboard.shared": _BOARDS,
    "determined.tensorboard.util": _BOARDS,
    "determined.workload": _TRAINERS,
}


class _Finder(abc.MetaPathFinder):
    """The last finder in the list: Python asks it if no other finder has found a module."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[machinery.ModuleSpec]:
        instead = _INSTEAD.get(fullname)
        if instead is None:
            return None
        raise ModuleNotFoundError(
            f"{fullname} belongs to Determined's own programs and is not in Detent's package; in "
            f"its place: {instead}",
            name=fullname,
        )


def explain() -> None:
    """Let errors of such imports name the replacement; further calls have no effect."""
    if not any(type(finder).__name__ == _Finder.__name__ for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
