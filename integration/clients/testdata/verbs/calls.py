"""Calls functions of Determined's generated client that no verb of det and no method of the SDK calls, on real data,
and prints the names of those whose answer could be read into the client's own classes; then all functions there are.

It runs in the folder that record.py has filled, on a cluster where nobody else works.
"""

import base64
import datetime
import json
import pathlib
import time
import uuid
import warnings

import called
from determined.common.api import bindings as b
from determined.experimental import client

warnings.simplefilter("ignore")
bound = called.bound()
det, admin = client.Determined(user="determined", password=""), client.Determined(user="admin", password="")
s, a = det._session, admin._session


def same(got, want):
    assert got == want, f"{got!r} is not {want!r}"


def until(ready):
    end = time.monotonic() + 120
    while not ready():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


exp = det.create_experiment("one.yaml", "code")
same(exp.wait(interval=0.2), client.ExperimentState.COMPLETED)
trial = exp.list_trials()[0].id
task = b.get_GetTrial(s, trialId=trial).trial.taskId

# The experiment and its trial.
same(b.get_GetBestSearcherValidationMetric(s, experimentId=exp.id).metric, 0)
same([v.searcherMetric for v in b.get_GetExperimentValidationHistory(s, experimentId=exp.id).validationHistory][-1], 0)
b.put_PutExperimentLabel(s, experimentId=exp.id, label="called")
assert "called" in b.get_GetExperimentLabels(s).labels
same([f.path for f in b.get_GetModelDefTree(s, experimentId=exp.id).files], ["train.py"])
file = b.post_GetModelDefFile(s, body=b.v1GetModelDefFileRequest(experimentId=exp.id, path="train.py"), experimentId=exp.id).file
same(base64.b64decode(file), pathlib.Path("code/train.py").read_bytes())
names = list(b.get_ExpMetricNames(s, ids=[exp.id], periodSeconds=1))
assert any("loss" in n.validationMetrics for n in names if n.validationMetrics), names
same([list(x.batches) for x in b.get_MetricBatches(s, experimentId=exp.id, metricName="loss", group="validation", periodSeconds=1)][-1], [1, 2, 3])
assert list(b.get_TrialsSnapshot(s, experimentId=exp.id, metricName="loss", group="validation", batchesProcessed=2, batchesMargin=1))
assert list(b.get_TrialsSample(s, experimentId=exp.id, metricName="loss", metricType=b.v1MetricType.VALIDATION))
compared = b.get_CompareTrials(s, trialIds=[trial], metricIds=["validation.loss"], maxDatapoints=100).trials
same([(t.trial.id, len(t.metrics)) for t in compared], [(trial, 1)])
assert list(b.get_TaskLogsFields(s, taskId=task, follow=False)) and list(b.get_TrialLogsFields(s, trialId=trial, follow=False))
b.get_GetTrialRemainingLogRetentionDays(s, id=trial)
b.post_PostRunMetadata(s, runId=trial, body=b.v1PostRunMetadataRequest(runId=trial, metadata={"stage": "warm"}))
same(b.get_GetRunMetadata(s, runId=trial).metadata, {"stage": "warm"})
same(list(b.get_GetMetadataValues(s, projectId=1, key="stage").values), ["warm"])
allocation = b.get_GetTask(s, taskId=task).task.allocations[0].allocationId
same(b.get_GetAllocation(s, allocationId=allocation).allocation.taskId, task)
same(list(b.get_GetTaskAcceleratorData(s, taskId=task).acceleratorData), [])
context = b.get_GetTaskContextDirectory(s, taskId=task)
assert context.b64Tgz, context

# Projects, searches and what a user has looked at.
assert {"id", "state"} <= {c.column for c in b.get_GetProjectColumns(s, id=1).columns}
assert b.get_GetProjectNumericMetricsRange(s, id=1).ranges
same(b.get_GetProjectByKey(s, key=b.get_GetProject(s, id=1).project.key).project.id, 1)
found = b.post_SearchExperiments(s, body=b.v1SearchExperimentsRequest(sort="id=desc", limit=1))
same(found.experiments[0].experiment.id, exp.id)
same(b.post_SearchRuns(s, body=b.v1SearchRunsRequest(sort="id=desc", limit=1)).runs[0].id, trial)
b.post_PostUserActivity(s, body=b.v1PostUserActivityRequest(activityType=b.v1ActivityType.GET, entityType=b.v1EntityType.PROJECT, entityId=1))
same([p.id for p in b.get_GetProjectsByUserActivity(s, limit=1).projects], [1])
b.post_PostUserSetting(s, body=b.v1PostUserSettingRequest(settings=[b.v1UserWebSetting(key="k", value="v", storagePath="p")]))
same([(x.key, x.value) for x in b.get_GetUserSetting(s).settings], [("k", "v")])
b.post_ResetUserSetting(s)
same(list(b.get_GetUserSetting(s).settings), [])
space = b.post_PostWorkspace(s, body=b.v1PostWorkspaceRequest(name="calls")).workspace
pinned = lambda: space.id in [w.id for w in b.get_GetWorkspaces(s, pinned=True).workspaces]
same(pinned(), True)
b.post_UnpinWorkspace(s, id=space.id)
same(pinned(), False)
b.post_PinWorkspace(s, id=space.id)
same(pinned(), True)
other = next(w for w in b.get_GetWorkspaces(s).workspaces if w.id != space.id and not w.immutable and not w.archived)
project = b.post_PostProject(s, workspaceId=other.id, body=b.v1PostProjectRequest(name="calls", workspaceId=other.id)).project
same([n.name for n in b.post_AddProjectNote(s, projectId=project.id, body=b.v1Note(name="n", contents="c")).notes], ["n"])
b.post_MoveProject(s, projectId=project.id, body=b.v1MoveProjectRequest(projectId=project.id, destinationWorkspaceId=space.id))
same(b.get_GetProject(s, id=project.id).project.workspaceId, space.id)

# Many experiments and runs at once.
paused = b.post_CreateExperiment(s, body=b.v1CreateExperimentRequest(activate=False, config=pathlib.Path("one.yaml").read_text(),
    modelDefinition=[])).experiment.id
run = b.get_GetExperimentTrials(s, experimentId=paused).trials[0].id
of = {"projectId": 1, "experimentIds": [paused]}


def bulk(call, body):
    same([(r.id, r.error) for r in call(s, projectId=1, body=body).results], [(paused, "")])


def runs(call, body):
    same([r.error for r in call(s, body=body).results], [""])


b.put_PutExperimentsRetainLogs(s, projectId=1, body=b.v1PutExperimentsRetainLogsRequest(numDays=7, **of))
bulk(b.post_PauseExperiments, b.v1PauseExperimentsRequest(**of))
runs(b.post_PauseRuns, b.v1PauseRunsRequest(projectId=1, runIds=[run]))
bulk(b.post_KillExperiments, b.v1KillExperimentsRequest(**of))
until(lambda: b.get_GetExperiment(s, experimentId=paused).experiment.state == b.experimentv1State.CANCELED)
bulk(b.post_CancelExperiments, b.v1CancelExperimentsRequest(**of))
runs(b.post_KillRuns, b.v1KillRunsRequest(projectId=1, runIds=[run]))
bulk(b.post_ArchiveExperiments, b.v1ArchiveExperimentsRequest(**of))
bulk(b.post_UnarchiveExperiments, b.v1UnarchiveExperimentsRequest(**of))
runs(b.post_ArchiveRuns, b.v1ArchiveRunsRequest(projectId=1, runIds=[run]))
runs(b.post_UnarchiveRuns, b.v1UnarchiveRunsRequest(projectId=1, runIds=[run]))
assert b.post_ActivateExperiments(s, projectId=1, body=b.v1ActivateExperimentsRequest(**of)).results[0].error
assert b.post_ResumeRuns(s, body=b.v1ResumeRunsRequest(projectId=1, runIds=[run])).results[0].error
runs(b.post_MoveRuns, b.v1MoveRunsRequest(runIds=[run], sourceProjectId=1, destinationProjectId=project.id, skipMultitrial=False))
same([r.error for r in b.post_MoveExperiments(s, projectId=project.id, body=b.v1MoveExperimentsRequest(projectId=project.id,
    experimentIds=[paused], destinationProjectId=1)).results], [""])
bulk(b.delete_DeleteExperiments, b.v1DeleteExperimentsRequest(**of))
until(lambda: not b.get_GetExperiments(s, experimentIdFilter_incl=[paused]).experiments)
assert b.post_DeleteRuns(s, body=b.v1DeleteRunsRequest(projectId=1, runIds=[run])).results[0].error

# An experiment that runs elsewhere.
outside = f"outside-{uuid.uuid4()}"
elsewhere = b.put_PutExperiment(s, externalExperimentId=outside, body=b.v1CreateExperimentRequest(unmanaged=True,
    config="{name: outside, searcher: {name: single, metric: loss}}")).experiment.id
made = b.put_PutTrial(s, body=b.v1PutTrialRequest(externalTrialId="one", createTrialRequest=b.v1CreateTrialRequest(
    experimentId=elsewhere, hparams={"lr": 1}, unmanaged=True))).trial
same(b.get_GetTrialByExternalID(s, externalExperimentId=outside, externalTrialId="one").trial.id, made.id)
second = b.post_CreateTrial(s, body=b.v1CreateTrialRequest(experimentId=elsewhere, hparams={"lr": 2}, unmanaged=True)).trial
same(second.hparams, {"lr": 2})
b.post_RunPrepareForReporting(s, body=b.v1RunPrepareForReportingRequest(runId=made.id))
b.patch_PatchTrial(s, trialId=made.id, body=b.v1PatchTrialRequest(trialId=made.id, state=b.trialv1State.RUNNING))
number = b.post_StartTrial(s, trialId=made.id, body=b.v1StartTrialRequest(trialId=made.id)).trialRunId


def metrics(loss):
    return b.v1TrialMetrics(trialId=made.id, trialRunId=number, stepsCompleted=1, metrics=b.v1Metrics(avgMetrics={"loss": loss}))


b.post_ReportTrialMetrics(s, metrics_trialId=made.id, body=b.v1ReportTrialMetricsRequest(group="inference", metrics=metrics(0.1)))
b.post_ReportTrialTrainingMetrics(s, trainingMetrics_trialId=made.id, body=metrics(0.2))
b.post_ReportTrialValidationMetrics(s, validationMetrics_trialId=made.id, body=metrics(0.3))
b.post_ReportTrialProgress(s, trialId=made.id, body=b.v1ReportTrialProgressRequest(trialId=made.id, progress=0.5))
b.post_PostTaskLogs(s, body=b.v1PostTaskLogsRequest(logs=[b.v1TaskLog(taskId=made.taskId, log="from outside\n",
    timestamp=datetime.datetime.now(datetime.timezone.utc).isoformat())]))
until(lambda: any("from outside" in line.log for line in b.get_TaskLogs(s, taskId=made.taskId, follow=False)))
got = [m.metrics for x in b.get_GetMetrics(s, trialIds=[made.id], group="inference") for m in x.metrics]
same([m["avg_metrics"] for m in got], [{"loss": 0.1}])
b.patch_PatchTrial(s, trialId=made.id, body=b.v1PatchTrialRequest(trialId=made.id, state=b.trialv1State.COMPLETED))

# Tasks, whose descriptions det reads itself.
command = b.post_LaunchCommand(s, body=b.v1LaunchCommandRequest(config={"entrypoint": ["sleep", "1000"], "resources": {"slots": 0}})).command.id
shell = b.post_LaunchShell(s, body=b.v1LaunchShellRequest(config={"resources": {"slots": 0}})).shell.id
notebook = b.post_LaunchNotebook(s, body=b.v1LaunchNotebookRequest(config={"resources": {"slots": 0}})).notebook.id
board = b.post_LaunchTensorboard(s, body=b.v1LaunchTensorboardRequest(experimentIds=[exp.id])).tensorboard.id
same(b.get_GetCommand(s, commandId=command).command.id, command)
same(b.get_GetShell(s, shellId=shell).shell.id, shell)
assert command in [c.id for c in b.get_GetCommands(s).commands]
assert shell in [c.id for c in b.get_GetShells(s).shells]
assert notebook in [c.id for c in b.get_GetNotebooks(s).notebooks]
assert board in [c.id for c in b.get_GetTensorboards(s).tensorboards]
assert b.get_GetActiveTasksCount(s).commands >= 1
assert b.get_GetJobs(s).pagination.total >= 4
assert b.get_GetJobQueueStats(s).results
b.post_SetCommandPriority(s, commandId=command, body=b.v1SetCommandPriorityRequest(commandId=command, priority=20))
b.post_SetShellPriority(s, shellId=shell, body=b.v1SetShellPriorityRequest(shellId=shell, priority=20))
b.post_SetNotebookPriority(s, notebookId=notebook, body=b.v1SetNotebookPriorityRequest(notebookId=notebook, priority=20))
b.post_SetTensorboardPriority(s, tensorboardId=board, body=b.v1SetTensorboardPriorityRequest(tensorboardId=board, priority=20))
same(b.post_KillCommand(s, commandId=command).command.id, command)
same(b.post_KillShell(s, shellId=shell).shell.id, shell)
same(b.post_KillNotebook(s, notebookId=notebook).notebook.id, notebook)
same(b.post_KillTensorboard(s, tensorboardId=board).tensorboard.id, board)

# The cluster and its users.
same(b.get_CurrentUser(s).user.username, "determined")
b.get_GetTelemetry(s)
b.get_health(s)
agent = b.get_GetAgents(s).agents[0].id
same(b.get_GetAgent(s, agentId=agent).agent.id, agent)
same(len(b.get_GetSlots(s, agentId=agent).slots), 4)
same(b.get_GetSlot(s, agentId=agent, slotId="0").slot.id, "0")
same(b.post_DisableAgent(a, agentId=agent, body=b.v1DisableAgentRequest(agentId=agent)).agent.enabled, False)
same(b.post_EnableAgent(a, agentId=agent).agent.enabled, True)
day = datetime.date.today().isoformat()
b.get_ResourceAllocationAggregated(s, startDate=day, endDate=day, period=b.v1ResourceAllocationAggregationPeriod.DAILY)
raw = b.get_ResourceAllocationRaw(s, timestampAfter=day + "T00:00:00Z", timestampBefore=day + "T23:59:59Z")
assert raw.resourceEntries is not None
eve = admin.create_user(f"eve-{uuid.uuid4().hex[:8]}", admin=False, password="Passw0rd").user_id
b.post_SetUserPassword(a, userId=eve, body="Passw0rd2")
b.patch_PatchUsers(a, body=b.v1PatchUsersRequest(userIds=[eve], activate=False))
same(b.get_GetUser(a, userId=eve).user.active, False)
b.put_PutTemplate(s, template_name="calls", body=b.v1Template(name="calls", config={"max_restarts": 1}, workspaceId=1))
same(b.patch_PatchTemplateName(s, body=b.v1PatchTemplateNameRequest(oldName="calls", newName="calls2")).template.name, "calls2")
b.delete_DeleteTemplate(s, templateName="calls2")
b.patch_PatchCheckpoints(s, body=b.v1PatchCheckpointsRequest(checkpoints=[b.v1PatchCheckpoint(uuid=exp.list_checkpoints()[0].uuid)]))

# Groups and roles in ways that det does not use.
role = b.post_GetRolesByID(a, body=b.v1GetRolesByIDRequest(roleIds=[4])).roles[0].role
same((role.roleId, role.name), (4, "Viewer"))
assert b.post_SearchRolesAssignableToScope(a, body=b.v1SearchRolesAssignableToScopeRequest(limit=50)).roles
b.get_GetPermissionsSummary(s)
group = b.post_CreateGroup(a, body=b.v1CreateGroupRequest(name=f"calls-{uuid.uuid4().hex[:8]}")).group.groupId
b.patch_AssignMultipleGroups(a, body=b.v1AssignMultipleGroupsRequest(addGroups=[group], removeGroups=[], userIds=[eve]))
same([u.id for u in b.get_GetGroup(a, groupId=group).group.users], [eve])
b.delete_DeleteGroup(a, groupId=group)
model = det.create_model("calls")
b.post_MoveModel(s, modelName="calls", body=b.v1MoveModelRequest(modelName="calls", destinationWorkspaceId=space.id))
model.reload()
same(model.workspace_id, space.id)
model.delete()
b.post_ReportCheckpoint(s, body=b.v1Checkpoint(uuid=str(uuid.uuid4()), taskId=made.taskId, metadata={"steps_completed": 1}, resources={},
    reportTime=datetime.datetime.now(datetime.timezone.utc).isoformat(), state=b.checkpointv1State.COMPLETED, training=b.v1CheckpointTrainingMetadata()))
same(len(b.get_GetTrialCheckpoints(s, id=made.id).checkpoints), 1)

# Webhooks.
hook = b.post_PostWebhook(a, body=b.v1Webhook(url="http://127.0.0.1:9/", name="calls", webhookType=b.v1WebhookType.DEFAULT,
    mode=b.v1WebhookMode.WORKSPACE, triggers=[b.v1Trigger(triggerType=b.v1TriggerType.EXPERIMENT_STATE_CHANGE, condition={"state": "COMPLETED"})])).webhook
same([w.id for w in b.get_GetWebhooks(a).webhooks], [hook.id])
b.patch_PatchWebhook(a, id=hook.id, body=b.v1PatchWebhook(url="http://127.0.0.1:10/"))
b.post_PostWebhookEventData(s, body=b.v1PostWebhookEventDataRequest(experimentId=exp.id, trialId=trial,
    data=b.v1CustomWebhookEventData(title="t", description="d", level=b.v1LogLevel.INFO)))
b.delete_DeleteWebhook(a, id=hook.id)
det.delete_workspace("calls")
print("\n".join(sorted(bound)))
print("\n".join("there " + name for name in called.functions()))
