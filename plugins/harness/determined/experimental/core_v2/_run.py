"""Creates an unmanaged experiment and its trial, and starts a run of the trial."""

from __future__ import annotations

import json
import uuid
from typing import Any, Dict

import determined as det
from determined.common import api
from determined.experimental.core_v2._config import Config


def describe(config: Config, checkpoint_storage: Dict[str, Any]) -> Dict[str, Any]:
    """Return the configuration of the experiment, as the master reads it."""
    return {
        "name": config.name or f"unmanaged-{uuid.uuid4().hex[:8]}",
        "data": config.data,
        "description": config.description,
        "labels": config.labels,
        "searcher": config.searcher or {"name": "single", "metric": "unmanaged"},
        "workspace": config.workspace,
        "project": config.project,
        "checkpoint_storage": checkpoint_storage,
    }


def start(
    session: api.Session, config: Config, checkpoint_storage: Dict[str, Any]
) -> Dict[str, Any]:
    """Create or find the experiment and the trial, and start a run; return its ``ClusterInfo``."""
    described = describe(config, checkpoint_storage)
    experiment = _experiment(session, config, described)
    trial = _trial(session, config, experiment["id"])
    answer = session.post(
        f"/api/v1/trials/{trial['id']}/start", json={"trialId": trial["id"], "resume": True}
    ).json()
    return {
        "experiment_id": experiment["id"],
        "trial_id": trial["id"],
        "task_id": trial["taskId"],
        "hparams": config.hparams or {},
        "config": described,
        "trial_run_id": answer["trialRunId"],
        "steps_completed": answer["stepsCompleted"],
        "latest_checkpoint": answer.get("latestCheckpoint"),
        "cluster_id": session.get("/api/v1/master").json()["clusterId"],
    }


def _experiment(session: api.Session, config: Config, described: Dict[str, Any]) -> Dict[str, Any]:
    # JSON is YAML too.
    body = {"config": json.dumps(described), "unmanaged": True}
    if config.external_experiment_id is None:
        # A repeated request must not make a second one.
        key = {"Idempotency-Key": str(uuid.uuid4())}
        answer = session.post("/api/v1/experiments", json=body, headers=key)
    else:
        name = api.quoted(config.external_experiment_id)
        answer = session.put(f"/api/v1/experiments/by-external-id/{name}", json=body)
    found: Dict[str, Any] = answer.json()["experiment"]
    return found


def _trial(session: api.Session, config: Config, experiment_id: int) -> Dict[str, Any]:
    request = {"experimentId": experiment_id, "hparams": config.hparams or {}, "unmanaged": True}
    # Every trial gets a name, so a repeated request finds the trial of the first one.
    name = config.external_trial_id or str(uuid.uuid4())
    body = {"createTrialRequest": request, "externalTrialId": name}
    found: Dict[str, Any] = session.put("/api/v1/trials", json=body).json()["trial"]
    return found


def info_of(session: api.Session, facts: Dict[str, Any]) -> det.ClusterInfo:
    """Return the facts about the run, in the form that tasks have."""
    return det.ClusterInfo(
        master_url=session.master,
        cluster_id=facts["cluster_id"],
        agent_id="unmanaged",
        slot_ids=[],
        task_id=facts["task_id"],
        allocation_id=facts["task_id"],
        session_token=session.token,
        task_type="TRIAL",
        latest_checkpoint=facts["latest_checkpoint"],
        trial_info=det.TrialInfo(
            trial_id=facts["trial_id"],
            experiment_id=facts["experiment_id"],
            trial_seed=0,
            hparams=facts["hparams"],
            config=facts["config"],
            steps_completed=facts["steps_completed"],
            trial_run_id=facts["trial_run_id"],
            debug=False,
            inter_node_network_interface=None,
        ),
        rendezvous_info=det.RendezvousInfo(["127.0.0.1"], 0, [0]),
    )
