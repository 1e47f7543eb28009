"""Reports which checkpoint or model version a task uses, so that its metrics are linked to it."""

from __future__ import annotations

from typing import Any, Dict

from determined.common import api


class ExperimentalCoreContext:
    """Links this trial to the checkpoint or model version that it evaluates.

    Example::

        checkpoint = client.get_checkpoint(uuid)
        core_context.experimental.report_task_using_checkpoint(checkpoint)
        version = client.get_model("digits").get_version()
        core_context.experimental.report_task_using_model_version(version)
    """

    def __init__(self, session: api.BaseSession, trial_id: int) -> None:
        self._session = session
        self._trial_id = trial_id

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Link this trial to a checkpoint, an object with a ``uuid``."""
        self._link({"checkpointUuid": checkpoint.uuid})

    def report_task_using_model_version(self, model_version: Any) -> None:
        """Link this trial to a version of a registered model, and to its checkpoint."""
        if model_version.checkpoint is None:
            raise ValueError("the model version has no checkpoint")
        self._link(
            {
                "checkpointUuid": model_version.checkpoint.uuid,
                "modelId": model_version.model_id,
                "modelVersion": model_version.model_version,
            }
        )

    def _link(self, source: Dict[str, Any]) -> None:
        link = {
            "trialId": self._trial_id,
            "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
            **source,
        }
        self._session.post("/api/v1/trial-source-info", json={"trialSourceInfo": link})


class DummyExperimentalCoreContext(ExperimentalCoreContext):
    """Links nothing.

    Example: ``core.init().experimental``
    """

    def __init__(self) -> None:
        pass

    def _link(self, source: Dict[str, Any]) -> None:
        pass
