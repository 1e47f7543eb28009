"""``init_context``: a Core context for a trial of the cluster, or for a run elsewhere."""

from __future__ import annotations

from typing import Any, Dict, Optional, Union

import determined as det
from determined import core, experimental
from determined.core import _unmanaged
from determined.experimental.core_v2 import _config, _run


def init_context(
    *,
    config: Optional[_config.Config] = None,
    defaults: Optional[_config.DefaultConfig] = None,
    unmanaged: Optional[_config.UnmanagedConfig] = None,
    client: Optional[experimental.Determined] = None,
    distributed: Optional[core.DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: core.PreemptMode = core.PreemptMode.WorkersAskChief,
    tensorboard_mode: core.TensorboardMode = core.TensorboardMode.AUTO,
) -> core.Context:
    """Return a Core context; use it as ``with core_v2.init_context(...) as core_context``.

    ``client`` names the master and the user; the default is the session of ``det user login``. If
    several processes have a ``distributed`` context, the chief creates the experiment and the trial
    for all. ``defaults`` and ``unmanaged`` are older names of ``config``.

    Example::

        with core_v2.init_context(config=core_v2.Config(name="laptop")) as core_context:
            core_context.train.report_training_metrics(1, {"loss": 0.5})
    """
    chosen = _config.merge(config, defaults, unmanaged)
    distributed = distributed or core.DummyDistributedContext()
    info = det.get_cluster_info()
    if info is not None and info.task_type == "TRIAL":
        return core.init(
            distributed=distributed,
            checkpoint_storage=checkpoint_storage,
            preempt_mode=preempt_mode,
            tensorboard_mode=tensorboard_mode,
        )
    assert chosen is not None
    session = (client or experimental.Determined())._session
    storage = _unmanaged.storage_config(checkpoint_storage or chosen.checkpoint_storage)
    described = chosen
    facts = core._run_on_rank_0_and_broadcast(
        lambda: _run.start(session, described, storage), distributed
    )
    return _unmanaged.make(
        _run.info_of(session, facts), session, distributed, storage, preempt_mode, tensorboard_mode
    )
