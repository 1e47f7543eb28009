"""A function for each endpoint of the master, and the messages that they take and return.

Names, arguments and messages are those of Determined 0.38.1; what it does not have is Detent's own.
Made from the table of endpoints in master/v1; do not edit:
go test ./master/v1 -run TestBindingsOfPython -rewrite

    from determined.common.api import bindings
    from determined.experimental import client

    session = client.Determined()._session
    for experiment in bindings.get_GetExperiments(session, limit=10).experiments:
        print(experiment.id, experiment.state)
"""

# ruff: noqa: E501, I001, PLC0414

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Sequence, Union

from determined.common.api._messages import (
    APIHttpError as APIHttpError,
    APIHttpStreamError as APIHttpStreamError,
    DetEnum as DetEnum,
    Message as Message,
    Printable as Printable,
    Unset as Unset,
    call as _call,
    stream as _stream,
)
from determined.common.api._session import BaseSession
from determined.common.api._url import quoted as _quoted


class GetMasterResponseProduct(DetEnum):
    """The values of GetMasterResponseProduct."""

    UNSPECIFIED = "PRODUCT_UNSPECIFIED"
    COMMUNITY = "PRODUCT_COMMUNITY"


class GetTrialWorkloadsRequestFilterOption(DetEnum):
    """The values of GetTrialWorkloadsRequestFilterOption."""

    UNSPECIFIED = "FILTER_OPTION_UNSPECIFIED"
    CHECKPOINT = "FILTER_OPTION_CHECKPOINT"
    VALIDATION = "FILTER_OPTION_VALIDATION"
    CHECKPOINT_OR_VALIDATION = "FILTER_OPTION_CHECKPOINT_OR_VALIDATION"


class HealthCheck(Message):
    """The message HealthCheck."""

    database: Optional[HealthStatus] = None
    resource_managers: Optional[Sequence[ResourceManagerHealth]] = None
    status: Optional[HealthStatus] = None


class HealthStatus(DetEnum):
    """The values of HealthStatus."""

    up = "up"
    down = "down"


class PatchCheckpointOptionalResources(Message):
    """The message PatchCheckpointOptionalResources."""

    resources: Optional[Dict[str, str]] = None


class PatchExperimentPatchCheckpointStorage(Message):
    """The message PatchExperimentPatchCheckpointStorage."""

    saveExperimentBest: Optional[int] = None
    saveTrialBest: Optional[int] = None
    saveTrialLatest: Optional[int] = None


class PatchExperimentPatchResources(Message):
    """The message PatchExperimentPatchResources."""

    maxSlots: Optional[int] = None
    priority: Optional[int] = None
    weight: Optional[float] = None


class ResourceManagerHealth(Message):
    """The message ResourceManagerHealth."""

    cluster_name: Optional[str] = None
    status: Optional[HealthStatus] = None


class ResourcesSummaryDevices(Message):
    """The message ResourcesSummaryDevices."""

    devices: Optional[Sequence[v1Device]] = None


class TrialProfilerMetricLabelsProfilerMetricType(DetEnum):
    """The values of TrialProfilerMetricLabelsProfilerMetricType."""

    UNSPECIFIED = "PROFILER_METRIC_TYPE_UNSPECIFIED"
    SYSTEM = "PROFILER_METRIC_TYPE_SYSTEM"
    TIMING = "PROFILER_METRIC_TYPE_TIMING"
    MISC = "PROFILER_METRIC_TYPE_MISC"


class checkpointv1SortBy(DetEnum):
    """The values of checkpointv1SortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    UUID = "SORT_BY_UUID"
    TRIAL_ID = "SORT_BY_TRIAL_ID"
    BATCH_NUMBER = "SORT_BY_BATCH_NUMBER"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    SEARCHER_METRIC = "SORT_BY_SEARCHER_METRIC"


class checkpointv1State(DetEnum):
    """The values of checkpointv1State."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    PARTIALLY_DELETED = "STATE_PARTIALLY_DELETED"


class containerv1State(DetEnum):
    """The values of containerv1State."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ASSIGNED = "STATE_ASSIGNED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"
    TERMINATED = "STATE_TERMINATED"


class devicev1Type(DetEnum):
    """The values of devicev1Type."""

    UNSPECIFIED = "TYPE_UNSPECIFIED"
    CPU = "TYPE_CPU"
    CUDA = "TYPE_CUDA"
    ROCM = "TYPE_ROCM"


class experimentv1State(DetEnum):
    """The values of experimentv1State."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    COMPLETED = "STATE_COMPLETED"
    CANCELED = "STATE_CANCELED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    DELETING = "STATE_DELETING"
    DELETE_FAILED = "STATE_DELETE_FAILED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


class jobv1State(DetEnum):
    """The values of jobv1State."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    QUEUED = "STATE_QUEUED"
    SCHEDULED = "STATE_SCHEDULED"
    SCHEDULED_BACKFILLED = "STATE_SCHEDULED_BACKFILLED"


class jobv1Type(DetEnum):
    """The values of jobv1Type."""

    UNSPECIFIED = "TYPE_UNSPECIFIED"
    EXPERIMENT = "TYPE_EXPERIMENT"
    NOTEBOOK = "TYPE_NOTEBOOK"
    TENSORBOARD = "TYPE_TENSORBOARD"
    SHELL = "TYPE_SHELL"
    COMMAND = "TYPE_COMMAND"
    CHECKPOINT_GC = "TYPE_CHECKPOINT_GC"
    EXTERNAL = "TYPE_EXTERNAL"
    GENERIC = "TYPE_GENERIC"


class protobufFieldMask(Message):
    """The message protobufFieldMask."""

    paths: Optional[Sequence[str]] = None


class taskv1State(DetEnum):
    """The values of taskv1State."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"
    TERMINATED = "STATE_TERMINATED"
    TERMINATING = "STATE_TERMINATING"
    WAITING = "STATE_WAITING"
    QUEUED = "STATE_QUEUED"


class trialv1State(DetEnum):
    """The values of trialv1State."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    CANCELED = "STATE_CANCELED"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


class trialv1Trial(Message):
    """The message trialv1Trial."""

    experimentId: int
    hparams: Dict[str, Any]
    id: int
    restarts: int
    startTime: str
    state: trialv1State
    totalBatchesProcessed: int
    bestCheckpoint: Optional[v1CheckpointWorkload] = None
    bestValidation: Optional[v1MetricsWorkload] = None
    checkpointCount: Optional[int] = None
    endTime: Optional[str] = None
    latestValidation: Optional[v1MetricsWorkload] = None
    logPolicyMatched: Optional[str] = None
    logRetentionDays: Optional[int] = None
    metadata: Optional[Dict[str, Any]] = None
    runnerState: Optional[str] = None
    searcherMetricValue: Optional[float] = None
    summaryMetrics: Optional[Dict[str, Any]] = None
    taskId: Optional[str] = None
    taskIds: Optional[Sequence[str]] = None
    totalCheckpointSize: Optional[str] = None
    wallClockTime: Optional[float] = None
    warmStartCheckpointUuid: Optional[str] = None
    error: Optional[str] = None
    waitingReason: Optional[str] = None
    summaryIncomplete: Optional[str] = None


class v1AcceleratorData(Message):
    """The message v1AcceleratorData."""

    acceleratorType: Optional[str] = None
    acceleratorUuids: Optional[Sequence[str]] = None
    allocationId: Optional[str] = None
    containerId: Optional[str] = None
    nodeName: Optional[str] = None
    resourcePool: Optional[str] = None
    taskId: Optional[str] = None


class v1AccessPreview(Message):
    """The message v1AccessPreview."""

    userId: int
    username: str
    active: bool
    clusterAdmin: bool
    views: int
    edits: int
    owns: int
    losesSight: int
    losesControl: int


class v1AccessPreviewResponse(Message):
    """The message v1AccessPreviewResponse."""

    inUse: bool
    workspaces: int
    users: Sequence[v1AccessPreview]
    pagination: v1Pagination


class v1AckAllocationPreemptionSignalRequest(Message):
    """The message v1AckAllocationPreemptionSignalRequest."""

    allocationId: str


class v1ActivateExperimentsRequest(Message):
    """The message v1ActivateExperimentsRequest."""

    experimentIds: Sequence[int]
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1ActivateExperimentsResponse(Message):
    """The message v1ActivateExperimentsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1ActivityType(DetEnum):
    """The values of v1ActivityType."""

    UNSPECIFIED = "ACTIVITY_TYPE_UNSPECIFIED"
    GET = "ACTIVITY_TYPE_GET"


class v1AddProjectNoteResponse(Message):
    """The message v1AddProjectNoteResponse."""

    notes: Sequence[v1Note]


class v1Address(Message):
    """The message v1Address."""

    containerIp: Optional[str] = None
    containerPort: Optional[int] = None
    hostIp: Optional[str] = None
    hostPort: Optional[int] = None


class v1Agent(Message):
    """The message v1Agent."""

    id: str
    slotStats: v1SlotStats
    addresses: Optional[Sequence[str]] = None
    containers: Optional[Dict[str, v1Container]] = None
    draining: Optional[bool] = None
    enabled: Optional[bool] = None
    registeredTime: Optional[str] = None
    resourcePools: Optional[Sequence[str]] = None
    slots: Optional[Dict[str, v1Slot]] = None
    version: Optional[str] = None
    lost: Optional[bool] = None


class v1AgentUserGroup(Message):
    """The message v1AgentUserGroup."""

    agentGid: Optional[int] = None
    agentGroup: Optional[str] = None
    agentUid: Optional[int] = None
    agentUser: Optional[str] = None


class v1AggregateQueueStats(Message):
    """The message v1AggregateQueueStats."""

    periodStart: str
    seconds: float


class v1Allocation(Message):
    """The message v1Allocation."""

    allocationId: str
    slots: int
    state: taskv1State
    taskId: str
    endTime: Optional[str] = None
    exitReason: Optional[str] = None
    isReady: Optional[bool] = None
    startTime: Optional[str] = None
    statusCode: Optional[int] = None
    waitingReason: Optional[str] = None


class v1AllocationAllGatherRequest(Message):
    """The message v1AllocationAllGatherRequest."""

    allocationId: str
    data: Dict[str, Any]
    numPeers: Optional[int] = None
    requestUuid: Optional[str] = None


class v1AllocationAllGatherResponse(Message):
    """The message v1AllocationAllGatherResponse."""

    data: Sequence[Dict[str, Any]]


class v1AllocationPendingPreemptionSignalRequest(Message):
    """The message v1AllocationPendingPreemptionSignalRequest."""

    allocationId: str


class v1AllocationPreemptionSignalResponse(Message):
    """The message v1AllocationPreemptionSignalResponse."""

    preempt: Optional[bool] = None


class v1AllocationReadyRequest(Message):
    """The message v1AllocationReadyRequest."""

    allocationId: Optional[str] = None


class v1AllocationRendezvousInfoResponse(Message):
    """The message v1AllocationRendezvousInfoResponse."""

    rendezvousInfo: v1RendezvousInfo


class v1AllocationSummary(Message):
    """The message v1AllocationSummary."""

    allocationId: Optional[str] = None
    name: Optional[str] = None
    priority: Optional[int] = None
    proxyPorts: Optional[Sequence[v1ProxyPortConfig]] = None
    registeredTime: Optional[str] = None
    resourcePool: Optional[str] = None
    resources: Optional[Sequence[v1ResourcesSummary]] = None
    schedulerType: Optional[str] = None
    slotsNeeded: Optional[int] = None
    taskId: Optional[str] = None


class v1AllocationWaitingRequest(Message):
    """The message v1AllocationWaitingRequest."""

    allocationId: Optional[str] = None


class v1ArchiveExperimentsRequest(Message):
    """The message v1ArchiveExperimentsRequest."""

    experimentIds: Sequence[int]
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1ArchiveExperimentsResponse(Message):
    """The message v1ArchiveExperimentsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1ArchiveRunsRequest(Message):
    """The message v1ArchiveRunsRequest."""

    projectId: int
    runIds: Sequence[int]
    filter: Optional[str] = None


class v1ArchiveRunsResponse(Message):
    """The message v1ArchiveRunsResponse."""

    results: Sequence[v1RunActionResult]


class v1AssignMultipleGroupsRequest(Message):
    """The message v1AssignMultipleGroupsRequest."""

    addGroups: Sequence[int]
    removeGroups: Sequence[int]
    userIds: Sequence[int]


class v1AssignRolesRequest(Message):
    """The message v1AssignRolesRequest."""

    groupRoleAssignments: Optional[Sequence[v1GroupRoleAssignment]] = None
    userRoleAssignments: Optional[Sequence[v1UserRoleAssignment]] = None


class v1Attempt(Message):
    """The message v1Attempt."""

    allocationId: str
    taskId: str
    trialId: int
    run: int
    resourcePool: str
    slots: int
    state: str
    outcome: str
    queuedTime: str
    assignedTime: Optional[str] = None
    startTime: Optional[str] = None
    endTime: Optional[str] = None
    preemptTime: Optional[str] = None
    preemptReason: str
    killTime: Optional[str] = None
    killReason: str
    exitCode: Optional[int] = None
    exitReason: str
    waitingReason: str
    nomadJob: str
    nomadUrl: str
    members: Sequence[v1AttemptMember]


class v1AttemptMember(Message):
    """The message v1AttemptMember."""

    rank: int
    node: str
    slotIds: Sequence[int]
    nomadAllocation: str
    nomadUrl: str
    endTime: Optional[str] = None
    exitCode: Optional[int] = None
    exitReason: str


class v1AuditEntry(Message):
    """The message v1AuditEntry."""

    id: str
    time: str
    endTime: Optional[str] = None
    lastTime: Optional[str] = None
    times: int
    userId: Optional[int] = None
    username: str
    credential: str
    address: str
    method: str
    path: str
    verb: str
    kind: str
    object: str
    workspaceId: Optional[int] = None
    names: Optional[Dict[str, Any]] = None
    status: Optional[int] = None
    error: Optional[str] = None


class v1AuditResponse(Message):
    """The message v1AuditResponse."""

    entries: Sequence[v1AuditEntry]
    next: Optional[str] = None


class v1AvoidedNode(Message):
    """The message v1AvoidedNode."""

    node: str
    failures: int


class v1AwsCustomTag(Message):
    """The message v1AwsCustomTag."""

    key: str
    value: str


class v1BindMount(Message):
    """The message v1BindMount."""

    hostPath: str
    containerPath: str
    readOnly: bool
    propagation: str
    create: bool
    link: bool


class v1BindRPToWorkspaceRequest(Message):
    """The message v1BindRPToWorkspaceRequest."""

    resourcePoolName: str
    workspaceIds: Optional[Sequence[int]] = None
    workspaceNames: Optional[Sequence[str]] = None


class v1BulkExperimentFilters(Message):
    """The message v1BulkExperimentFilters."""

    archived: Optional[bool] = None
    description: Optional[str] = None
    excludedExperimentIds: Optional[Sequence[int]] = None
    labels: Optional[Sequence[str]] = None
    name: Optional[str] = None
    projectId: Optional[int] = None
    states: Optional[Sequence[experimentv1State]] = None
    userIds: Optional[Sequence[int]] = None


class v1CancelExperimentsRequest(Message):
    """The message v1CancelExperimentsRequest."""

    experimentIds: Sequence[int]
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1CancelExperimentsResponse(Message):
    """The message v1CancelExperimentsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1Checkpoint(Message):
    """The message v1Checkpoint."""

    metadata: Dict[str, Any]
    resources: Dict[str, str]
    state: checkpointv1State
    training: v1CheckpointTrainingMetadata
    uuid: str
    allocationId: Optional[str] = None
    reportTime: Optional[str] = None
    storageId: Optional[int] = None
    taskId: Optional[str] = None
    removals: Optional[Sequence[v1CheckpointRemoval]] = None


class v1CheckpointRemoval(Message):
    """The message v1CheckpointRemoval."""

    taskId: str
    checkpoint: str
    reason: str
    globs: Sequence[str]
    time: Optional[str] = None
    files: str
    bytes: str
    error: str
    ended: bool


class v1CheckpointTrainingMetadata(Message):
    """The message v1CheckpointTrainingMetadata."""

    experimentConfig: Optional[Dict[str, Any]] = None
    experimentId: Optional[int] = None
    hparams: Optional[Dict[str, Any]] = None
    searcherMetric: Optional[float] = None
    trainingMetrics: Optional[v1Metrics] = None
    trialId: Optional[int] = None
    validationMetrics: Optional[v1Metrics] = None


class v1CheckpointWorkload(Message):
    """The message v1CheckpointWorkload."""

    state: checkpointv1State
    totalBatches: int
    endTime: Optional[str] = None
    metadata: Optional[Dict[str, Any]] = None
    resources: Optional[Dict[str, str]] = None
    uuid: Optional[str] = None


class v1CheckpointsRemoveFilesRequest(Message):
    """The message v1CheckpointsRemoveFilesRequest."""

    checkpointGlobs: Sequence[str]
    checkpointUuids: Sequence[str]


class v1ClaimRequest(Message):
    """The message v1ClaimRequest."""

    allocationId: str
    rank: int
    identity: str
    nonce: str
    nodeId: str
    nodeName: str
    address: str
    ports: Dict[str, int]
    gatewayCertificate: str


class v1ClaimResponse(Message):
    """The message v1ClaimResponse."""

    token: str
    spec: v1TaskSpec


class v1CleanupLogsResponse(Message):
    """The message v1CleanupLogsResponse."""

    removedCount: str


class v1ClusterMessage(Message):
    """The message v1ClusterMessage."""

    message: str
    startTime: str
    createdTime: Optional[str] = None
    endTime: Optional[str] = None


class v1Collect(Message):
    """The message v1Collect."""

    programs: Dict[str, str]
    storage: v1CollectStorage
    checkpoints: Sequence[v1CollectCheckpoint]
    events: str
    sweep: Optional[v1CollectSweep] = None


class v1CollectCheckpoint(Message):
    """The message v1CollectCheckpoint."""

    uuid: str
    globs: Sequence[str]
    known: int


class v1CollectStorage(Message):
    """The message v1CollectStorage."""

    folder: str
    kind: str
    bucket: str
    prefix: str
    endpoint: str
    region: str
    accessKey: str
    secretKey: str
    accountUrl: str
    credential: str
    connectionString: str


class v1CollectSweep(Message):
    """The message v1CollectSweep."""

    since: str
    until: str


class v1ColumnType(DetEnum):
    """The values of v1ColumnType."""

    UNSPECIFIED = "COLUMN_TYPE_UNSPECIFIED"
    TEXT = "COLUMN_TYPE_TEXT"
    NUMBER = "COLUMN_TYPE_NUMBER"
    DATE = "COLUMN_TYPE_DATE"
    ARRAY = "COLUMN_TYPE_ARRAY"


class v1Command(Message):
    """The message v1Command."""

    description: str
    id: str
    jobId: str
    resourcePool: str
    startTime: str
    state: taskv1State
    username: str
    workspaceId: int
    container: Optional[v1Container] = None
    displayName: Optional[str] = None
    exitStatus: Optional[str] = None
    userId: Optional[int] = None


class v1ComparableTrial(Message):
    """The message v1ComparableTrial."""

    metrics: Sequence[v1DownsampledMetrics]
    trial: trialv1Trial


class v1CompareTrialsResponse(Message):
    """The message v1CompareTrialsResponse."""

    trials: Sequence[v1ComparableTrial]


class v1CompletedOperationRequest(Message):
    """The message v1CompletedOperationRequest."""

    op: v1ValidateAfterOperation
    searcherMetric: Optional[float] = None


class v1Config(Message):
    """The message v1Config."""

    log: Optional[v1LogConfig] = None


class v1Container(Message):
    """The message v1Container."""

    id: str
    state: containerv1State
    devices: Optional[Sequence[v1Device]] = None
    parent: Optional[str] = None
    permissionDenied: Optional[bool] = None


class v1ContinueExperimentRequest(Message):
    """The message v1ContinueExperimentRequest."""

    id: int
    overrideConfig: Optional[str] = None


class v1ContinueExperimentResponse(Message):
    """The message v1ContinueExperimentResponse."""

    experiment: v1Experiment
    warnings: Optional[Sequence[v1LaunchWarning]] = None
    remarks: Optional[Sequence[str]] = None


class v1CreateExperimentRequest(Message):
    """The message v1CreateExperimentRequest."""

    activate: Optional[bool] = None
    config: Optional[str] = None
    modelDefinition: Optional[Sequence[v1File]] = None
    parentId: Optional[int] = None
    projectId: Optional[int] = None
    template: Optional[str] = None
    unmanaged: Optional[bool] = None
    validateOnly: Optional[bool] = None


class v1CreateExperimentResponse(Message):
    """The message v1CreateExperimentResponse."""

    config: Dict[str, Any]
    experiment: v1Experiment
    warnings: Optional[Sequence[v1LaunchWarning]] = None
    remarks: Optional[Sequence[str]] = None


class v1CreateGenericTaskRequest(Message):
    """The message v1CreateGenericTaskRequest."""

    config: str
    contextDirectory: Sequence[v1File]
    forkedFrom: Optional[str] = None
    inheritContext: Optional[bool] = None
    noPause: Optional[bool] = None
    parentId: Optional[str] = None
    projectId: Optional[int] = None


class v1CreateGenericTaskResponse(Message):
    """The message v1CreateGenericTaskResponse."""

    taskId: str
    warnings: Optional[Sequence[v1LaunchWarning]] = None
    config: Optional[Dict[str, Any]] = None
    remarks: Optional[Sequence[str]] = None


class v1CreateGroupRequest(Message):
    """The message v1CreateGroupRequest."""

    name: str
    addUsers: Optional[Sequence[int]] = None


class v1CreateGroupResponse(Message):
    """The message v1CreateGroupResponse."""

    group: v1GroupDetails


class v1CreateTrialOperation(Message):
    """The message v1CreateTrialOperation."""

    requestId: str
    hyperparams: str


class v1CreateTrialRequest(Message):
    """The message v1CreateTrialRequest."""

    experimentId: Optional[int] = None
    hparams: Optional[Dict[str, Any]] = None
    unmanaged: Optional[bool] = None


class v1CreateTrialResponse(Message):
    """The message v1CreateTrialResponse."""

    trial: trialv1Trial


class v1Credentials(Message):
    """The message v1Credentials."""

    by: str
    region: str
    roleArn: str
    stsEndpoint: str
    gcs: bool
    azure: bool


class v1CurrentUserResponse(Message):
    """The message v1CurrentUserResponse."""

    user: v1User


class v1CustomWebhookEventData(Message):
    """The message v1CustomWebhookEventData."""

    description: Optional[str] = None
    level: Optional[v1LogLevel] = None
    title: Optional[str] = None


class v1DataPoint(Message):
    """The message v1DataPoint."""

    batches: int
    time: str
    epoch: Optional[float] = None
    values: Optional[Dict[str, Any]] = None


class v1DeleteCheckpointsRequest(Message):
    """The message v1DeleteCheckpointsRequest."""

    checkpointUuids: Sequence[str]


class v1DeleteExperimentLabelResponse(Message):
    """The message v1DeleteExperimentLabelResponse."""

    labels: Sequence[str]


class v1DeleteExperimentsRequest(Message):
    """The message v1DeleteExperimentsRequest."""

    experimentIds: Sequence[int]
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1DeleteExperimentsResponse(Message):
    """The message v1DeleteExperimentsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1DeleteProjectResponse(Message):
    """The message v1DeleteProjectResponse."""

    completed: bool


class v1DeleteRunsRequest(Message):
    """The message v1DeleteRunsRequest."""

    runIds: Sequence[int]
    filter: Optional[str] = None
    projectId: Optional[int] = None


class v1DeleteRunsResponse(Message):
    """The message v1DeleteRunsResponse."""

    results: Sequence[v1RunActionResult]


class v1DeleteWorkspaceResponse(Message):
    """The message v1DeleteWorkspaceResponse."""

    completed: bool


class v1Device(Message):
    """The message v1Device."""

    brand: Optional[str] = None
    id: Optional[int] = None
    type: Optional[devicev1Type] = None
    uuid: Optional[str] = None


class v1DeviceMeasurement(Message):
    """The message v1DeviceMeasurement."""

    uuid: str
    temperatureC: Optional[int] = None
    utilization: Optional[int] = None
    memoryUsedMib: Optional[int] = None
    memoryTotalMib: Optional[int] = None
    powerWatts: Optional[float] = None
    powerLimitWatts: Optional[float] = None
    uncorrectedErrors: Optional[int] = None


class v1DeviceStats(Message):
    """The message v1DeviceStats."""

    disabled: int
    draining: int
    total: int
    states: Optional[Dict[str, int]] = None


class v1DisableAgentRequest(Message):
    """The message v1DisableAgentRequest."""

    agentId: Optional[str] = None
    drain: Optional[bool] = None


class v1DisableAgentResponse(Message):
    """The message v1DisableAgentResponse."""

    agent: Optional[v1Agent] = None


class v1DisableRequest(Message):
    """The message v1DisableRequest."""

    drain: bool


class v1DisableSlotRequest(Message):
    """The message v1DisableSlotRequest."""

    agentId: Optional[str] = None
    drain: Optional[bool] = None
    slotId: Optional[str] = None


class v1DisableSlotResponse(Message):
    """The message v1DisableSlotResponse."""

    slot: Optional[v1Slot] = None


class v1DiskUse(Message):
    """The message v1DiskUse."""

    workspaceId: int
    workspace: str
    checkpoints: int
    checkpointBytes: str
    logBytes: str
    codeBytes: str
    metricBytes: str


class v1DownsampledMetrics(Message):
    """The message v1DownsampledMetrics."""

    data: Sequence[v1DataPoint]
    group: str
    type: v1MetricType


class v1DriverOperation(Message):
    """The message v1DriverOperation."""

    trialOperation: Optional[v1SearcherOperation] = None
    createTrial: Optional[v1CreateTrialOperation] = None
    closeTrial: Optional[v1SearcherEventTrial] = None
    shutDown: Optional[v1ShutDownOperation] = None
    setSearcherProgress: Optional[v1SetSearcherProgressOperation] = None


class v1EnableAgentResponse(Message):
    """The message v1EnableAgentResponse."""

    agent: Optional[v1Agent] = None


class v1EnableSlotResponse(Message):
    """The message v1EnableSlotResponse."""

    slot: Optional[v1Slot] = None


class v1EntityType(DetEnum):
    """The values of v1EntityType."""

    UNSPECIFIED = "ENTITY_TYPE_UNSPECIFIED"
    PROJECT = "ENTITY_TYPE_PROJECT"


class v1ExpMetricNamesResponse(Message):
    """The message v1ExpMetricNamesResponse."""

    metricNames: Optional[Sequence[v1MetricIdentifier]] = None
    searcherMetrics: Optional[Sequence[str]] = None
    trainingMetrics: Optional[Sequence[str]] = None
    validationMetrics: Optional[Sequence[str]] = None


class v1Experiment(Message):
    """The message v1Experiment."""

    archived: bool
    config: Dict[str, Any]
    id: int
    jobId: str
    name: str
    numTrials: int
    originalConfig: str
    projectId: int
    projectOwnerId: int
    searcherType: str
    startTime: str
    state: experimentv1State
    username: str
    bestTrialId: Optional[int] = None
    bestTrialSearcherMetric: Optional[float] = None
    checkpointCount: Optional[int] = None
    checkpointSize: Optional[str] = None
    description: Optional[str] = None
    displayName: Optional[str] = None
    duration: Optional[int] = None
    endTime: Optional[str] = None
    externalExperimentId: Optional[str] = None
    externalTrialId: Optional[str] = None
    forkedFrom: Optional[int] = None
    hyperparameters: Optional[Dict[str, Any]] = None
    labels: Optional[Sequence[str]] = None
    modelDefinitionSize: Optional[int] = None
    notes: Optional[str] = None
    pachydermIntegration: Optional[Dict[str, Any]] = None
    parentArchived: Optional[bool] = None
    progress: Optional[float] = None
    projectName: Optional[str] = None
    resourcePool: Optional[str] = None
    searcherMetric: Optional[str] = None
    trialIds: Optional[Sequence[int]] = None
    unmanaged: Optional[bool] = None
    userId: Optional[int] = None
    workspaceId: Optional[int] = None
    workspaceName: Optional[str] = None
    error: Optional[str] = None
    freed: Optional[v1FreedTotal] = None


class v1ExperimentActionResult(Message):
    """The message v1ExperimentActionResult."""

    error: str
    id: int


class v1FailureType(DetEnum):
    """The values of v1FailureType."""

    UNSPECIFIED = "FAILURE_TYPE_UNSPECIFIED"
    RESOURCES_FAILED = "FAILURE_TYPE_RESOURCES_FAILED"
    RESOURCES_ABORTED = "FAILURE_TYPE_RESOURCES_ABORTED"
    RESOURCES_MISSING = "FAILURE_TYPE_RESOURCES_MISSING"
    TASK_ABORTED = "FAILURE_TYPE_TASK_ABORTED"
    TASK_ERROR = "FAILURE_TYPE_TASK_ERROR"
    AGENT_FAILED = "FAILURE_TYPE_AGENT_FAILED"
    AGENT_ERROR = "FAILURE_TYPE_AGENT_ERROR"
    RESTORE_ERROR = "FAILURE_TYPE_RESTORE_ERROR"
    UNKNOWN_ERROR = "FAILURE_TYPE_UNKNOWN_ERROR"


class v1File(Message):
    """The message v1File."""

    content: str
    gid: int
    mode: int
    mtime: str
    path: str
    type: int
    uid: int


class v1FileNode(Message):
    """The message v1FileNode."""

    contentLength: Optional[int] = None
    contentType: Optional[str] = None
    files: Optional[Sequence[v1FileNode]] = None
    isDir: Optional[bool] = None
    modifiedTime: Optional[str] = None
    name: Optional[str] = None
    path: Optional[str] = None


class v1FinishDeviceSignInRequest(Message):
    """The message v1FinishDeviceSignInRequest."""

    provider: str
    deviceCode: str


class v1FinishDeviceSignInResponse(Message):
    """The message v1FinishDeviceSignInResponse."""

    pending: bool
    slower: bool
    token: str
    user: Optional[v1User] = None


class v1FittingPolicy(DetEnum):
    """The values of v1FittingPolicy."""

    UNSPECIFIED = "FITTING_POLICY_UNSPECIFIED"
    BEST = "FITTING_POLICY_BEST"
    WORST = "FITTING_POLICY_WORST"
    KUBERNETES = "FITTING_POLICY_KUBERNETES"
    SLURM = "FITTING_POLICY_SLURM"
    PBS = "FITTING_POLICY_PBS"


class v1FlatRun(Message):
    """The message v1FlatRun."""

    archived: bool
    checkpointCount: int
    checkpointSize: str
    id: int
    parentArchived: bool
    projectId: int
    projectName: str
    startTime: str
    state: trialv1State
    workspaceId: int
    workspaceName: str
    duration: Optional[int] = None
    endTime: Optional[str] = None
    experiment: Optional[v1FlatRunExperiment] = None
    externalRunId: Optional[str] = None
    hyperparameters: Optional[Dict[str, Any]] = None
    labels: Optional[Sequence[str]] = None
    localId: Optional[str] = None
    logPolicyMatched: Optional[str] = None
    metadata: Optional[Dict[str, Any]] = None
    searcherMetricValue: Optional[float] = None
    summaryMetrics: Optional[Dict[str, Any]] = None
    userId: Optional[int] = None


class v1FlatRunExperiment(Message):
    """The message v1FlatRunExperiment."""

    description: str
    id: int
    isMultitrial: bool
    name: str
    progress: float
    resourcePool: str
    searcherMetric: str
    searcherType: str
    unmanaged: bool
    externalExperimentId: Optional[str] = None
    forkedFrom: Optional[int] = None
    pachydermIntegration: Optional[Dict[str, Any]] = None


class v1FoundLine(Message):
    """The message v1FoundLine."""

    id: str
    level: str
    timestamp: str
    log: str
    rankId: Optional[int] = None


class v1FoundLog(Message):
    """The message v1FoundLog."""

    taskId: str
    taskType: str
    name: str
    username: str
    experimentId: Optional[int] = None
    trialId: Optional[int] = None
    endTime: Optional[str] = None
    lines: Sequence[v1FoundLine]
    more: bool


class v1FreedRequest(Message):
    """The message v1FreedRequest."""

    uuid: str
    files: str
    bytes: str
    left: Optional[v1PatchCheckpointOptionalResources] = None
    error: str


class v1FreedTotal(Message):
    """The message v1FreedTotal."""

    checkpoints: int
    files: str
    bytes: str


class v1GC(Message):
    """The message v1GC."""

    taskId: str
    reason: str
    startTime: str
    endTime: Optional[str] = None
    exitStatus: str
    checkpoints: int
    done: int
    files: str
    bytes: str
    error: str


class v1Gateway(Message):
    """The message v1Gateway."""

    kind: str
    secret: str
    basePath: str
    readyPath: str
    idle: v1GatewayIdle
    ssh: Optional[v1GatewaySSH] = None
    ports: Optional[Sequence[v1GatewayForward]] = None
    ingress: Optional[v1GatewayIngress] = None


class v1GatewayForward(Message):
    """The message v1GatewayForward."""

    port: int
    kind: str
    default: Optional[bool] = None


class v1GatewayIdle(Message):
    """The message v1GatewayIdle."""

    timeoutS: int
    by: str


class v1GatewayIngress(Message):
    """The message v1GatewayIngress."""

    master: str


class v1GatewaySSH(Message):
    """The message v1GatewaySSH."""

    authorizedKey: str
    hostKey: str


class v1GenericTask(Message):
    """The message v1GenericTask."""

    id: str
    description: str
    state: str
    taskState: str
    username: str
    displayName: str
    userId: int
    workspaceId: int
    resourcePool: str
    startTime: str
    endTime: Optional[str] = None
    exitStatus: str
    jobId: str
    parentId: Optional[str] = None
    forkedFrom: Optional[str] = None
    noPause: bool


class v1GenericTaskState(DetEnum):
    """The values of v1GenericTaskState."""

    UNSPECIFIED = "GENERIC_TASK_STATE_UNSPECIFIED"
    ACTIVE = "GENERIC_TASK_STATE_ACTIVE"
    CANCELED = "GENERIC_TASK_STATE_CANCELED"
    COMPLETED = "GENERIC_TASK_STATE_COMPLETED"
    ERROR = "GENERIC_TASK_STATE_ERROR"
    PAUSED = "GENERIC_TASK_STATE_PAUSED"
    STOPPING_PAUSED = "GENERIC_TASK_STATE_STOPPING_PAUSED"
    STOPPING_CANCELED = "GENERIC_TASK_STATE_STOPPING_CANCELED"
    STOPPING_COMPLETED = "GENERIC_TASK_STATE_STOPPING_COMPLETED"
    STOPPING_ERROR = "GENERIC_TASK_STATE_STOPPING_ERROR"


class v1GetAccessTokensRequestSortBy(DetEnum):
    """The values of v1GetAccessTokensRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    USER_ID = "SORT_BY_USER_ID"
    EXPIRY = "SORT_BY_EXPIRY"
    CREATED_AT = "SORT_BY_CREATED_AT"
    TOKEN_TYPE = "SORT_BY_TOKEN_TYPE"
    REVOKED = "SORT_BY_REVOKED"
    DESCRIPTION = "SORT_BY_DESCRIPTION"


class v1GetAccessTokensResponse(Message):
    """The message v1GetAccessTokensResponse."""

    tokenInfo: Sequence[v1TokenInfo]
    pagination: Optional[v1Pagination] = None


class v1GetActiveTasksCountResponse(Message):
    """The message v1GetActiveTasksCountResponse."""

    commands: int
    notebooks: int
    shells: int
    tensorboards: int


class v1GetAgentResponse(Message):
    """The message v1GetAgentResponse."""

    agent: v1Agent


class v1GetAgentsRequestSortBy(DetEnum):
    """The values of v1GetAgentsRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    TIME = "SORT_BY_TIME"


class v1GetAgentsResponse(Message):
    """The message v1GetAgentsResponse."""

    agents: Sequence[v1Agent]
    pagination: Optional[v1Pagination] = None


class v1GetAllocationResponse(Message):
    """The message v1GetAllocationResponse."""

    allocation: v1Allocation


class v1GetBestSearcherValidationMetricResponse(Message):
    """The message v1GetBestSearcherValidationMetricResponse."""

    metric: Optional[float] = None


class v1GetCheckpointResponse(Message):
    """The message v1GetCheckpointResponse."""

    checkpoint: v1Checkpoint


class v1GetClusterMessageResponse(Message):
    """The message v1GetClusterMessageResponse."""

    clusterMessage: Optional[v1ClusterMessage] = None


class v1GetCommandResponse(Message):
    """The message v1GetCommandResponse."""

    command: v1Command
    config: Dict[str, Any]


class v1GetCommandsResponse(Message):
    """The message v1GetCommandsResponse."""

    commands: Sequence[v1Command]
    pagination: Optional[v1Pagination] = None


class v1GetDiskUseResponse(Message):
    """The message v1GetDiskUseResponse."""

    pagination: Optional[v1Pagination] = None
    workspaces: Sequence[v1DiskUse]
    users: Sequence[v1UserDiskUse]
    userLimit: str


class v1GetExperimentCheckpointsResponse(Message):
    """The message v1GetExperimentCheckpointsResponse."""

    checkpoints: Sequence[v1Checkpoint]
    pagination: v1Pagination


class v1GetExperimentLabelsResponse(Message):
    """The message v1GetExperimentLabelsResponse."""

    labels: Optional[Sequence[str]] = None


class v1GetExperimentResponse(Message):
    """The message v1GetExperimentResponse."""

    experiment: v1Experiment
    config: Optional[Dict[str, Any]] = None
    jobSummary: Optional[v1JobSummary] = None
    avoidedNodes: Optional[Sequence[v1AvoidedNode]] = None
    remarks: Optional[Sequence[str]] = None


class v1GetExperimentTrialsRequestSortBy(DetEnum):
    """The values of v1GetExperimentTrialsRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    BEST_VALIDATION_METRIC = "SORT_BY_BEST_VALIDATION_METRIC"
    LATEST_VALIDATION_METRIC = "SORT_BY_LATEST_VALIDATION_METRIC"
    BATCHES_PROCESSED = "SORT_BY_BATCHES_PROCESSED"
    DURATION = "SORT_BY_DURATION"
    RESTARTS = "SORT_BY_RESTARTS"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    LOG_RETENTION_DAYS = "SORT_BY_LOG_RETENTION_DAYS"


class v1GetExperimentTrialsResponse(Message):
    """The message v1GetExperimentTrialsResponse."""

    pagination: v1Pagination
    trials: Sequence[trialv1Trial]


class v1GetExperimentValidationHistoryResponse(Message):
    """The message v1GetExperimentValidationHistoryResponse."""

    validationHistory: Optional[Sequence[v1ValidationHistoryEntry]] = None


class v1GetExperimentsRequestSortBy(DetEnum):
    """The values of v1GetExperimentsRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    NUM_TRIALS = "SORT_BY_NUM_TRIALS"
    PROGRESS = "SORT_BY_PROGRESS"
    USER = "SORT_BY_USER"
    NAME = "SORT_BY_NAME"
    FORKED_FROM = "SORT_BY_FORKED_FROM"
    RESOURCE_POOL = "SORT_BY_RESOURCE_POOL"
    PROJECT_ID = "SORT_BY_PROJECT_ID"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    CHECKPOINT_COUNT = "SORT_BY_CHECKPOINT_COUNT"
    SEARCHER_METRIC_VAL = "SORT_BY_SEARCHER_METRIC_VAL"


class v1GetExperimentsResponse(Message):
    """The message v1GetExperimentsResponse."""

    experiments: Sequence[v1Experiment]
    pagination: v1Pagination


class v1GetGCsResponse(Message):
    """The message v1GetGCsResponse."""

    collections: Sequence[v1GC]
    freed: v1FreedTotal


class v1GetGenericTaskConfigResponse(Message):
    """The message v1GetGenericTaskConfigResponse."""

    config: str


class v1GetGenericTasksResponse(Message):
    """The message v1GetGenericTasksResponse."""

    tasks: Sequence[v1GenericTask]
    pagination: v1Pagination


class v1GetGlobalConfigPoliciesResponse(Message):
    """The message v1GetGlobalConfigPoliciesResponse."""

    configPolicies: Optional[Dict[str, Any]] = None


class v1GetGroupResponse(Message):
    """The message v1GetGroupResponse."""

    group: v1GroupDetails


class v1GetGroupsAndUsersAssignedToWorkspaceResponse(Message):
    """The message v1GetGroupsAndUsersAssignedToWorkspaceResponse."""

    assignments: Sequence[v1RoleWithAssignments]
    groups: Sequence[v1GroupDetails]
    usersAssignedDirectly: Sequence[v1User]


class v1GetGroupsRequest(Message):
    """The message v1GetGroupsRequest."""

    limit: int
    name: Optional[str] = None
    offset: Optional[int] = None
    userId: Optional[int] = None


class v1GetGroupsResponse(Message):
    """The message v1GetGroupsResponse."""

    groups: Optional[Sequence[v1GroupSearchResult]] = None
    pagination: Optional[v1Pagination] = None


class v1GetJobQueueStatsResponse(Message):
    """The message v1GetJobQueueStatsResponse."""

    results: Sequence[v1RPQueueStat]


class v1GetJobsResponse(Message):
    """The message v1GetJobsResponse."""

    jobs: Sequence[v1Job]
    pagination: v1Pagination


class v1GetJobsV2Response(Message):
    """The message v1GetJobsV2Response."""

    jobs: Sequence[v1RBACJob]
    pagination: v1Pagination


class v1GetMasterConfigResponse(Message):
    """The message v1GetMasterConfigResponse."""

    config: Dict[str, Any]


class v1GetMasterResponse(Message):
    """The message v1GetMasterResponse."""

    clusterId: str
    clusterName: str
    hasCustomLogo: bool
    masterId: str
    strictJobQueueControl: bool
    version: str
    branding: Optional[str] = None
    clusterMessage: Optional[v1ClusterMessage] = None
    externalLoginUri: Optional[str] = None
    externalLogoutUri: Optional[str] = None
    featureSwitches: Optional[Sequence[str]] = None
    product: Optional[GetMasterResponseProduct] = None
    rbacEnabled: Optional[bool] = None
    ssoProviders: Optional[Sequence[v1SSOProvider]] = None
    telemetryEnabled: Optional[bool] = None
    userManagementEnabled: Optional[bool] = None


class v1GetMeResponse(Message):
    """The message v1GetMeResponse."""

    user: v1User


class v1GetMetadataValuesResponse(Message):
    """The message v1GetMetadataValuesResponse."""

    values: Optional[Sequence[str]] = None


class v1GetMetricsResponse(Message):
    """The message v1GetMetricsResponse."""

    metrics: Sequence[v1MetricsReport]


class v1GetModelDefFileRequest(Message):
    """The message v1GetModelDefFileRequest."""

    experimentId: Optional[int] = None
    path: Optional[str] = None


class v1GetModelDefFileResponse(Message):
    """The message v1GetModelDefFileResponse."""

    file: Optional[str] = None


class v1GetModelDefResponse(Message):
    """The message v1GetModelDefResponse."""

    b64Tgz: str


class v1GetModelDefTreeResponse(Message):
    """The message v1GetModelDefTreeResponse."""

    files: Optional[Sequence[v1FileNode]] = None


class v1GetModelLabelsResponse(Message):
    """The message v1GetModelLabelsResponse."""

    labels: Sequence[str]


class v1GetModelResponse(Message):
    """The message v1GetModelResponse."""

    model: v1Model


class v1GetModelVersionResponse(Message):
    """The message v1GetModelVersionResponse."""

    modelVersion: v1ModelVersion


class v1GetModelVersionsRequestSortBy(DetEnum):
    """The values of v1GetModelVersionsRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    VERSION = "SORT_BY_VERSION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"


class v1GetModelVersionsResponse(Message):
    """The message v1GetModelVersionsResponse."""

    model: v1Model
    modelVersions: Sequence[v1ModelVersion]
    pagination: v1Pagination


class v1GetModelsRequestSortBy(DetEnum):
    """The values of v1GetModelsRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_UPDATED_TIME = "SORT_BY_LAST_UPDATED_TIME"
    NUM_VERSIONS = "SORT_BY_NUM_VERSIONS"
    WORKSPACE = "SORT_BY_WORKSPACE"


class v1GetModelsResponse(Message):
    """The message v1GetModelsResponse."""

    models: Sequence[v1Model]
    pagination: v1Pagination


class v1GetNotebookResponse(Message):
    """The message v1GetNotebookResponse."""

    config: Dict[str, Any]
    notebook: v1Notebook


class v1GetNotebooksResponse(Message):
    """The message v1GetNotebooksResponse."""

    notebooks: Sequence[v1Notebook]
    pagination: Optional[v1Pagination] = None


class v1GetOrphansResponse(Message):
    """The message v1GetOrphansResponse."""

    orphans: Sequence[v1Orphan]


class v1GetPermissionsSummaryResponse(Message):
    """The message v1GetPermissionsSummaryResponse."""

    assignments: Sequence[v1RoleAssignmentSummary]
    roles: Sequence[v1Role]


class v1GetProjectByKeyResponse(Message):
    """The message v1GetProjectByKeyResponse."""

    project: v1Project


class v1GetProjectColumnsResponse(Message):
    """The message v1GetProjectColumnsResponse."""

    columns: Sequence[v1ProjectColumn]


class v1GetProjectNumericMetricsRangeResponse(Message):
    """The message v1GetProjectNumericMetricsRangeResponse."""

    ranges: Optional[Sequence[v1MetricsRange]] = None


class v1GetProjectResponse(Message):
    """The message v1GetProjectResponse."""

    project: v1Project


class v1GetProjectsByUserActivityResponse(Message):
    """The message v1GetProjectsByUserActivityResponse."""

    projects: Optional[Sequence[v1Project]] = None


class v1GetQuotasResponse(Message):
    """The message v1GetQuotasResponse."""

    quotas: Sequence[v1Quota]
    pagination: Optional[v1Pagination] = None


class v1GetResourcePoolsResponse(Message):
    """The message v1GetResourcePoolsResponse."""

    pagination: Optional[v1Pagination] = None
    resourcePools: Optional[Sequence[v1ResourcePool]] = None


class v1GetRolesAssignedToGroupResponse(Message):
    """The message v1GetRolesAssignedToGroupResponse."""

    assignments: Sequence[v1RoleAssignmentSummary]
    roles: Sequence[v1Role]


class v1GetRolesAssignedToUserResponse(Message):
    """The message v1GetRolesAssignedToUserResponse."""

    roles: Sequence[v1RoleWithAssignments]


class v1GetRolesByIDRequest(Message):
    """The message v1GetRolesByIDRequest."""

    roleIds: Optional[Sequence[int]] = None


class v1GetRolesByIDResponse(Message):
    """The message v1GetRolesByIDResponse."""

    roles: Optional[Sequence[v1RoleWithAssignments]] = None


class v1GetRunMetadataResponse(Message):
    """The message v1GetRunMetadataResponse."""

    metadata: Optional[Dict[str, Any]] = None


class v1GetSearchTrialsResponse(Message):
    """The message v1GetSearchTrialsResponse."""

    trials: Sequence[v1SearchTrial]
    next: int
    time: str


class v1GetSearcherEventsResponse(Message):
    """The message v1GetSearcherEventsResponse."""

    searcherEvents: Sequence[v1SearcherEvent]


class v1GetSessionsResponse(Message):
    """The message v1GetSessionsResponse."""

    sessions: Sequence[v1Session]
    pagination: Optional[v1Pagination] = None


class v1GetShellResponse(Message):
    """The message v1GetShellResponse."""

    config: Dict[str, Any]
    shell: v1Shell


class v1GetShellsResponse(Message):
    """The message v1GetShellsResponse."""

    shells: Sequence[v1Shell]
    pagination: Optional[v1Pagination] = None


class v1GetSlotResponse(Message):
    """The message v1GetSlotResponse."""

    slot: Optional[v1Slot] = None


class v1GetSlotsResponse(Message):
    """The message v1GetSlotsResponse."""

    slots: Optional[Sequence[v1Slot]] = None


class v1GetTaskAcceleratorDataResponse(Message):
    """The message v1GetTaskAcceleratorDataResponse."""

    acceleratorData: Sequence[v1AcceleratorData]


class v1GetTaskContextDirectoryResponse(Message):
    """The message v1GetTaskContextDirectoryResponse."""

    b64Tgz: str


class v1GetTaskResponse(Message):
    """The message v1GetTaskResponse."""

    task: v1Task


class v1GetTasksResponse(Message):
    """The message v1GetTasksResponse."""

    allocationIdToSummary: Optional[Dict[str, v1AllocationSummary]] = None


class v1GetTelemetryResponse(Message):
    """The message v1GetTelemetryResponse."""

    enabled: bool
    segmentKey: Optional[str] = None


class v1GetTemplateResponse(Message):
    """The message v1GetTemplateResponse."""

    template: v1Template


class v1GetTemplatesRequestSortBy(DetEnum):
    """The values of v1GetTemplatesRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    NAME = "SORT_BY_NAME"


class v1GetTemplatesResponse(Message):
    """The message v1GetTemplatesResponse."""

    pagination: v1Pagination
    templates: Sequence[v1Template]


class v1GetTensorboardResponse(Message):
    """The message v1GetTensorboardResponse."""

    config: Dict[str, Any]
    tensorboard: v1Tensorboard


class v1GetTensorboardsRequestSortBy(DetEnum):
    """The values of v1GetTensorboardsRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    START_TIME = "SORT_BY_START_TIME"
    WORKSPACE_ID = "SORT_BY_WORKSPACE_ID"


class v1GetTensorboardsResponse(Message):
    """The message v1GetTensorboardsResponse."""

    tensorboards: Sequence[v1Tensorboard]
    pagination: Optional[v1Pagination] = None


class v1GetTrainingMetricsResponse(Message):
    """The message v1GetTrainingMetricsResponse."""

    metrics: Sequence[v1MetricsReport]


class v1GetTrialByExternalIDResponse(Message):
    """The message v1GetTrialByExternalIDResponse."""

    trial: trialv1Trial


class v1GetTrialCheckpointsResponse(Message):
    """The message v1GetTrialCheckpointsResponse."""

    checkpoints: Sequence[v1Checkpoint]
    pagination: v1Pagination


class v1GetTrialMetricsByCheckpointResponse(Message):
    """The message v1GetTrialMetricsByCheckpointResponse."""

    metrics: Sequence[v1MetricsReport]


class v1GetTrialMetricsByModelVersionResponse(Message):
    """The message v1GetTrialMetricsByModelVersionResponse."""

    metrics: Sequence[v1MetricsReport]


class v1GetTrialProfilerAvailableSeriesResponse(Message):
    """The message v1GetTrialProfilerAvailableSeriesResponse."""

    labels: Sequence[v1TrialProfilerMetricLabels]


class v1GetTrialProfilerMetricsResponse(Message):
    """The message v1GetTrialProfilerMetricsResponse."""

    batch: v1TrialProfilerMetricsBatch


class v1GetTrialRemainingLogRetentionDaysResponse(Message):
    """The message v1GetTrialRemainingLogRetentionDaysResponse."""

    remainingDays: Optional[int] = None


class v1GetTrialResponse(Message):
    """The message v1GetTrialResponse."""

    trial: trialv1Trial


class v1GetTrialWorkloadsResponse(Message):
    """The message v1GetTrialWorkloadsResponse."""

    pagination: v1Pagination
    workloads: Sequence[v1WorkloadContainer]


class v1GetUserByUsernameResponse(Message):
    """The message v1GetUserByUsernameResponse."""

    user: v1User


class v1GetUserResponse(Message):
    """The message v1GetUserResponse."""

    user: v1User


class v1GetUserSecretsResponse(Message):
    """The message v1GetUserSecretsResponse."""

    pagination: Optional[v1Pagination] = None
    secrets: Sequence[v1UserSecret]


class v1GetUserSettingResponse(Message):
    """The message v1GetUserSettingResponse."""

    settings: Sequence[v1UserWebSetting]


class v1GetUsersRequestSortBy(DetEnum):
    """The values of v1GetUsersRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    DISPLAY_NAME = "SORT_BY_DISPLAY_NAME"
    USER_NAME = "SORT_BY_USER_NAME"
    ADMIN = "SORT_BY_ADMIN"
    ACTIVE = "SORT_BY_ACTIVE"
    MODIFIED_TIME = "SORT_BY_MODIFIED_TIME"
    NAME = "SORT_BY_NAME"
    LAST_AUTH_TIME = "SORT_BY_LAST_AUTH_TIME"
    REMOTE = "SORT_BY_REMOTE"


class v1GetUsersResponse(Message):
    """The message v1GetUsersResponse."""

    pagination: Optional[v1Pagination] = None
    users: Optional[Sequence[v1User]] = None


class v1GetValidationMetricsResponse(Message):
    """The message v1GetValidationMetricsResponse."""

    metrics: Sequence[v1MetricsReport]


class v1GetWebhookDeliveriesResponse(Message):
    """The message v1GetWebhookDeliveriesResponse."""

    deliveries: Sequence[v1WebhookDelivery]


class v1GetWebhooksResponse(Message):
    """The message v1GetWebhooksResponse."""

    webhooks: Sequence[v1Webhook]


class v1GetWorkspaceConfigPoliciesResponse(Message):
    """The message v1GetWorkspaceConfigPoliciesResponse."""

    configPolicies: Optional[Dict[str, Any]] = None


class v1GetWorkspaceProjectsRequestSortBy(DetEnum):
    """The values of v1GetWorkspaceProjectsRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_EXPERIMENT_START_TIME = "SORT_BY_LAST_EXPERIMENT_START_TIME"
    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    ID = "SORT_BY_ID"


class v1GetWorkspaceProjectsResponse(Message):
    """The message v1GetWorkspaceProjectsResponse."""

    pagination: v1Pagination
    projects: Sequence[v1Project]


class v1GetWorkspaceResponse(Message):
    """The message v1GetWorkspaceResponse."""

    workspace: v1Workspace


class v1GetWorkspacesRequestSortBy(DetEnum):
    """The values of v1GetWorkspacesRequestSortBy."""

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    NAME = "SORT_BY_NAME"


class v1GetWorkspacesResponse(Message):
    """The message v1GetWorkspacesResponse."""

    pagination: v1Pagination
    workspaces: Sequence[v1Workspace]


class v1Group(Message):
    """The message v1Group."""

    groupId: Optional[int] = None
    name: Optional[str] = None
    origin: Optional[str] = None


class v1GroupDetails(Message):
    """The message v1GroupDetails."""

    groupId: Optional[int] = None
    name: Optional[str] = None
    users: Optional[Sequence[v1User]] = None
    origin: Optional[str] = None


class v1GroupRoleAssignment(Message):
    """The message v1GroupRoleAssignment."""

    groupId: int
    roleAssignment: v1RoleAssignment


class v1GroupSearchResult(Message):
    """The message v1GroupSearchResult."""

    group: v1Group
    numMembers: int


class v1IdleNotebookRequest(Message):
    """The message v1IdleNotebookRequest."""

    idle: Optional[bool] = None
    notebookId: Optional[str] = None


class v1Info(Message):
    """The message v1Info."""

    version: str
    master_id: str
    cluster_id: str
    cluster_name: str
    telemetry: Any
    sso_providers: Sequence[v1InfoSSOProvider]
    detent_version: str
    public_url: str


class v1InfoSSOProvider(Message):
    """The message v1InfoSSOProvider."""

    name: str
    sso_url: str
    type: str
    always_redirect: bool


class v1InitialOperations(Message):
    """The message v1InitialOperations."""

    placeholder: Optional[int] = None


class v1Job(Message):
    """The message v1Job."""

    allocatedSlots: int
    entityId: str
    isPreemptible: bool
    jobId: str
    name: str
    requestedSlots: int
    resourcePool: str
    submissionTime: str
    type: jobv1Type
    username: str
    workspaceId: int
    priority: Optional[int] = None
    progress: Optional[float] = None
    summary: Optional[v1JobSummary] = None
    userId: Optional[int] = None
    weight: Optional[float] = None
    waitingReason: Optional[str] = None
    estimatedStart: Optional[str] = None
    startUnknown: Optional[str] = None


class v1JobSummary(Message):
    """The message v1JobSummary."""

    jobsAhead: int
    state: jobv1State


class v1K8PriorityClass(Message):
    """The message v1K8PriorityClass."""

    priorityClass: Optional[str] = None
    priorityValue: Optional[int] = None


class v1KillCommandResponse(Message):
    """The message v1KillCommandResponse."""

    command: Optional[v1Command] = None


class v1KillExperimentsRequest(Message):
    """The message v1KillExperimentsRequest."""

    experimentIds: Sequence[int]
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1KillExperimentsResponse(Message):
    """The message v1KillExperimentsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1KillGenericTaskRequest(Message):
    """The message v1KillGenericTaskRequest."""

    taskId: str
    killFromRoot: Optional[bool] = None


class v1KillNotebookResponse(Message):
    """The message v1KillNotebookResponse."""

    notebook: Optional[v1Notebook] = None


class v1KillRunsRequest(Message):
    """The message v1KillRunsRequest."""

    runIds: Sequence[int]
    filter: Optional[str] = None
    projectId: Optional[int] = None


class v1KillRunsResponse(Message):
    """The message v1KillRunsResponse."""

    results: Sequence[v1RunActionResult]


class v1KillShellResponse(Message):
    """The message v1KillShellResponse."""

    shell: Optional[v1Shell] = None


class v1KillTensorboardResponse(Message):
    """The message v1KillTensorboardResponse."""

    tensorboard: Optional[v1Tensorboard] = None


class v1LaunchCommandRequest(Message):
    """The message v1LaunchCommandRequest."""

    config: Optional[Dict[str, Any]] = None
    data: Optional[str] = None
    files: Optional[Sequence[v1File]] = None
    templateName: Optional[str] = None
    workspaceId: Optional[int] = None


class v1LaunchCommandResponse(Message):
    """The message v1LaunchCommandResponse."""

    command: v1Command
    config: Dict[str, Any]
    warnings: Optional[Sequence[v1LaunchWarning]] = None
    remarks: Optional[Sequence[str]] = None


class v1LaunchNotebookRequest(Message):
    """The message v1LaunchNotebookRequest."""

    config: Optional[Dict[str, Any]] = None
    files: Optional[Sequence[v1File]] = None
    preview: Optional[bool] = None
    templateName: Optional[str] = None
    workspaceId: Optional[int] = None


class v1LaunchNotebookResponse(Message):
    """The message v1LaunchNotebookResponse."""

    config: Dict[str, Any]
    notebook: v1Notebook
    warnings: Optional[Sequence[v1LaunchWarning]] = None
    remarks: Optional[Sequence[str]] = None


class v1LaunchShellRequest(Message):
    """The message v1LaunchShellRequest."""

    config: Optional[Dict[str, Any]] = None
    data: Optional[str] = None
    files: Optional[Sequence[v1File]] = None
    templateName: Optional[str] = None
    workspaceId: Optional[int] = None


class v1LaunchShellResponse(Message):
    """The message v1LaunchShellResponse."""

    config: Dict[str, Any]
    shell: v1Shell
    warnings: Optional[Sequence[v1LaunchWarning]] = None
    remarks: Optional[Sequence[str]] = None


class v1LaunchTensorboardRequest(Message):
    """The message v1LaunchTensorboardRequest."""

    config: Optional[Dict[str, Any]] = None
    experimentIds: Optional[Sequence[int]] = None
    files: Optional[Sequence[v1File]] = None
    filters: Optional[v1BulkExperimentFilters] = None
    templateName: Optional[str] = None
    trialIds: Optional[Sequence[int]] = None
    workspaceId: Optional[int] = None


class v1LaunchTensorboardResponse(Message):
    """The message v1LaunchTensorboardResponse."""

    config: Dict[str, Any]
    tensorboard: v1Tensorboard
    warnings: Optional[Sequence[v1LaunchWarning]] = None
    remarks: Optional[Sequence[str]] = None


class v1LaunchWarning(DetEnum):
    """The values of v1LaunchWarning."""

    UNSPECIFIED = "LAUNCH_WARNING_UNSPECIFIED"
    CURRENT_SLOTS_EXCEEDED = "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"


class v1LimitedJob(Message):
    """The message v1LimitedJob."""

    allocatedSlots: int
    isPreemptible: bool
    jobId: str
    requestedSlots: int
    resourcePool: str
    type: jobv1Type
    workspaceId: int
    priority: Optional[int] = None
    progress: Optional[float] = None
    summary: Optional[v1JobSummary] = None
    weight: Optional[float] = None


class v1ListAttemptsResponse(Message):
    """The message v1ListAttemptsResponse."""

    attempts: Sequence[v1Attempt]
    pagination: v1Pagination


class v1ListRPsBoundToWorkspaceResponse(Message):
    """The message v1ListRPsBoundToWorkspaceResponse."""

    pagination: Optional[v1Pagination] = None
    resourcePools: Optional[Sequence[str]] = None


class v1ListRolesRequest(Message):
    """The message v1ListRolesRequest."""

    limit: int
    offset: Optional[int] = None


class v1ListRolesResponse(Message):
    """The message v1ListRolesResponse."""

    pagination: v1Pagination
    roles: Sequence[v1Role]


class v1ListWorkspacesBoundToRPResponse(Message):
    """The message v1ListWorkspacesBoundToRPResponse."""

    pagination: Optional[v1Pagination] = None
    workspaceIds: Optional[Sequence[int]] = None


class v1LocationType(DetEnum):
    """The values of v1LocationType."""

    UNSPECIFIED = "LOCATION_TYPE_UNSPECIFIED"
    EXPERIMENT = "LOCATION_TYPE_EXPERIMENT"
    HYPERPARAMETERS = "LOCATION_TYPE_HYPERPARAMETERS"
    VALIDATIONS = "LOCATION_TYPE_VALIDATIONS"
    TRAINING = "LOCATION_TYPE_TRAINING"
    CUSTOM_METRIC = "LOCATION_TYPE_CUSTOM_METRIC"
    RUN = "LOCATION_TYPE_RUN"
    RUN_HYPERPARAMETERS = "LOCATION_TYPE_RUN_HYPERPARAMETERS"
    RUN_METADATA = "LOCATION_TYPE_RUN_METADATA"


class v1LogConfig(Message):
    """The message v1LogConfig."""

    color: Optional[bool] = None
    level: Optional[v1LogLevel] = None


class v1LogEntry(Message):
    """The message v1LogEntry."""

    id: int
    level: v1LogLevel
    message: str
    timestamp: str


class v1LogLevel(DetEnum):
    """The values of v1LogLevel."""

    UNSPECIFIED = "LOG_LEVEL_UNSPECIFIED"
    TRACE = "LOG_LEVEL_TRACE"
    DEBUG = "LOG_LEVEL_DEBUG"
    INFO = "LOG_LEVEL_INFO"
    WARNING = "LOG_LEVEL_WARNING"
    ERROR = "LOG_LEVEL_ERROR"
    CRITICAL = "LOG_LEVEL_CRITICAL"


class v1LogMatch(Message):
    """The message v1LogMatch."""

    policy: int
    line: str


class v1LogMatchesRequest(Message):
    """The message v1LogMatchesRequest."""

    matches: Sequence[v1LogMatch]


class v1LogPattern(Message):
    """The message v1LogPattern."""

    policy: int
    pattern: str


class v1LoginJobRequest(Message):
    """The message v1LoginJobRequest."""

    identity: str


class v1LoginRequest(Message):
    """The message v1LoginRequest."""

    password: str
    username: str
    isHashed: Optional[bool] = None


class v1LoginResponse(Message):
    """The message v1LoginResponse."""

    token: str
    user: v1User


class v1MarkAllocationResourcesDaemonRequest(Message):
    """The message v1MarkAllocationResourcesDaemonRequest."""

    allocationId: str
    resourcesId: Optional[str] = None


class v1MasterLogsResponse(Message):
    """The message v1MasterLogsResponse."""

    logEntry: v1LogEntry


class v1MemberExitRequest(Message):
    """The message v1MemberExitRequest."""

    exitCode: int
    reason: str
    logsDone: bool
    stopped: bool
    unfit: bool
    logMatches: Sequence[v1LogMatch]


class v1MemberRendezvousResponse(Message):
    """The message v1MemberRendezvousResponse."""

    ready: bool
    waiting: str
    addresses: Sequence[str]
    slots: Sequence[int]
    ports: Sequence[Dict[str, int]]


class v1MetricBatchesResponse(Message):
    """The message v1MetricBatchesResponse."""

    batches: Optional[Sequence[int]] = None


class v1MetricIdentifier(Message):
    """The message v1MetricIdentifier."""

    group: str
    name: str


class v1MetricType(DetEnum):
    """The values of v1MetricType."""

    UNSPECIFIED = "METRIC_TYPE_UNSPECIFIED"
    TRAINING = "METRIC_TYPE_TRAINING"
    VALIDATION = "METRIC_TYPE_VALIDATION"
    PROFILING = "METRIC_TYPE_PROFILING"


class v1Metrics(Message):
    """The message v1Metrics."""

    avgMetrics: Dict[str, Any]
    batchMetrics: Optional[Sequence[Dict[str, Any]]] = None


class v1MetricsRange(Message):
    """The message v1MetricsRange."""

    max: float
    metricsName: str
    min: float


class v1MetricsReport(Message):
    """The message v1MetricsReport."""

    archived: bool
    endTime: str
    group: str
    id: int
    metrics: Dict[str, Any]
    totalBatches: int
    trialId: int
    trialRunId: int


class v1MetricsWorkload(Message):
    """The message v1MetricsWorkload."""

    metrics: v1Metrics
    numInputs: int
    totalBatches: int
    endTime: Optional[str] = None


class v1Model(Message):
    """The message v1Model."""

    archived: bool
    creationTime: str
    id: int
    lastUpdatedTime: str
    metadata: Dict[str, Any]
    name: str
    numVersions: int
    userId: int
    username: str
    workspaceId: int
    description: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    notes: Optional[str] = None


class v1ModelVersion(Message):
    """The message v1ModelVersion."""

    checkpoint: v1Checkpoint
    creationTime: str
    id: int
    lastUpdatedTime: str
    model: v1Model
    version: int
    comment: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    metadata: Optional[Dict[str, Any]] = None
    name: Optional[str] = None
    notes: Optional[str] = None
    userId: Optional[int] = None
    username: Optional[str] = None


class v1MoveExperimentRequest(Message):
    """The message v1MoveExperimentRequest."""

    destinationProjectId: int
    experimentId: int


class v1MoveExperimentsRequest(Message):
    """The message v1MoveExperimentsRequest."""

    destinationProjectId: int
    experimentIds: Sequence[int]
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1MoveExperimentsResponse(Message):
    """The message v1MoveExperimentsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1MoveModelRequest(Message):
    """The message v1MoveModelRequest."""

    destinationWorkspaceId: int
    modelName: str


class v1MoveProjectRequest(Message):
    """The message v1MoveProjectRequest."""

    destinationWorkspaceId: int
    projectId: int


class v1MoveRunsRequest(Message):
    """The message v1MoveRunsRequest."""

    destinationProjectId: int
    runIds: Sequence[int]
    sourceProjectId: int
    filter: Optional[str] = None
    skipMultitrial: Optional[bool] = None


class v1MoveRunsResponse(Message):
    """The message v1MoveRunsResponse."""

    results: Sequence[v1RunActionResult]


class v1NodeMeasurements(Message):
    """The message v1NodeMeasurements."""

    devices: Sequence[v1DeviceMeasurement]


class v1Note(Message):
    """The message v1Note."""

    contents: str
    name: str


class v1Notebook(Message):
    """The message v1Notebook."""

    description: str
    id: str
    jobId: str
    resourcePool: str
    startTime: str
    state: taskv1State
    username: str
    workspaceId: int
    container: Optional[v1Container] = None
    displayName: Optional[str] = None
    exitStatus: Optional[str] = None
    serviceAddress: Optional[str] = None
    userId: Optional[int] = None


class v1NotifyContainerRunningRequest(Message):
    """The message v1NotifyContainerRunningRequest."""

    allocationId: str
    data: Dict[str, Any]
    nodeName: Optional[str] = None
    numPeers: Optional[int] = None
    rank: Optional[int] = None
    requestUuid: Optional[str] = None


class v1NotifyContainerRunningResponse(Message):
    """The message v1NotifyContainerRunningResponse."""

    data: Sequence[Dict[str, Any]]


class v1OldAgentUser(Message):
    """The message v1OldAgentUser."""

    uid: Optional[int] = None
    gid: Optional[int] = None
    user: Optional[str] = None
    group: Optional[str] = None


class v1OldLoginRequest(Message):
    """The message v1OldLoginRequest."""

    username: str
    password: str


class v1OldLoginResponse(Message):
    """The message v1OldLoginResponse."""

    token: str


class v1OldPort(Message):
    """The message v1OldPort."""

    port: int
    proxy_tcp: bool
    service_id: str
    unauthenticated: bool


class v1OldResource(Message):
    """The message v1OldResource."""

    resources_id: str
    resources_type: str
    allocation_id: str
    agent_devices: Dict[str, Sequence[v1Device]]
    container_id: str
    Started: Optional[v1ResourcesStarted] = None
    Exited: Optional[v1ResourcesStopped] = None


class v1OldTask(Message):
    """The message v1OldTask."""

    task_id: str
    allocation_id: str
    name: str
    registered_time: str
    resource_pool: str
    slots_needed: int
    resources: Sequence[v1OldResource]
    scheduler_type: str
    priority: int
    proxy_ports: Sequence[v1OldPort]


class v1OldUser(Message):
    """The message v1OldUser."""

    id: int
    username: str
    display_name: str
    admin: bool
    active: bool
    remote: bool


class v1OldUserRequest(Message):
    """The message v1OldUserRequest."""

    username: Optional[str] = None
    password: Optional[str] = None
    active: Optional[bool] = None
    admin: Optional[bool] = None
    agent_user_group: Optional[v1OldAgentUser] = None


class v1OrderBy(DetEnum):
    """The values of v1OrderBy."""

    UNSPECIFIED = "ORDER_BY_UNSPECIFIED"
    ASC = "ORDER_BY_ASC"
    DESC = "ORDER_BY_DESC"


class v1Orphan(Message):
    """The message v1Orphan."""

    jobId: str
    allocationId: str
    submittedAt: str
    seenAt: str
    stopAt: str


class v1OverwriteRPWorkspaceBindingsRequest(Message):
    """The message v1OverwriteRPWorkspaceBindingsRequest."""

    resourcePoolName: str
    workspaceIds: Optional[Sequence[int]] = None
    workspaceNames: Optional[Sequence[str]] = None


class v1Pagination(Message):
    """The message v1Pagination."""

    endIndex: Optional[int] = None
    limit: Optional[int] = None
    offset: Optional[int] = None
    startIndex: Optional[int] = None
    total: Optional[int] = None


class v1PatchAccessTokenRequest(Message):
    """The message v1PatchAccessTokenRequest."""

    tokenId: int
    description: Optional[str] = None
    setRevoked: Optional[bool] = None


class v1PatchAccessTokenResponse(Message):
    """The message v1PatchAccessTokenResponse."""

    tokenInfo: Optional[v1TokenInfo] = None


class v1PatchCheckpoint(Message):
    """The message v1PatchCheckpoint."""

    uuid: str
    resources: Optional[PatchCheckpointOptionalResources] = None


class v1PatchCheckpointOptionalResources(Message):
    """The message v1PatchCheckpointOptionalResources."""

    resources: Dict[str, str]


class v1PatchCheckpointsRequest(Message):
    """The message v1PatchCheckpointsRequest."""

    checkpoints: Sequence[v1PatchCheckpoint]


class v1PatchExperiment(Message):
    """The message v1PatchExperiment."""

    id: int
    checkpointStorage: Optional[PatchExperimentPatchCheckpointStorage] = None
    description: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    name: Optional[str] = None
    notes: Optional[str] = None
    resources: Optional[PatchExperimentPatchResources] = None


class v1PatchExperimentResponse(Message):
    """The message v1PatchExperimentResponse."""

    experiment: Optional[v1Experiment] = None


class v1PatchMasterConfigRequest(Message):
    """The message v1PatchMasterConfigRequest."""

    config: Optional[v1Config] = None
    fieldMask: Optional[protobufFieldMask] = None


class v1PatchModel(Message):
    """The message v1PatchModel."""

    description: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    metadata: Optional[Dict[str, Any]] = None
    name: Optional[str] = None
    notes: Optional[str] = None
    workspaceId: Optional[int] = None
    workspaceName: Optional[str] = None


class v1PatchModelResponse(Message):
    """The message v1PatchModelResponse."""

    model: v1Model


class v1PatchModelVersion(Message):
    """The message v1PatchModelVersion."""

    checkpoint: Optional[v1Checkpoint] = None
    comment: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    metadata: Optional[Dict[str, Any]] = None
    name: Optional[str] = None
    notes: Optional[str] = None


class v1PatchModelVersionResponse(Message):
    """The message v1PatchModelVersionResponse."""

    modelVersion: v1ModelVersion


class v1PatchProject(Message):
    """The message v1PatchProject."""

    description: Optional[str] = None
    key: Optional[str] = None
    name: Optional[str] = None


class v1PatchProjectResponse(Message):
    """The message v1PatchProjectResponse."""

    project: v1Project


class v1PatchTemplateConfigResponse(Message):
    """The message v1PatchTemplateConfigResponse."""

    template: v1Template


class v1PatchTemplateNameRequest(Message):
    """The message v1PatchTemplateNameRequest."""

    newName: str
    oldName: str


class v1PatchTemplateNameResponse(Message):
    """The message v1PatchTemplateNameResponse."""

    template: v1Template


class v1PatchTrialRequest(Message):
    """The message v1PatchTrialRequest."""

    trialId: int
    state: Optional[trialv1State] = None


class v1PatchTrialResponse(Message):
    """The message v1PatchTrialResponse."""

    trial: trialv1Trial


class v1PatchUser(Message):
    """The message v1PatchUser."""

    active: Optional[bool] = None
    admin: Optional[bool] = None
    agentUserGroup: Optional[v1AgentUserGroup] = None
    displayName: Optional[str] = None
    isHashed: Optional[bool] = None
    password: Optional[str] = None
    remote: Optional[bool] = None
    username: Optional[str] = None


class v1PatchUserResponse(Message):
    """The message v1PatchUserResponse."""

    user: v1User


class v1PatchUsersRequest(Message):
    """The message v1PatchUsersRequest."""

    activate: bool
    userIds: Sequence[int]
    filters: Optional[v1UserFilters] = None


class v1PatchUsersResponse(Message):
    """The message v1PatchUsersResponse."""

    results: Sequence[v1UserActionResult]


class v1PatchWebhook(Message):
    """The message v1PatchWebhook."""

    url: str


class v1PatchWorkspace(Message):
    """The message v1PatchWorkspace."""

    agentUserGroup: Optional[v1AgentUserGroup] = None
    checkpointStorageConfig: Optional[Dict[str, Any]] = None
    clusterNamespaceMeta: Optional[Dict[str, v1WorkspaceNamespaceMeta]] = None
    defaultAuxPool: Optional[str] = None
    defaultAuxResourcePool: Optional[str] = None
    defaultComputePool: Optional[str] = None
    defaultComputeResourcePool: Optional[str] = None
    name: Optional[str] = None


class v1PatchWorkspaceResponse(Message):
    """The message v1PatchWorkspaceResponse."""

    workspace: v1Workspace
    namespaceBindings: Optional[Dict[str, v1WorkspaceNamespaceBinding]] = None


class v1PauseExperimentsRequest(Message):
    """The message v1PauseExperimentsRequest."""

    experimentIds: Sequence[int]
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1PauseExperimentsResponse(Message):
    """The message v1PauseExperimentsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1PauseRunsRequest(Message):
    """The message v1PauseRunsRequest."""

    projectId: int
    runIds: Sequence[int]
    filter: Optional[str] = None


class v1PauseRunsResponse(Message):
    """The message v1PauseRunsResponse."""

    results: Sequence[v1RunActionResult]


class v1Permission(Message):
    """The message v1Permission."""

    id: v1PermissionType
    name: Optional[str] = None
    scopeTypeMask: Optional[v1ScopeTypeMask] = None


class v1PermissionType(DetEnum):
    """The values of v1PermissionType."""

    UNSPECIFIED = "PERMISSION_TYPE_UNSPECIFIED"
    ADMINISTRATE_USER = "PERMISSION_TYPE_ADMINISTRATE_USER"
    ADMINISTRATE_OAUTH = "PERMISSION_TYPE_ADMINISTRATE_OAUTH"
    CREATE_EXPERIMENT = "PERMISSION_TYPE_CREATE_EXPERIMENT"
    VIEW_EXPERIMENT_ARTIFACTS = "PERMISSION_TYPE_VIEW_EXPERIMENT_ARTIFACTS"
    VIEW_EXPERIMENT_METADATA = "PERMISSION_TYPE_VIEW_EXPERIMENT_METADATA"
    UPDATE_EXPERIMENT = "PERMISSION_TYPE_UPDATE_EXPERIMENT"
    UPDATE_EXPERIMENT_METADATA = "PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA"
    DELETE_EXPERIMENT = "PERMISSION_TYPE_DELETE_EXPERIMENT"
    CREATE_NSC = "PERMISSION_TYPE_CREATE_NSC"
    VIEW_NSC = "PERMISSION_TYPE_VIEW_NSC"
    UPDATE_NSC = "PERMISSION_TYPE_UPDATE_NSC"
    UPDATE_GROUP = "PERMISSION_TYPE_UPDATE_GROUP"
    CREATE_WORKSPACE = "PERMISSION_TYPE_CREATE_WORKSPACE"
    VIEW_WORKSPACE = "PERMISSION_TYPE_VIEW_WORKSPACE"
    UPDATE_WORKSPACE = "PERMISSION_TYPE_UPDATE_WORKSPACE"
    DELETE_WORKSPACE = "PERMISSION_TYPE_DELETE_WORKSPACE"
    SET_WORKSPACE_AGENT_USER_GROUP = "PERMISSION_TYPE_SET_WORKSPACE_AGENT_USER_GROUP"
    SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG = "PERMISSION_TYPE_SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG"
    SET_WORKSPACE_DEFAULT_RESOURCE_POOL = "PERMISSION_TYPE_SET_WORKSPACE_DEFAULT_RESOURCE_POOL"
    CREATE_PROJECT = "PERMISSION_TYPE_CREATE_PROJECT"
    VIEW_PROJECT = "PERMISSION_TYPE_VIEW_PROJECT"
    UPDATE_PROJECT = "PERMISSION_TYPE_UPDATE_PROJECT"
    DELETE_PROJECT = "PERMISSION_TYPE_DELETE_PROJECT"
    ASSIGN_ROLES = "PERMISSION_TYPE_ASSIGN_ROLES"
    VIEW_MODEL_REGISTRY = "PERMISSION_TYPE_VIEW_MODEL_REGISTRY"
    EDIT_MODEL_REGISTRY = "PERMISSION_TYPE_EDIT_MODEL_REGISTRY"
    CREATE_MODEL_REGISTRY = "PERMISSION_TYPE_CREATE_MODEL_REGISTRY"
    DELETE_MODEL_REGISTRY = "PERMISSION_TYPE_DELETE_MODEL_REGISTRY"
    DELETE_MODEL_VERSION = "PERMISSION_TYPE_DELETE_MODEL_VERSION"
    DELETE_OTHER_USER_MODEL_REGISTRY = "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_REGISTRY"
    DELETE_OTHER_USER_MODEL_VERSION = "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_VERSION"
    VIEW_MASTER_LOGS = "PERMISSION_TYPE_VIEW_MASTER_LOGS"
    VIEW_CLUSTER_USAGE = "PERMISSION_TYPE_VIEW_CLUSTER_USAGE"
    UPDATE_AGENTS = "PERMISSION_TYPE_UPDATE_AGENTS"
    VIEW_SENSITIVE_AGENT_INFO = "PERMISSION_TYPE_VIEW_SENSITIVE_AGENT_INFO"
    VIEW_MASTER_CONFIG = "PERMISSION_TYPE_VIEW_MASTER_CONFIG"
    UPDATE_MASTER_CONFIG = "PERMISSION_TYPE_UPDATE_MASTER_CONFIG"
    VIEW_EXTERNAL_JOBS = "PERMISSION_TYPE_VIEW_EXTERNAL_JOBS"
    CONTROL_STRICT_JOB_QUEUE = "PERMISSION_TYPE_CONTROL_STRICT_JOB_QUEUE"
    VIEW_TEMPLATES = "PERMISSION_TYPE_VIEW_TEMPLATES"
    UPDATE_TEMPLATES = "PERMISSION_TYPE_UPDATE_TEMPLATES"
    CREATE_TEMPLATES = "PERMISSION_TYPE_CREATE_TEMPLATES"
    DELETE_TEMPLATES = "PERMISSION_TYPE_DELETE_TEMPLATES"
    UPDATE_ROLES = "PERMISSION_TYPE_UPDATE_ROLES"
    EDIT_WEBHOOKS = "PERMISSION_TYPE_EDIT_WEBHOOKS"
    VIEW_WEBHOOKS = "PERMISSION_TYPE_VIEW_WEBHOOKS"
    MODIFY_RP_WORKSPACE_BINDINGS = "PERMISSION_TYPE_MODIFY_RP_WORKSPACE_BINDINGS"
    SET_WORKSPACE_NAMESPACE_BINDINGS = "PERMISSION_TYPE_SET_WORKSPACE_NAMESPACE_BINDINGS"
    SET_RESOURCE_QUOTAS = "PERMISSION_TYPE_SET_RESOURCE_QUOTAS"
    VIEW_RESOURCE_QUOTAS = "PERMISSION_TYPE_VIEW_RESOURCE_QUOTAS"
    MODIFY_GLOBAL_CONFIG_POLICIES = "PERMISSION_TYPE_MODIFY_GLOBAL_CONFIG_POLICIES"
    MODIFY_WORKSPACE_CONFIG_POLICIES = "PERMISSION_TYPE_MODIFY_WORKSPACE_CONFIG_POLICIES"
    VIEW_GLOBAL_CONFIG_POLICIES = "PERMISSION_TYPE_VIEW_GLOBAL_CONFIG_POLICIES"
    VIEW_WORKSPACE_CONFIG_POLICIES = "PERMISSION_TYPE_VIEW_WORKSPACE_CONFIG_POLICIES"
    ADMINISTRATE_TOKEN = "PERMISSION_TYPE_ADMINISTRATE_TOKEN"
    UPDATE_TOKEN = "PERMISSION_TYPE_UPDATE_TOKEN"
    CREATE_TOKEN = "PERMISSION_TYPE_CREATE_TOKEN"
    CREATE_OTHER_TOKEN = "PERMISSION_TYPE_CREATE_OTHER_TOKEN"
    VIEW_OTHER_TOKEN = "PERMISSION_TYPE_VIEW_OTHER_TOKEN"
    VIEW_TOKEN = "PERMISSION_TYPE_VIEW_TOKEN"


class v1PostAccessTokenRequest(Message):
    """The message v1PostAccessTokenRequest."""

    userId: int
    description: Optional[str] = None
    lifespan: Optional[str] = None


class v1PostAccessTokenResponse(Message):
    """The message v1PostAccessTokenResponse."""

    token: Optional[str] = None
    tokenId: Optional[int] = None


class v1PostAllocationAcceleratorDataRequest(Message):
    """The message v1PostAllocationAcceleratorDataRequest."""

    acceleratorData: v1AcceleratorData
    allocationId: str


class v1PostAllocationProxyAddressRequest(Message):
    """The message v1PostAllocationProxyAddressRequest."""

    allocationId: Optional[str] = None
    proxyAddress: Optional[str] = None


class v1PostCheckpointMetadataRequest(Message):
    """The message v1PostCheckpointMetadataRequest."""

    checkpoint: Optional[v1Checkpoint] = None


class v1PostCheckpointMetadataResponse(Message):
    """The message v1PostCheckpointMetadataResponse."""

    checkpoint: Optional[v1Checkpoint] = None


class v1PostModelRequest(Message):
    """The message v1PostModelRequest."""

    name: str
    description: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    metadata: Optional[Dict[str, Any]] = None
    notes: Optional[str] = None
    workspaceId: Optional[int] = None
    workspaceName: Optional[str] = None


class v1PostModelResponse(Message):
    """The message v1PostModelResponse."""

    model: v1Model


class v1PostModelVersionRequest(Message):
    """The message v1PostModelVersionRequest."""

    checkpointUuid: str
    modelName: str
    comment: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    metadata: Optional[Dict[str, Any]] = None
    name: Optional[str] = None
    notes: Optional[str] = None


class v1PostModelVersionResponse(Message):
    """The message v1PostModelVersionResponse."""

    modelVersion: v1ModelVersion


class v1PostProjectRequest(Message):
    """The message v1PostProjectRequest."""

    name: str
    workspaceId: int
    description: Optional[str] = None
    key: Optional[str] = None


class v1PostProjectResponse(Message):
    """The message v1PostProjectResponse."""

    project: v1Project


class v1PostRunMetadataRequest(Message):
    """The message v1PostRunMetadataRequest."""

    metadata: Dict[str, Any]
    runId: Optional[int] = None


class v1PostRunMetadataResponse(Message):
    """The message v1PostRunMetadataResponse."""

    metadata: Optional[Dict[str, Any]] = None


class v1PostSearcherOperationsRequest(Message):
    """The message v1PostSearcherOperationsRequest."""

    experimentId: int
    searcherOperations: Sequence[v1DriverOperation]
    triggeredByEvent: Optional[v1SearcherEvent] = None


class v1PostTaskLogsRequest(Message):
    """The message v1PostTaskLogsRequest."""

    logs: Sequence[v1TaskLog]


class v1PostTemplateResponse(Message):
    """The message v1PostTemplateResponse."""

    template: v1Template


class v1PostTrialProfilerMetricsBatchRequest(Message):
    """The message v1PostTrialProfilerMetricsBatchRequest."""

    batches: Optional[Sequence[v1TrialProfilerMetricsBatch]] = None


class v1PostUserActivityRequest(Message):
    """The message v1PostUserActivityRequest."""

    activityType: v1ActivityType
    entityId: int
    entityType: v1EntityType


class v1PostUserRequest(Message):
    """The message v1PostUserRequest."""

    isHashed: Optional[bool] = None
    password: Optional[str] = None
    user: Optional[v1User] = None


class v1PostUserResponse(Message):
    """The message v1PostUserResponse."""

    user: Optional[v1User] = None


class v1PostUserSettingRequest(Message):
    """The message v1PostUserSettingRequest."""

    settings: Sequence[v1UserWebSetting]


class v1PostWebhookEventDataRequest(Message):
    """The message v1PostWebhookEventDataRequest."""

    data: v1CustomWebhookEventData
    experimentId: int
    trialId: Optional[int] = None


class v1PostWebhookResponse(Message):
    """The message v1PostWebhookResponse."""

    webhook: v1Webhook


class v1PostWorkspaceRequest(Message):
    """The message v1PostWorkspaceRequest."""

    name: str
    agentUserGroup: Optional[v1AgentUserGroup] = None
    checkpointStorageConfig: Optional[Dict[str, Any]] = None
    clusterNamespaceMeta: Optional[Dict[str, v1WorkspaceNamespaceMeta]] = None
    clusterQuotaPairs: Optional[Dict[str, int]] = None
    defaultAuxPool: Optional[str] = None
    defaultComputePool: Optional[str] = None


class v1PostWorkspaceResponse(Message):
    """The message v1PostWorkspaceResponse."""

    workspace: v1Workspace
    namespaceBindings: Optional[Dict[str, v1WorkspaceNamespaceBinding]] = None


class v1PreviewGCCheckpoint(Message):
    """The message v1PreviewGCCheckpoint."""

    TrialID: int
    StepsCompleted: int
    State: str
    ValidationMetrics: Dict[str, Any]
    UUID: str
    Resources: Dict[str, str]
    ReportTime: str
    step: Optional[v1PreviewGCStep] = None


class v1PreviewGCResponse(Message):
    """The message v1PreviewGCResponse."""

    checkpoints: Sequence[v1PreviewGCCheckpoint]
    metric_name: str
    total: int


class v1PreviewGCStep(Message):
    """The message v1PreviewGCStep."""

    validation: Dict[str, Any]


class v1PreviewHPSearchRequest(Message):
    """The message v1PreviewHPSearchRequest."""

    config: Optional[Dict[str, Any]] = None
    seed: Optional[int] = None


class v1PreviewHPSearchResponse(Message):
    """The message v1PreviewHPSearchResponse."""

    summary: Optional[v1SearchSummary] = None


class v1Project(Message):
    """The message v1Project."""

    archived: bool
    errorMessage: str
    id: int
    immutable: bool
    key: str
    name: str
    notes: Sequence[v1Note]
    numActiveExperiments: int
    numExperiments: int
    numRuns: int
    state: v1WorkspaceState
    userId: int
    username: str
    workspaceId: int
    description: Optional[str] = None
    lastExperimentStartedAt: Optional[str] = None
    workspaceName: Optional[str] = None


class v1ProjectColumn(Message):
    """The message v1ProjectColumn."""

    column: str
    location: v1LocationType
    type: v1ColumnType
    displayName: Optional[str] = None


class v1ProxyPortConfig(Message):
    """The message v1ProxyPortConfig."""

    port: Optional[int] = None
    proxyTcp: Optional[bool] = None
    serviceId: Optional[str] = None
    unauthenticated: Optional[bool] = None


class v1PutExperimentLabelResponse(Message):
    """The message v1PutExperimentLabelResponse."""

    labels: Sequence[str]


class v1PutExperimentResponse(Message):
    """The message v1PutExperimentResponse."""

    config: Dict[str, Any]
    experiment: v1Experiment


class v1PutExperimentRetainLogsRequest(Message):
    """The message v1PutExperimentRetainLogsRequest."""

    experimentId: int
    numDays: int


class v1PutExperimentsRetainLogsRequest(Message):
    """The message v1PutExperimentsRetainLogsRequest."""

    experimentIds: Sequence[int]
    numDays: int
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1PutExperimentsRetainLogsResponse(Message):
    """The message v1PutExperimentsRetainLogsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1PutGlobalConfigPoliciesRequest(Message):
    """The message v1PutGlobalConfigPoliciesRequest."""

    configPolicies: str
    workloadType: str


class v1PutGlobalConfigPoliciesResponse(Message):
    """The message v1PutGlobalConfigPoliciesResponse."""

    configPolicies: Optional[Dict[str, Any]] = None


class v1PutProjectNotesRequest(Message):
    """The message v1PutProjectNotesRequest."""

    notes: Sequence[v1Note]
    projectId: int


class v1PutProjectNotesResponse(Message):
    """The message v1PutProjectNotesResponse."""

    notes: Sequence[v1Note]


class v1PutQuotaRequest(Message):
    """The message v1PutQuotaRequest."""

    workspaceId: int
    projectId: int
    userId: int
    resourcePool: str
    measure: str
    period: str
    soft: Optional[int] = None
    hard: Optional[int] = None


class v1PutQuotaResponse(Message):
    """The message v1PutQuotaResponse."""

    quota: v1Quota


class v1PutTemplateResponse(Message):
    """The message v1PutTemplateResponse."""

    template: Optional[v1Template] = None


class v1PutTrialRequest(Message):
    """The message v1PutTrialRequest."""

    createTrialRequest: Optional[v1CreateTrialRequest] = None
    externalTrialId: Optional[str] = None


class v1PutTrialResponse(Message):
    """The message v1PutTrialResponse."""

    trial: trialv1Trial


class v1PutTrialRetainLogsRequest(Message):
    """The message v1PutTrialRetainLogsRequest."""

    numDays: int
    trialId: Optional[int] = None


class v1PutWorkspaceConfigPoliciesRequest(Message):
    """The message v1PutWorkspaceConfigPoliciesRequest."""

    configPolicies: str
    workloadType: str
    workspaceId: int


class v1PutWorkspaceConfigPoliciesResponse(Message):
    """The message v1PutWorkspaceConfigPoliciesResponse."""

    configPolicies: Optional[Dict[str, Any]] = None


class v1QueueControl(Message):
    """The message v1QueueControl."""

    jobId: str
    aheadOf: Optional[str] = None
    behindOf: Optional[str] = None
    priority: Optional[int] = None
    resourcePool: Optional[str] = None
    weight: Optional[float] = None


class v1QueueStats(Message):
    """The message v1QueueStats."""

    queuedCount: int
    scheduledCount: int


class v1Quota(Message):
    """The message v1Quota."""

    id: int
    workspaceId: int
    workspaceName: str
    projectId: int
    projectName: str
    userId: int
    username: str
    resourcePool: str
    measure: str
    period: str
    soft: Optional[int] = None
    hard: Optional[int] = None
    used: float
    periodStart: Optional[str] = None
    periodEnd: Optional[str] = None
    measuredTime: Optional[str] = None


class v1RBACJob(Message):
    """The message v1RBACJob."""

    full: Optional[v1Job] = None
    limited: Optional[v1LimitedJob] = None


class v1RPQueueStat(Message):
    """The message v1RPQueueStat."""

    resourcePool: str
    stats: v1QueueStats
    aggregates: Optional[Sequence[v1AggregateQueueStats]] = None


class v1RedeliverWebhookResponse(Message):
    """The message v1RedeliverWebhookResponse."""

    id: str


class v1RemoveAssignmentsRequest(Message):
    """The message v1RemoveAssignmentsRequest."""

    groupRoleAssignments: Optional[Sequence[v1GroupRoleAssignment]] = None
    userRoleAssignments: Optional[Sequence[v1UserRoleAssignment]] = None


class v1RendezvousInfo(Message):
    """The message v1RendezvousInfo."""

    addresses: Sequence[str]
    rank: int
    slots: Sequence[int]


class v1ReportTrialMetricsRequest(Message):
    """The message v1ReportTrialMetricsRequest."""

    group: str
    metrics: v1TrialMetrics


class v1ReportTrialProgressRequest(Message):
    """The message v1ReportTrialProgressRequest."""

    progress: float
    trialId: int
    isRaw: Optional[bool] = None


class v1ReportTrialSourceInfoRequest(Message):
    """The message v1ReportTrialSourceInfoRequest."""

    trialSourceInfo: v1TrialSourceInfo


class v1ReportTrialSourceInfoResponse(Message):
    """The message v1ReportTrialSourceInfoResponse."""

    checkpointUuid: str
    trialId: int


class v1ResourceAllocationAggregatedEntry(Message):
    """The message v1ResourceAllocationAggregatedEntry."""

    byExperimentLabel: Dict[str, float]
    byResourcePool: Dict[str, float]
    byUsername: Dict[str, float]
    period: v1ResourceAllocationAggregationPeriod
    periodStart: str
    seconds: float
    byWorkspace: Optional[Dict[str, float]] = None
    byProject: Optional[Dict[str, float]] = None
    byTaskType: Optional[Dict[str, float]] = None
    byGpuModel: Optional[Dict[str, float]] = None


class v1ResourceAllocationAggregatedResponse(Message):
    """The message v1ResourceAllocationAggregatedResponse."""

    resourceEntries: Sequence[v1ResourceAllocationAggregatedEntry]


class v1ResourceAllocationAggregationPeriod(DetEnum):
    """The values of v1ResourceAllocationAggregationPeriod."""

    UNSPECIFIED = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_UNSPECIFIED"
    DAILY = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
    MONTHLY = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"


class v1ResourceAllocationRawEntry(Message):
    """The message v1ResourceAllocationRawEntry."""

    endTime: Optional[str] = None
    experimentId: Optional[int] = None
    kind: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    seconds: Optional[float] = None
    slots: Optional[int] = None
    startTime: Optional[str] = None
    userId: Optional[int] = None
    username: Optional[str] = None
    gpuModels: Optional[Dict[str, int]] = None


class v1ResourceAllocationRawResponse(Message):
    """The message v1ResourceAllocationRawResponse."""

    resourceEntries: Optional[Sequence[v1ResourceAllocationRawEntry]] = None


class v1ResourcePool(Message):
    """The message v1ResourcePool."""

    agentDockerImage: str
    agentDockerNetwork: str
    agentDockerRuntime: str
    agentFluentImage: str
    auxContainerCapacity: int
    auxContainerCapacityPerAgent: int
    auxContainersRunning: int
    clusterName: str
    containerStartupScript: str
    defaultAuxPool: bool
    defaultComputePool: bool
    description: str
    details: v1ResourcePoolDetail
    imageId: str
    instanceType: str
    location: str
    masterCertName: str
    masterUrl: str
    maxAgentStartingPeriod: float
    maxAgents: int
    maxIdleAgentPeriod: float
    minAgents: int
    name: str
    numAgents: int
    preemptible: bool
    resourceManagerMetadata: Dict[str, str]
    schedulerFittingPolicy: v1FittingPolicy
    schedulerType: v1SchedulerType
    slotType: devicev1Type
    slotsAvailable: int
    slotsUsed: int
    startupScript: str
    type: v1ResourcePoolType
    accelerator: Optional[str] = None
    slotsPerAgent: Optional[int] = None
    stats: Optional[v1QueueStats] = None


class v1ResourcePoolAwsDetail(Message):
    """The message v1ResourcePoolAwsDetail."""

    iamInstanceProfileArn: str
    imageId: str
    instanceName: str
    publicIp: bool
    region: str
    rootVolumeSize: int
    securityGroupId: str
    spotEnabled: bool
    sshKeyName: str
    tagKey: str
    tagValue: str
    customTags: Optional[Sequence[v1AwsCustomTag]] = None
    instanceType: Optional[str] = None
    logGroup: Optional[str] = None
    logStream: Optional[str] = None
    spotMaxPrice: Optional[str] = None
    subnetId: Optional[str] = None


class v1ResourcePoolDetail(Message):
    """The message v1ResourcePoolDetail."""

    aws: Optional[v1ResourcePoolAwsDetail] = None
    gcp: Optional[v1ResourcePoolGcpDetail] = None
    priorityScheduler: Optional[v1ResourcePoolPrioritySchedulerDetail] = None


class v1ResourcePoolGcpDetail(Message):
    """The message v1ResourcePoolGcpDetail."""

    bootDiskSize: int
    bootDiskSourceImage: str
    externalIp: bool
    gpuNum: int
    gpuType: str
    labelKey: str
    labelValue: str
    machineType: str
    namePrefix: str
    network: str
    operationTimeoutPeriod: float
    preemptible: bool
    project: str
    serviceAccountEmail: str
    serviceAccountScopes: Sequence[str]
    zone: str
    networkTags: Optional[Sequence[str]] = None
    subnetwork: Optional[str] = None


class v1ResourcePoolPrioritySchedulerDetail(Message):
    """The message v1ResourcePoolPrioritySchedulerDetail."""

    defaultPriority: int
    preemption: bool
    k8Priorities: Optional[Sequence[v1K8PriorityClass]] = None


class v1ResourcePoolType(DetEnum):
    """The values of v1ResourcePoolType."""

    UNSPECIFIED = "RESOURCE_POOL_TYPE_UNSPECIFIED"
    AWS = "RESOURCE_POOL_TYPE_AWS"
    GCP = "RESOURCE_POOL_TYPE_GCP"
    STATIC = "RESOURCE_POOL_TYPE_STATIC"
    K8S = "RESOURCE_POOL_TYPE_K8S"


class v1ResourcesFailure(Message):
    """The message v1ResourcesFailure."""

    errMsg: Optional[str] = None
    exitCode: Optional[int] = None
    failureType: Optional[v1FailureType] = None


class v1ResourcesStarted(Message):
    """The message v1ResourcesStarted."""

    addresses: Optional[Sequence[v1Address]] = None
    nativeResourcesId: Optional[str] = None


class v1ResourcesStopped(Message):
    """The message v1ResourcesStopped."""

    failure: Optional[v1ResourcesFailure] = None


class v1ResourcesSummary(Message):
    """The message v1ResourcesSummary."""

    agentDevices: Optional[Dict[str, ResourcesSummaryDevices]] = None
    allocationId: Optional[str] = None
    containerId: Optional[str] = None
    exited: Optional[v1ResourcesStopped] = None
    resourcesId: Optional[str] = None
    resourcesType: Optional[str] = None
    started: Optional[v1ResourcesStarted] = None


class v1ResumeRunsRequest(Message):
    """The message v1ResumeRunsRequest."""

    projectId: int
    runIds: Sequence[int]
    filter: Optional[str] = None


class v1ResumeRunsResponse(Message):
    """The message v1ResumeRunsResponse."""

    results: Sequence[v1RunActionResult]


class v1Role(Message):
    """The message v1Role."""

    roleId: int
    name: Optional[str] = None
    permissions: Optional[Sequence[v1Permission]] = None
    scopeTypeMask: Optional[v1ScopeTypeMask] = None


class v1RoleAssignment(Message):
    """The message v1RoleAssignment."""

    role: v1Role
    scopeCluster: Optional[bool] = None
    scopeWorkspaceId: Optional[int] = None


class v1RoleAssignmentSummary(Message):
    """The message v1RoleAssignmentSummary."""

    roleId: int
    scopeCluster: Optional[bool] = None
    scopeWorkspaceIds: Optional[Sequence[int]] = None


class v1RoleWithAssignments(Message):
    """The message v1RoleWithAssignments."""

    groupRoleAssignments: Optional[Sequence[v1GroupRoleAssignment]] = None
    role: Optional[v1Role] = None
    userRoleAssignments: Optional[Sequence[v1UserRoleAssignment]] = None
    everybodysRoles: Optional[Sequence[v1RoleAssignment]] = None


class v1RunActionResult(Message):
    """The message v1RunActionResult."""

    error: str
    id: int


class v1RunPrepareForReportingRequest(Message):
    """The message v1RunPrepareForReportingRequest."""

    runId: int
    checkpointStorage: Optional[Dict[str, Any]] = None


class v1RunPrepareForReportingResponse(Message):
    """The message v1RunPrepareForReportingResponse."""

    storageId: Optional[int] = None


class v1SSOProvider(Message):
    """The message v1SSOProvider."""

    name: str
    ssoUrl: str
    type: str
    alwaysRedirect: Optional[bool] = None


class v1SchedulerType(DetEnum):
    """The values of v1SchedulerType."""

    UNSPECIFIED = "SCHEDULER_TYPE_UNSPECIFIED"
    PRIORITY = "SCHEDULER_TYPE_PRIORITY"
    FAIR_SHARE = "SCHEDULER_TYPE_FAIR_SHARE"
    ROUND_ROBIN = "SCHEDULER_TYPE_ROUND_ROBIN"
    KUBERNETES = "SCHEDULER_TYPE_KUBERNETES"
    SLURM = "SCHEDULER_TYPE_SLURM"
    PBS = "SCHEDULER_TYPE_PBS"


class v1ScopeTypeMask(Message):
    """The message v1ScopeTypeMask."""

    cluster: Optional[bool] = None
    workspace: Optional[bool] = None


class v1ScrapeTarget(Message):
    """The message v1ScrapeTarget."""

    targets: Sequence[str]
    labels: Dict[str, str]


class v1SearchExperimentExperiment(Message):
    """The message v1SearchExperimentExperiment."""

    experiment: v1Experiment
    bestTrial: Optional[trialv1Trial] = None


class v1SearchExperimentsRequest(Message):
    """The message v1SearchExperimentsRequest."""

    filter: Optional[str] = None
    limit: Optional[int] = None
    offset: Optional[int] = None
    projectId: Optional[int] = None
    sort: Optional[str] = None


class v1SearchExperimentsResponse(Message):
    """The message v1SearchExperimentsResponse."""

    experiments: Sequence[v1SearchExperimentExperiment]
    pagination: v1Pagination


class v1SearchLogsResponse(Message):
    """The message v1SearchLogsResponse."""

    found: Sequence[v1FoundLog]
    next: Optional[str] = None
    searchedTo: Optional[str] = None


class v1SearchRolesAssignableToScopeRequest(Message):
    """The message v1SearchRolesAssignableToScopeRequest."""

    limit: int
    offset: Optional[int] = None
    workspaceId: Optional[int] = None


class v1SearchRolesAssignableToScopeResponse(Message):
    """The message v1SearchRolesAssignableToScopeResponse."""

    pagination: Optional[v1Pagination] = None
    roles: Optional[Sequence[v1Role]] = None


class v1SearchRunsRequest(Message):
    """The message v1SearchRunsRequest."""

    filter: Optional[str] = None
    limit: Optional[int] = None
    offset: Optional[int] = None
    projectId: Optional[int] = None
    sort: Optional[str] = None


class v1SearchRunsResponse(Message):
    """The message v1SearchRunsResponse."""

    pagination: v1Pagination
    runs: Sequence[v1FlatRun]


class v1SearchSummary(Message):
    """The message v1SearchSummary."""

    config: Dict[str, Any]
    trials: Optional[Sequence[v1TrialSummary]] = None


class v1SearchTrial(Message):
    """The message v1SearchTrial."""

    id: int
    state: str
    hparams: Dict[str, Any]
    endTime: Optional[str] = None
    restarts: int
    batches: int
    stopped: bool
    min: Optional[float] = None
    max: Optional[float] = None
    last: Optional[float] = None
    steps: Sequence[int]
    values: Sequence[float]


class v1SearchUnit(Message):
    """The message v1SearchUnit."""

    maxLength: bool
    name: Optional[str] = None
    value: Optional[int] = None


class v1SearcherEvent(Message):
    """The message v1SearcherEvent."""

    id: int
    initialOperations: Optional[v1InitialOperations] = None
    trialCreated: Optional[v1SearcherEventTrial] = None
    validationCompleted: Optional[v1SearcherEventValidation] = None
    trialClosed: Optional[v1SearcherEventTrial] = None
    trialExitedEarly: Optional[v1SearcherEventExit] = None
    trialProgress: Optional[v1SearcherEventProgress] = None
    experimentInactive: Optional[v1SearcherExperimentInactive] = None


class v1SearcherEventExit(Message):
    """The message v1SearcherEventExit."""

    requestId: str
    exitedReason: str


class v1SearcherEventProgress(Message):
    """The message v1SearcherEventProgress."""

    requestId: str
    partialUnits: float


class v1SearcherEventTrial(Message):
    """The message v1SearcherEventTrial."""

    requestId: str


class v1SearcherEventValidation(Message):
    """The message v1SearcherEventValidation."""

    requestId: str
    metric: float
    validateAfterLength: str


class v1SearcherExperimentInactive(Message):
    """The message v1SearcherExperimentInactive."""

    experimentState: str


class v1SearcherOperation(Message):
    """The message v1SearcherOperation."""

    validateAfter: v1ValidateAfterOperation


class v1SearcherOperationResponse(Message):
    """The message v1SearcherOperationResponse."""

    op: Optional[v1SearcherOperation] = None
    completed: bool


class v1Session(Message):
    """The message v1Session."""

    id: int
    userId: int
    username: str
    createdAt: Optional[str] = None
    expiresAt: Optional[str] = None
    lastUsedAt: Optional[str] = None
    address: str
    agent: str
    provider: str
    current: bool


class v1SetClusterMessageRequest(Message):
    """The message v1SetClusterMessageRequest."""

    message: str
    startTime: str
    duration: Optional[str] = None
    endTime: Optional[str] = None


class v1SetCommandPriorityRequest(Message):
    """The message v1SetCommandPriorityRequest."""

    commandId: Optional[str] = None
    priority: Optional[int] = None


class v1SetCommandPriorityResponse(Message):
    """The message v1SetCommandPriorityResponse."""

    command: Optional[v1Command] = None


class v1SetNotebookPriorityRequest(Message):
    """The message v1SetNotebookPriorityRequest."""

    notebookId: Optional[str] = None
    priority: Optional[int] = None


class v1SetNotebookPriorityResponse(Message):
    """The message v1SetNotebookPriorityResponse."""

    notebook: Optional[v1Notebook] = None


class v1SetSearcherProgressOperation(Message):
    """The message v1SetSearcherProgressOperation."""

    progress: float


class v1SetShellPriorityRequest(Message):
    """The message v1SetShellPriorityRequest."""

    priority: Optional[int] = None
    shellId: Optional[str] = None


class v1SetShellPriorityResponse(Message):
    """The message v1SetShellPriorityResponse."""

    shell: Optional[v1Shell] = None


class v1SetTensorboardPriorityRequest(Message):
    """The message v1SetTensorboardPriorityRequest."""

    priority: Optional[int] = None
    tensorboardId: Optional[str] = None


class v1SetTensorboardPriorityResponse(Message):
    """The message v1SetTensorboardPriorityResponse."""

    tensorboard: Optional[v1Tensorboard] = None


class v1SetUserPasswordResponse(Message):
    """The message v1SetUserPasswordResponse."""

    user: Optional[v1User] = None


class v1Shell(Message):
    """The message v1Shell."""

    description: str
    id: str
    jobId: str
    resourcePool: str
    startTime: str
    state: taskv1State
    username: str
    workspaceId: int
    addresses: Optional[Sequence[Dict[str, Any]]] = None
    agentUserGroup: Optional[Dict[str, Any]] = None
    container: Optional[v1Container] = None
    displayName: Optional[str] = None
    exitStatus: Optional[str] = None
    privateKey: Optional[str] = None
    publicKey: Optional[str] = None
    userId: Optional[int] = None
    hostKey: Optional[str] = None


class v1ShutDownOperation(Message):
    """The message v1ShutDownOperation."""

    cancel: bool
    failure: bool


class v1Slot(Message):
    """The message v1Slot."""

    container: Optional[v1Container] = None
    device: Optional[v1Device] = None
    draining: Optional[bool] = None
    enabled: Optional[bool] = None
    id: Optional[str] = None
    health: Optional[str] = None
    resourcePool: Optional[str] = None
    linkGroup: Optional[int] = None


class v1SlotResponse(Message):
    """The message v1SlotResponse."""

    slot: v1Slot


class v1SlotStats(Message):
    """The message v1SlotStats."""

    brandStats: Dict[str, v1DeviceStats]
    typeStats: Dict[str, v1DeviceStats]


class v1StartDeviceSignInRequest(Message):
    """The message v1StartDeviceSignInRequest."""

    provider: str


class v1StartDeviceSignInResponse(Message):
    """The message v1StartDeviceSignInResponse."""

    deviceCode: str
    userCode: str
    url: str
    completeUrl: str
    interval: int
    expiresIn: int


class v1StartTrialRequest(Message):
    """The message v1StartTrialRequest."""

    trialId: int
    resume: Optional[bool] = None


class v1StartTrialResponse(Message):
    """The message v1StartTrialResponse."""

    stepsCompleted: int
    trialRunId: int
    latestCheckpoint: Optional[str] = None


class v1StraysRequest(Message):
    """The message v1StraysRequest."""

    uuids: Sequence[str]


class v1StraysResponse(Message):
    """The message v1StraysResponse."""

    uuids: Sequence[str]


class v1TableType(DetEnum):
    """The values of v1TableType."""

    UNSPECIFIED = "TABLE_TYPE_UNSPECIFIED"
    EXPERIMENT = "TABLE_TYPE_EXPERIMENT"
    RUN = "TABLE_TYPE_RUN"


class v1Task(Message):
    """The message v1Task."""

    allocations: Sequence[v1Allocation]
    startTime: str
    taskId: str
    taskType: v1TaskType
    config: Optional[str] = None
    endTime: Optional[str] = None
    forkedFrom: Optional[str] = None
    noPause: Optional[bool] = None
    parentId: Optional[str] = None
    taskState: Optional[v1GenericTaskState] = None


class v1TaskAccount(Message):
    """The message v1TaskAccount."""

    uid: int
    gid: int
    user: str
    group: str


class v1TaskAddressResponse(Message):
    """The message v1TaskAddressResponse."""

    url: str
    token: str


class v1TaskFile(Message):
    """The message v1TaskFile."""

    path: str
    mode: int
    content: str


class v1TaskLinkResponse(Message):
    """The message v1TaskLinkResponse."""

    url: str


class v1TaskLog(Message):
    """The message v1TaskLog."""

    log: str
    taskId: str
    agentId: Optional[str] = None
    allocationId: Optional[str] = None
    containerId: Optional[str] = None
    id: Optional[int] = None
    level: Optional[v1LogLevel] = None
    rankId: Optional[int] = None
    source: Optional[str] = None
    stdtype: Optional[str] = None
    timestamp: Optional[str] = None


class v1TaskLogsFieldsResponse(Message):
    """The message v1TaskLogsFieldsResponse."""

    agentIds: Optional[Sequence[str]] = None
    allocationIds: Optional[Sequence[str]] = None
    containerIds: Optional[Sequence[str]] = None
    rankIds: Optional[Sequence[int]] = None
    sources: Optional[Sequence[str]] = None
    stdtypes: Optional[Sequence[str]] = None


class v1TaskLogsResponse(Message):
    """The message v1TaskLogsResponse."""

    id: str
    level: v1LogLevel
    log: str
    message: str
    taskId: str
    timestamp: str
    agentId: Optional[str] = None
    allocationId: Optional[str] = None
    containerId: Optional[str] = None
    rankId: Optional[int] = None
    source: Optional[str] = None
    stdtype: Optional[str] = None


class v1TaskSecret(Message):
    """The message v1TaskSecret."""

    name: str
    key: str
    env: str
    file: str


class v1TaskSpec(Message):
    """The message v1TaskSpec."""

    taskId: str
    partId: str
    allocationId: str
    taskType: str
    rank: int
    members: int
    slots: int
    slotIds: Sequence[int]
    devices: Sequence[v1Device]
    entrypoint: Sequence[str]
    shell: bool
    env: Dict[str, str]
    workDir: str
    home: str
    contextUrl: str
    bindMounts: Sequence[v1BindMount]
    files: Sequence[v1TaskFile]
    stopGraceSecs: int
    stopAfterSecs: float
    prefer: str
    gateway: Optional[v1Gateway] = None
    credentials: Optional[v1Credentials] = None
    secrets: Sequence[v1TaskSecret]
    account: Optional[v1TaskAccount] = None
    collect: Optional[v1Collect] = None
    logPatterns: Sequence[v1LogPattern]
    begins: str
    name: str


class v1TaskType(DetEnum):
    """The values of v1TaskType."""

    UNSPECIFIED = "TASK_TYPE_UNSPECIFIED"
    TRIAL = "TASK_TYPE_TRIAL"
    NOTEBOOK = "TASK_TYPE_NOTEBOOK"
    SHELL = "TASK_TYPE_SHELL"
    COMMAND = "TASK_TYPE_COMMAND"
    TENSORBOARD = "TASK_TYPE_TENSORBOARD"
    CHECKPOINT_GC = "TASK_TYPE_CHECKPOINT_GC"
    GENERIC = "TASK_TYPE_GENERIC"


class v1Template(Message):
    """The message v1Template."""

    config: Dict[str, Any]
    name: str
    workspaceId: int
    source: Optional[str] = None


class v1Tensorboard(Message):
    """The message v1Tensorboard."""

    description: str
    id: str
    jobId: str
    resourcePool: str
    startTime: str
    state: taskv1State
    username: str
    workspaceId: int
    container: Optional[v1Container] = None
    displayName: Optional[str] = None
    exitStatus: Optional[str] = None
    experimentIds: Optional[Sequence[int]] = None
    serviceAddress: Optional[str] = None
    trialIds: Optional[Sequence[int]] = None
    userId: Optional[int] = None


class v1TestWebhookResponse(Message):
    """The message v1TestWebhookResponse."""

    completed: bool


class v1TokenInfo(Message):
    """The message v1TokenInfo."""

    id: int
    userId: int
    createdAt: Optional[str] = None
    description: Optional[str] = None
    expiry: Optional[str] = None
    revoked: Optional[bool] = None
    tokenType: Optional[v1TokenType] = None
    readOnly: Optional[bool] = None
    lastUsedAt: Optional[str] = None


class v1TokenType(DetEnum):
    """The values of v1TokenType."""

    UNSPECIFIED = "TOKEN_TYPE_UNSPECIFIED"
    USER_SESSION = "TOKEN_TYPE_USER_SESSION"
    ACCESS_TOKEN = "TOKEN_TYPE_ACCESS_TOKEN"


class v1TrialEarlyExit(Message):
    """The message v1TrialEarlyExit."""

    reason: v1TrialEarlyExitExitedReason


class v1TrialEarlyExitExitedReason(DetEnum):
    """The values of v1TrialEarlyExitExitedReason."""

    UNSPECIFIED = "EXITED_REASON_UNSPECIFIED"
    INVALID_HP = "EXITED_REASON_INVALID_HP"
    INIT_INVALID_HP = "EXITED_REASON_INIT_INVALID_HP"


class v1TrialLogsFieldsResponse(Message):
    """The message v1TrialLogsFieldsResponse."""

    agentIds: Optional[Sequence[str]] = None
    containerIds: Optional[Sequence[str]] = None
    rankIds: Optional[Sequence[int]] = None
    sources: Optional[Sequence[str]] = None
    stdtypes: Optional[Sequence[str]] = None


class v1TrialLogsResponse(Message):
    """The message v1TrialLogsResponse."""

    id: str
    level: v1LogLevel
    message: str
    timestamp: str
    trialId: int
    agentId: Optional[str] = None
    containerId: Optional[str] = None
    log: Optional[str] = None
    rankId: Optional[int] = None
    source: Optional[str] = None
    stdtype: Optional[str] = None


class v1TrialMetrics(Message):
    """The message v1TrialMetrics."""

    metrics: v1Metrics
    trialId: int
    trialRunId: int
    reportTime: Optional[str] = None
    stepsCompleted: Optional[int] = None


class v1TrialProfilerMetricLabels(Message):
    """The message v1TrialProfilerMetricLabels."""

    name: str
    trialId: int
    agentId: Optional[str] = None
    gpuUuid: Optional[str] = None
    metricType: Optional[TrialProfilerMetricLabelsProfilerMetricType] = None


class v1TrialProfilerMetricsBatch(Message):
    """The message v1TrialProfilerMetricsBatch."""

    batches: Sequence[int]
    labels: v1TrialProfilerMetricLabels
    timestamps: Sequence[str]
    values: Sequence[float]


class v1TrialRunnerMetadata(Message):
    """The message v1TrialRunnerMetadata."""

    state: str


class v1TrialSourceInfo(Message):
    """The message v1TrialSourceInfo."""

    checkpointUuid: str
    trialId: int
    trialSourceInfoType: v1TrialSourceInfoType
    modelId: Optional[int] = None
    modelVersion: Optional[int] = None


class v1TrialSourceInfoType(DetEnum):
    """The values of v1TrialSourceInfoType."""

    UNSPECIFIED = "TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED"
    INFERENCE = "TRIAL_SOURCE_INFO_TYPE_INFERENCE"
    FINE_TUNING = "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"


class v1TrialSummary(Message):
    """The message v1TrialSummary."""

    count: int
    unit: v1SearchUnit


class v1TrialsSampleResponse(Message):
    """The message v1TrialsSampleResponse."""

    demotedTrials: Sequence[int]
    promotedTrials: Sequence[int]
    trials: Sequence[v1TrialsSampleResponseTrial]


class v1TrialsSampleResponseTrial(Message):
    """The message v1TrialsSampleResponseTrial."""

    data: Sequence[v1DataPoint]
    hparams: Dict[str, Any]
    trialId: int


class v1TrialsSnapshotResponse(Message):
    """The message v1TrialsSnapshotResponse."""

    trials: Sequence[v1TrialsSnapshotResponseTrial]


class v1TrialsSnapshotResponseTrial(Message):
    """The message v1TrialsSnapshotResponseTrial."""

    batchesProcessed: int
    hparams: Dict[str, Any]
    metric: float
    trialId: int


class v1Trigger(Message):
    """The message v1Trigger."""

    condition: Optional[Dict[str, Any]] = None
    id: Optional[int] = None
    triggerType: Optional[v1TriggerType] = None
    webhookId: Optional[int] = None


class v1TriggerType(DetEnum):
    """The values of v1TriggerType."""

    UNSPECIFIED = "TRIGGER_TYPE_UNSPECIFIED"
    EXPERIMENT_STATE_CHANGE = "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE"
    METRIC_THRESHOLD_EXCEEDED = "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED"
    TASK_LOG = "TRIGGER_TYPE_TASK_LOG"
    CUSTOM = "TRIGGER_TYPE_CUSTOM"


class v1UnarchiveExperimentsRequest(Message):
    """The message v1UnarchiveExperimentsRequest."""

    experimentIds: Sequence[int]
    projectId: int
    filters: Optional[v1BulkExperimentFilters] = None


class v1UnarchiveExperimentsResponse(Message):
    """The message v1UnarchiveExperimentsResponse."""

    results: Sequence[v1ExperimentActionResult]


class v1UnarchiveRunsRequest(Message):
    """The message v1UnarchiveRunsRequest."""

    projectId: int
    runIds: Sequence[int]
    filter: Optional[str] = None


class v1UnarchiveRunsResponse(Message):
    """The message v1UnarchiveRunsResponse."""

    results: Sequence[v1RunActionResult]


class v1UnbindRPFromWorkspaceRequest(Message):
    """The message v1UnbindRPFromWorkspaceRequest."""

    resourcePoolName: str
    workspaceIds: Optional[Sequence[int]] = None
    workspaceNames: Optional[Sequence[str]] = None


class v1UpdateGroupRequest(Message):
    """The message v1UpdateGroupRequest."""

    groupId: int
    addUsers: Optional[Sequence[int]] = None
    name: Optional[str] = None
    removeUsers: Optional[Sequence[int]] = None


class v1UpdateGroupResponse(Message):
    """The message v1UpdateGroupResponse."""

    group: v1GroupDetails


class v1UpdateJobQueueRequest(Message):
    """The message v1UpdateJobQueueRequest."""

    updates: Sequence[v1QueueControl]


class v1User(Message):
    """The message v1User."""

    active: bool
    admin: bool
    username: str
    agentUserGroup: Optional[v1AgentUserGroup] = None
    displayName: Optional[str] = None
    id: Optional[int] = None
    lastAuthAt: Optional[str] = None
    modifiedAt: Optional[str] = None
    remote: Optional[bool] = None
    serviceAccount: Optional[bool] = None


class v1UserActionResult(Message):
    """The message v1UserActionResult."""

    error: str
    id: int


class v1UserDiskUse(Message):
    """The message v1UserDiskUse."""

    userId: int
    username: str
    codeBytes: str
    logBytes: str
    metricBytes: str
    recordBytes: str


class v1UserFilters(Message):
    """The message v1UserFilters."""

    admin: Optional[bool] = None
    name: Optional[str] = None


class v1UserRoleAssignment(Message):
    """The message v1UserRoleAssignment."""

    roleAssignment: v1RoleAssignment
    userId: int


class v1UserSecret(Message):
    """The message v1UserSecret."""

    name: str
    keys: Sequence[str]
    workspaces: Sequence[str]
    everywhere: bool


class v1UserWebSetting(Message):
    """The message v1UserWebSetting."""

    key: str
    storagePath: Optional[str] = None
    value: Optional[str] = None


class v1ValidateAfterOperation(Message):
    """The message v1ValidateAfterOperation."""

    requestId: str
    length: str


class v1ValidationHistoryEntry(Message):
    """The message v1ValidationHistoryEntry."""

    endTime: str
    searcherMetric: float
    trialId: int


class v1VisitorsRequest(Message):
    """The message v1VisitorsRequest."""

    visitors: Sequence[str]


class v1VisitorsResponse(Message):
    """The message v1VisitorsResponse."""

    gone: Sequence[str]


class v1WatchResponse(Message):
    """The message v1WatchResponse."""

    over: bool
    why: str


class v1Webhook(Message):
    """The message v1Webhook."""

    mode: v1WebhookMode
    name: str
    url: str
    webhookType: v1WebhookType
    id: Optional[int] = None
    triggers: Optional[Sequence[v1Trigger]] = None
    workspaceId: Optional[int] = None


class v1WebhookDelivery(Message):
    """The message v1WebhookDelivery."""

    id: str
    eventId: str
    eventType: str
    event: Dict[str, Any]
    state: str
    tries: int
    status: int
    error: str
    createdTime: str
    nextTime: Optional[str] = None
    endedTime: Optional[str] = None


class v1WebhookMode(DetEnum):
    """The values of v1WebhookMode."""

    UNSPECIFIED = "WEBHOOK_MODE_UNSPECIFIED"
    WORKSPACE = "WEBHOOK_MODE_WORKSPACE"
    SPECIFIC = "WEBHOOK_MODE_SPECIFIC"


class v1WebhookType(DetEnum):
    """The values of v1WebhookType."""

    UNSPECIFIED = "WEBHOOK_TYPE_UNSPECIFIED"
    DEFAULT = "WEBHOOK_TYPE_DEFAULT"
    SLACK = "WEBHOOK_TYPE_SLACK"


class v1WorkloadContainer(Message):
    """The message v1WorkloadContainer."""

    checkpoint: Optional[v1CheckpointWorkload] = None
    training: Optional[v1MetricsWorkload] = None
    validation: Optional[v1MetricsWorkload] = None


class v1Workspace(Message):
    """The message v1Workspace."""

    archived: bool
    errorMessage: str
    id: int
    immutable: bool
    name: str
    numExperiments: int
    numProjects: int
    pinned: bool
    state: v1WorkspaceState
    userId: int
    username: str
    agentUserGroup: Optional[v1AgentUserGroup] = None
    autoCreatedNamespace: Optional[str] = None
    checkpointStorageConfig: Optional[Dict[str, Any]] = None
    defaultAuxPool: Optional[str] = None
    defaultComputePool: Optional[str] = None
    pinnedAt: Optional[str] = None


class v1WorkspaceNamespaceBinding(Message):
    """The message v1WorkspaceNamespaceBinding."""

    autoCreateNamespace: Optional[bool] = None
    clusterName: Optional[str] = None
    namespace: Optional[str] = None
    workspaceId: Optional[int] = None


class v1WorkspaceNamespaceMeta(Message):
    """The message v1WorkspaceNamespaceMeta."""

    autoCreateNamespace: Optional[bool] = None
    autoCreateNamespaceAllClusters: Optional[bool] = None
    clusterName: Optional[str] = None
    namespace: Optional[str] = None
    resourceQuota: Optional[int] = None


class v1WorkspaceState(DetEnum):
    """The values of v1WorkspaceState."""

    UNSPECIFIED = "WORKSPACE_STATE_UNSPECIFIED"
    DELETING = "WORKSPACE_STATE_DELETING"
    DELETE_FAILED = "WORKSPACE_STATE_DELETE_FAILED"
    DELETED = "WORKSPACE_STATE_DELETED"


def delete_DeleteCheckpoints(
    session: BaseSession,
    *,
    body: v1DeleteCheckpointsRequest,
) -> None:
    """Delete checkpoints with all their files."""
    _path = "/api/v1/checkpoints"
    _call(session, "DELETE", _path, {}, body)


def delete_DeleteClusterMessage(
    session: BaseSession,
) -> None:
    """Clear the message to all users."""
    _path = "/api/v1/master/cluster_message"
    _call(session, "DELETE", _path, {})


def delete_DeleteExperiment(
    session: BaseSession,
    *,
    experimentId: int,
) -> None:
    """Delete an experiment that has ended, with its checkpoints, metrics and logs."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}"
    _call(session, "DELETE", _path, {})


def delete_DeleteExperimentLabel(
    session: BaseSession,
    *,
    experimentId: int,
    label: str,
) -> v1DeleteExperimentLabelResponse:
    """Remove a label from an experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/labels/{_quoted(str(label))}"
    _answer = _call(session, "DELETE", _path, {})
    return v1DeleteExperimentLabelResponse.from_json(_answer)


def delete_DeleteExperiments(
    session: BaseSession,
    *,
    body: v1DeleteExperimentsRequest,
    projectId: int,
) -> v1DeleteExperimentsResponse:
    """Delete several experiments that have ended."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/delete"
    _answer = _call(session, "DELETE", _path, {}, body)
    return v1DeleteExperimentsResponse.from_json(_answer)


def delete_DeleteGlobalConfigPolicies(
    session: BaseSession,
    *,
    workloadType: str,
) -> None:
    """Delete the config policies of the cluster."""
    _path = f"/api/v1/config-policies/global/{_quoted(str(workloadType))}"
    _call(session, "DELETE", _path, {})


def delete_DeleteGroup(
    session: BaseSession,
    *,
    groupId: int,
) -> None:
    """Delete a group, with the roles that it has."""
    _path = f"/api/v1/groups/{_quoted(str(groupId))}"
    _call(session, "DELETE", _path, {})


def delete_DeleteModel(
    session: BaseSession,
    *,
    modelName: str,
) -> None:
    """Delete a model with its versions; their checkpoints stay."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}"
    _call(session, "DELETE", _path, {})


def delete_DeleteModelVersion(
    session: BaseSession,
    *,
    modelName: str,
    modelVersionNum: int,
) -> None:
    """Delete a version of a model; its checkpoint stays."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/versions/{_quoted(str(modelVersionNum))}"
    _call(session, "DELETE", _path, {})


def delete_DeleteProject(
    session: BaseSession,
    *,
    id: int,
) -> v1DeleteProjectResponse:
    """Delete a project that has no experiments."""
    _path = f"/api/v1/projects/{_quoted(str(id))}"
    _answer = _call(session, "DELETE", _path, {})
    return v1DeleteProjectResponse.from_json(_answer)


def delete_DeleteQuota(
    session: BaseSession,
    *,
    id: Any,
) -> None:
    """Delete a quota."""
    _path = f"/api/v1/detent/quotas/{_quoted(str(id))}"
    _call(session, "DELETE", _path, {})


def delete_DeleteTemplate(
    session: BaseSession,
    *,
    templateName: str,
) -> None:
    """Delete a template."""
    _path = f"/api/v1/templates/{_quoted(str(templateName))}"
    _call(session, "DELETE", _path, {})


def delete_DeleteTensorboardFiles(
    session: BaseSession,
    *,
    experimentId: int,
) -> None:
    """Delete the files that TensorBoards of an experiment read, and wait until they are gone."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/tensorboard-files"
    _call(session, "DELETE", _path, {})


def delete_DeleteWebhook(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Delete a webhook with the events that wait for it."""
    _path = f"/api/v1/webhooks/{_quoted(str(id))}"
    _call(session, "DELETE", _path, {})


def delete_DeleteWorkspace(
    session: BaseSession,
    *,
    id: int,
) -> v1DeleteWorkspaceResponse:
    """Delete an empty workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(id))}"
    _answer = _call(session, "DELETE", _path, {})
    return v1DeleteWorkspaceResponse.from_json(_answer)


def delete_DeleteWorkspaceConfigPolicies(
    session: BaseSession,
    *,
    workloadType: str,
    workspaceId: int,
) -> None:
    """Delete the config policies of a workspace."""
    _path = f"/api/v1/config-policies/workspaces/{_quoted(str(workspaceId))}/{_quoted(str(workloadType))}"
    _call(session, "DELETE", _path, {})


def delete_EndSession(
    session: BaseSession,
    *,
    id: Any,
) -> None:
    """End one of your sign-ins; an administrator ends those of others too."""
    _path = f"/api/v1/detent/sessions/{_quoted(str(id))}"
    _call(session, "DELETE", _path, {})


def delete_UnbindRPFromWorkspace(
    session: BaseSession,
    *,
    body: v1UnbindRPFromWorkspaceRequest,
    resourcePoolName: str,
) -> None:
    """Remove bindings of a resource pool; without any it is open to all workspaces."""
    _path = f"/api/v1/resource-pools/{_quoted(str(resourcePoolName))}/workspace-bindings"
    _call(session, "DELETE", _path, {}, body)


def get_AllocationPreemptionSignal(
    session: BaseSession,
    *,
    allocationId: str,
    timeoutSeconds: Optional[int] = None,
) -> v1AllocationPreemptionSignalResponse:
    """Wait until an attempt is preempted."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/signals/preemption"
    _params = {
        "timeoutSeconds": timeoutSeconds,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1AllocationPreemptionSignalResponse.from_json(_answer)


def get_AllocationRendezvousInfo(
    session: BaseSession,
    *,
    allocationId: str,
    resourcesId: str,
) -> v1AllocationRendezvousInfoResponse:
    """Wait for the other members of an attempt, and get their addresses."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/resources/{_quoted(str(resourcesId))}/rendezvous"
    _answer = _call(session, "GET", _path, {})
    return v1AllocationRendezvousInfoResponse.from_json(_answer)


def get_CompareTrials(
    session: BaseSession,
    *,
    endBatches: Optional[int] = None,
    group: Optional[str] = None,
    maxDatapoints: Optional[int] = None,
    metricIds: Optional[Sequence[str]] = None,
    metricNames: Optional[Sequence[str]] = None,
    metricType: Optional[v1MetricType] = None,
    startBatches: Optional[int] = None,
    timeSeriesFilter_doubleRange_gt: Optional[float] = None,
    timeSeriesFilter_doubleRange_gte: Optional[float] = None,
    timeSeriesFilter_doubleRange_lt: Optional[float] = None,
    timeSeriesFilter_doubleRange_lte: Optional[float] = None,
    timeSeriesFilter_integerRange_gt: Optional[int] = None,
    timeSeriesFilter_integerRange_gte: Optional[int] = None,
    timeSeriesFilter_integerRange_incl: Optional[Sequence[int]] = None,
    timeSeriesFilter_integerRange_lt: Optional[int] = None,
    timeSeriesFilter_integerRange_lte: Optional[int] = None,
    timeSeriesFilter_integerRange_notIn: Optional[Sequence[int]] = None,
    timeSeriesFilter_name: Optional[str] = None,
    timeSeriesFilter_timeRange_gt: Optional[str] = None,
    timeSeriesFilter_timeRange_gte: Optional[str] = None,
    timeSeriesFilter_timeRange_lt: Optional[str] = None,
    timeSeriesFilter_timeRange_lte: Optional[str] = None,
    trialIds: Optional[Sequence[int]] = None,
) -> v1CompareTrialsResponse:
    """Get curves of trials, downsampled for a screen."""
    _path = "/api/v1/trials/time-series"
    _params = {
        "endBatches": endBatches,
        "group": group,
        "maxDatapoints": maxDatapoints,
        "metricIds": metricIds,
        "metricNames": metricNames,
        "metricType": metricType,
        "startBatches": startBatches,
        "timeSeriesFilter.doubleRange.gt": timeSeriesFilter_doubleRange_gt,
        "timeSeriesFilter.doubleRange.gte": timeSeriesFilter_doubleRange_gte,
        "timeSeriesFilter.doubleRange.lt": timeSeriesFilter_doubleRange_lt,
        "timeSeriesFilter.doubleRange.lte": timeSeriesFilter_doubleRange_lte,
        "timeSeriesFilter.integerRange.gt": timeSeriesFilter_integerRange_gt,
        "timeSeriesFilter.integerRange.gte": timeSeriesFilter_integerRange_gte,
        "timeSeriesFilter.integerRange.incl": timeSeriesFilter_integerRange_incl,
        "timeSeriesFilter.integerRange.lt": timeSeriesFilter_integerRange_lt,
        "timeSeriesFilter.integerRange.lte": timeSeriesFilter_integerRange_lte,
        "timeSeriesFilter.integerRange.notIn": timeSeriesFilter_integerRange_notIn,
        "timeSeriesFilter.name": timeSeriesFilter_name,
        "timeSeriesFilter.timeRange.gt": timeSeriesFilter_timeRange_gt,
        "timeSeriesFilter.timeRange.gte": timeSeriesFilter_timeRange_gte,
        "timeSeriesFilter.timeRange.lt": timeSeriesFilter_timeRange_lt,
        "timeSeriesFilter.timeRange.lte": timeSeriesFilter_timeRange_lte,
        "trialIds": trialIds,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1CompareTrialsResponse.from_json(_answer)


def get_CurrentUser(
    session: BaseSession,
) -> v1CurrentUserResponse:
    """Get the signed-in user."""
    _path = "/api/v1/auth/user"
    _answer = _call(session, "GET", _path, {})
    return v1CurrentUserResponse.from_json(_answer)


def get_ExpMetricNames(
    session: BaseSession,
    *,
    ids: Sequence[int],
    periodSeconds: Optional[int] = None,
) -> Iterator[v1ExpMetricNamesResponse]:
    """Stream the names of the metrics of experiments, until the experiments have ended."""
    _path = "/api/v1/experiments/metrics-stream/metric-names"
    _params = {
        "ids": ids,
        "periodSeconds": periodSeconds,
    }
    for _record in _stream(session, "get_ExpMetricNames", _path, _params):
        yield v1ExpMetricNamesResponse.from_json(_record)


def get_GetAccessTokens(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    showInactive: Optional[bool] = None,
    sortBy: Optional[v1GetAccessTokensRequestSortBy] = None,
    tokenIds: Optional[Sequence[int]] = None,
    username: Optional[str] = None,
) -> v1GetAccessTokensResponse:
    """List your access tokens; an administrator lists those of all users."""
    _path = "/api/v1/tokens"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "showInactive": showInactive,
        "sortBy": sortBy,
        "tokenIds": tokenIds,
        "username": username,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetAccessTokensResponse.from_json(_answer)


def get_GetActiveTasksCount(
    session: BaseSession,
) -> v1GetActiveTasksCountResponse:
    """Count the active commands, notebooks, shells and TensorBoards."""
    _path = "/api/v1/tasks/count"
    _answer = _call(session, "GET", _path, {})
    return v1GetActiveTasksCountResponse.from_json(_answer)


def get_GetAgent(
    session: BaseSession,
    *,
    agentId: str,
) -> v1GetAgentResponse:
    """Get a node."""
    _path = f"/api/v1/agents/{_quoted(str(agentId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetAgentResponse.from_json(_answer)


def get_GetAgents(
    session: BaseSession,
    *,
    excludeContainers: Optional[bool] = None,
    excludeSlots: Optional[bool] = None,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetAgentsRequestSortBy] = None,
) -> v1GetAgentsResponse:
    """List nodes."""
    _path = "/api/v1/agents"
    _params = {
        "excludeContainers": excludeContainers,
        "excludeSlots": excludeSlots,
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetAgentsResponse.from_json(_answer)


def get_GetAllocation(
    session: BaseSession,
    *,
    allocationId: str,
) -> v1GetAllocationResponse:
    """Get an attempt."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetAllocationResponse.from_json(_answer)


def get_GetBestSearcherValidationMetric(
    session: BaseSession,
    *,
    experimentId: int,
) -> v1GetBestSearcherValidationMetricResponse:
    """Get the best validation metric of an experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/searcher/best_searcher_validation_metric"
    _answer = _call(session, "GET", _path, {})
    return v1GetBestSearcherValidationMetricResponse.from_json(_answer)


def get_GetCheckpoint(
    session: BaseSession,
    *,
    checkpointUuid: str,
) -> v1GetCheckpointResponse:
    """Get a checkpoint."""
    _path = f"/api/v1/checkpoints/{_quoted(str(checkpointUuid))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetCheckpointResponse.from_json(_answer)


def get_GetClusterMessage(
    session: BaseSession,
) -> v1GetClusterMessageResponse:
    """Get the message to all users, also one that is not shown now."""
    _path = "/api/v1/master/cluster_message"
    _answer = _call(session, "GET", _path, {})
    return v1GetClusterMessageResponse.from_json(_answer)


def get_GetCommand(
    session: BaseSession,
    *,
    commandId: str,
) -> v1GetCommandResponse:
    """Get a command."""
    _path = f"/api/v1/commands/{_quoted(str(commandId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetCommandResponse.from_json(_answer)


def get_GetCommands(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetTensorboardsRequestSortBy] = None,
    userIds: Optional[Sequence[int]] = None,
    users: Optional[Sequence[str]] = None,
    workspaceId: Optional[int] = None,
) -> v1GetCommandsResponse:
    """List commands."""
    _path = "/api/v1/commands"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
        "userIds": userIds,
        "users": users,
        "workspaceId": workspaceId,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetCommandsResponse.from_json(_answer)


def get_GetExperiment(
    session: BaseSession,
    *,
    experimentId: int,
) -> v1GetExperimentResponse:
    """Get an experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetExperimentResponse.from_json(_answer)


def get_GetExperimentCheckpoints(
    session: BaseSession,
    *,
    id: int,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortByAttr: Optional[checkpointv1SortBy] = None,
    sortByMetric: Optional[str] = None,
    states: Optional[Sequence[checkpointv1State]] = None,
) -> v1GetExperimentCheckpointsResponse:
    """List the checkpoints of an experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/checkpoints"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortByAttr": sortByAttr,
        "sortByMetric": sortByMetric,
        "states": states,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetExperimentCheckpointsResponse.from_json(_answer)


def get_GetExperimentLabels(
    session: BaseSession,
    *,
    projectId: Optional[int] = None,
) -> v1GetExperimentLabelsResponse:
    """List the labels that experiments have."""
    _path = "/api/v1/experiment/labels"
    _params = {
        "projectId": projectId,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetExperimentLabelsResponse.from_json(_answer)


def get_GetExperimentTrials(
    session: BaseSession,
    *,
    experimentId: int,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetExperimentTrialsRequestSortBy] = None,
    states: Optional[Sequence[experimentv1State]] = None,
) -> v1GetExperimentTrialsResponse:
    """List the trials of an experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/trials"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
        "states": states,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetExperimentTrialsResponse.from_json(_answer)


def get_GetExperimentValidationHistory(
    session: BaseSession,
    *,
    experimentId: int,
) -> v1GetExperimentValidationHistoryResponse:
    """List how the best validation metric of an experiment improved over time."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/validation-history"
    _answer = _call(session, "GET", _path, {})
    return v1GetExperimentValidationHistoryResponse.from_json(_answer)


def get_GetExperiments(
    session: BaseSession,
    *,
    archived: Optional[bool] = None,
    description: Optional[str] = None,
    experimentIdFilter_gt: Optional[int] = None,
    experimentIdFilter_gte: Optional[int] = None,
    experimentIdFilter_incl: Optional[Sequence[int]] = None,
    experimentIdFilter_lt: Optional[int] = None,
    experimentIdFilter_lte: Optional[int] = None,
    experimentIdFilter_notIn: Optional[Sequence[int]] = None,
    labels: Optional[Sequence[str]] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    projectId: Optional[int] = None,
    showTrialData: Optional[bool] = None,
    sortBy: Optional[v1GetExperimentsRequestSortBy] = None,
    states: Optional[Sequence[experimentv1State]] = None,
    userIds: Optional[Sequence[int]] = None,
    users: Optional[Sequence[str]] = None,
) -> v1GetExperimentsResponse:
    """List experiments."""
    _path = "/api/v1/experiments"
    _params = {
        "archived": archived,
        "description": description,
        "experimentIdFilter.gt": experimentIdFilter_gt,
        "experimentIdFilter.gte": experimentIdFilter_gte,
        "experimentIdFilter.incl": experimentIdFilter_incl,
        "experimentIdFilter.lt": experimentIdFilter_lt,
        "experimentIdFilter.lte": experimentIdFilter_lte,
        "experimentIdFilter.notIn": experimentIdFilter_notIn,
        "labels": labels,
        "limit": limit,
        "name": name,
        "offset": offset,
        "orderBy": orderBy,
        "projectId": projectId,
        "showTrialData": showTrialData,
        "sortBy": sortBy,
        "states": states,
        "userIds": userIds,
        "users": users,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetExperimentsResponse.from_json(_answer)


def get_GetGenericTaskConfig(
    session: BaseSession,
    *,
    taskId: str,
) -> v1GetGenericTaskConfigResponse:
    """Get the configuration of a generic task as it was submitted, as JSON in a string."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}/config"
    _answer = _call(session, "GET", _path, {})
    return v1GetGenericTaskConfigResponse.from_json(_answer)


def get_GetGlobalConfigPolicies(
    session: BaseSession,
    *,
    workloadType: str,
) -> v1GetGlobalConfigPoliciesResponse:
    """Get the config policies of the cluster for EXPERIMENT or NTSC."""
    _path = f"/api/v1/config-policies/global/{_quoted(str(workloadType))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetGlobalConfigPoliciesResponse.from_json(_answer)


def get_GetGroup(
    session: BaseSession,
    *,
    groupId: int,
) -> v1GetGroupResponse:
    """Get a group with its users."""
    _path = f"/api/v1/groups/{_quoted(str(groupId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetGroupResponse.from_json(_answer)


def get_GetGroupsAndUsersAssignedToWorkspace(
    session: BaseSession,
    *,
    workspaceId: int,
    name: Optional[str] = None,
) -> v1GetGroupsAndUsersAssignedToWorkspaceResponse:
    """List the users and groups with roles in a workspace."""
    _path = f"/api/v1/roles/workspace/{_quoted(str(workspaceId))}"
    _params = {
        "name": name,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetGroupsAndUsersAssignedToWorkspaceResponse.from_json(_answer)


def get_GetInfo(
    session: BaseSession,
) -> v1Info:
    """Get the product and version of this server: the first call of every client."""
    _path = "/info"
    _answer = _call(session, "GET", _path, {})
    return v1Info.from_json(_answer)


def get_GetJobQueueStats(
    session: BaseSession,
    *,
    resourcePools: Optional[Sequence[str]] = None,
) -> v1GetJobQueueStatsResponse:
    """Count the jobs that run and wait in each pool."""
    _path = "/api/v1/job-queues/stats"
    _params = {
        "resourcePools": resourcePools,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetJobQueueStatsResponse.from_json(_answer)


def get_GetJobs(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    resourcePool: Optional[str] = None,
    states: Optional[Sequence[jobv1State]] = None,
) -> v1GetJobsResponse:
    """List the jobs that run or wait, in the form for older clients."""
    _path = "/api/v1/job-queues"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "resourcePool": resourcePool,
        "states": states,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetJobsResponse.from_json(_answer)


def get_GetJobsV2(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    resourcePool: Optional[str] = None,
    states: Optional[Sequence[jobv1State]] = None,
) -> v1GetJobsV2Response:
    """List the jobs that run or wait, in the order of the queue."""
    _path = "/api/v1/job-queues-v2"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "resourcePool": resourcePool,
        "states": states,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetJobsV2Response.from_json(_answer)


def get_GetMaster(
    session: BaseSession,
) -> v1GetMasterResponse:
    """Get the master and its cluster."""
    _path = "/api/v1/master"
    _answer = _call(session, "GET", _path, {})
    return v1GetMasterResponse.from_json(_answer)


def get_GetMasterConfig(
    session: BaseSession,
) -> v1GetMasterConfigResponse:
    """Get the master's configuration, without secrets."""
    _path = "/api/v1/master/config"
    _answer = _call(session, "GET", _path, {})
    return v1GetMasterConfigResponse.from_json(_answer)


def get_GetMe(
    session: BaseSession,
) -> v1GetMeResponse:
    """Get the signed-in user."""
    _path = "/api/v1/me"
    _answer = _call(session, "GET", _path, {})
    return v1GetMeResponse.from_json(_answer)


def get_GetMetadataValues(
    session: BaseSession,
    *,
    key: str,
    projectId: int,
) -> v1GetMetadataValuesResponse:
    """List the texts that the runs of a project have under a key of their metadata; project 0 means all projects."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/metadata/{_quoted(str(key))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetMetadataValuesResponse.from_json(_answer)


def get_GetMetrics(
    session: BaseSession,
    *,
    group: str,
    trialIds: Sequence[int],
) -> Iterator[v1GetMetricsResponse]:
    """Stream the metrics of trials, of one group."""
    _path = "/api/v1/trials/metrics/trial_metrics"
    _params = {
        "group": group,
        "trialIds": trialIds,
    }
    for _record in _stream(session, "get_GetMetrics", _path, _params):
        yield v1GetMetricsResponse.from_json(_record)


def get_GetModel(
    session: BaseSession,
    *,
    modelName: str,
) -> v1GetModelResponse:
    """Get a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetModelResponse.from_json(_answer)


def get_GetModelDef(
    session: BaseSession,
    *,
    experimentId: int,
) -> v1GetModelDefResponse:
    """Get the code of an experiment, as a gzipped tar in base64."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/model_def"
    _answer = _call(session, "GET", _path, {})
    return v1GetModelDefResponse.from_json(_answer)


def get_GetModelDefTree(
    session: BaseSession,
    *,
    experimentId: int,
) -> v1GetModelDefTreeResponse:
    """List the files of an experiment's code."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/file_tree"
    _answer = _call(session, "GET", _path, {})
    return v1GetModelDefTreeResponse.from_json(_answer)


def get_GetModelLabels(
    session: BaseSession,
    *,
    workspaceId: Optional[int] = None,
) -> v1GetModelLabelsResponse:
    """List the labels of models, the most used first."""
    _path = "/api/v1/model/labels"
    _params = {
        "workspaceId": workspaceId,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetModelLabelsResponse.from_json(_answer)


def get_GetModelVersion(
    session: BaseSession,
    *,
    modelName: str,
    modelVersionNum: int,
) -> v1GetModelVersionResponse:
    """Get a version of a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/versions/{_quoted(str(modelVersionNum))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetModelVersionResponse.from_json(_answer)


def get_GetModelVersions(
    session: BaseSession,
    *,
    modelName: str,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetModelVersionsRequestSortBy] = None,
) -> v1GetModelVersionsResponse:
    """List the versions of a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/versions"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetModelVersionsResponse.from_json(_answer)


def get_GetModels(
    session: BaseSession,
    *,
    archived: Optional[bool] = None,
    description: Optional[str] = None,
    id: Optional[int] = None,
    labels: Optional[Sequence[str]] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetModelsRequestSortBy] = None,
    userIds: Optional[Sequence[int]] = None,
    users: Optional[Sequence[str]] = None,
    workspaceIds: Optional[Sequence[int]] = None,
    workspaceNames: Optional[Sequence[str]] = None,
) -> v1GetModelsResponse:
    """List models."""
    _path = "/api/v1/models"
    _params = {
        "archived": archived,
        "description": description,
        "id": id,
        "labels": labels,
        "limit": limit,
        "name": name,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
        "userIds": userIds,
        "users": users,
        "workspaceIds": workspaceIds,
        "workspaceNames": workspaceNames,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetModelsResponse.from_json(_answer)


def get_GetNotebook(
    session: BaseSession,
    *,
    notebookId: str,
) -> v1GetNotebookResponse:
    """Get a notebook."""
    _path = f"/api/v1/notebooks/{_quoted(str(notebookId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetNotebookResponse.from_json(_answer)


def get_GetNotebooks(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetTensorboardsRequestSortBy] = None,
    userIds: Optional[Sequence[int]] = None,
    users: Optional[Sequence[str]] = None,
    workspaceId: Optional[int] = None,
) -> v1GetNotebooksResponse:
    """List notebooks."""
    _path = "/api/v1/notebooks"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
        "userIds": userIds,
        "users": users,
        "workspaceId": workspaceId,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetNotebooksResponse.from_json(_answer)


def get_GetOldMe(
    session: BaseSession,
) -> v1OldUser:
    """Get the signed-in user, in the form for sign-ins by a browser."""
    _path = "/users/me"
    _answer = _call(session, "GET", _path, {})
    return v1OldUser.from_json(_answer)


def get_GetPermissionsSummary(
    session: BaseSession,
) -> v1GetPermissionsSummaryResponse:
    """Get your roles, with where you have them."""
    _path = "/api/v1/permissions/summary"
    _answer = _call(session, "GET", _path, {})
    return v1GetPermissionsSummaryResponse.from_json(_answer)


def get_GetPoolSlot(
    session: BaseSession,
    *,
    id: Any,
    pool: Any,
    slot: Any,
) -> v1SlotResponse:
    """Get a slot by its pool and number."""
    _path = f"/api/v1/agents/{_quoted(str(id))}/slots/{_quoted(str(pool))}/{_quoted(str(slot))}"
    _answer = _call(session, "GET", _path, {})
    return v1SlotResponse.from_json(_answer)


def get_GetProject(
    session: BaseSession,
    *,
    id: int,
) -> v1GetProjectResponse:
    """Get a project."""
    _path = f"/api/v1/projects/{_quoted(str(id))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetProjectResponse.from_json(_answer)


def get_GetProjectByKey(
    session: BaseSession,
    *,
    key: str,
) -> v1GetProjectByKeyResponse:
    """Get a project by its key."""
    _path = f"/api/v1/projects/key/{_quoted(str(key))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetProjectByKeyResponse.from_json(_answer)


def get_GetProjectColumns(
    session: BaseSession,
    *,
    id: int,
    tableType: Optional[v1TableType] = None,
) -> v1GetProjectColumnsResponse:
    """List the columns by which a project's experiments, or its runs, can be searched; project 0 means all projects."""
    _path = f"/api/v1/projects/{_quoted(str(id))}/columns"
    _params = {
        "tableType": tableType,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetProjectColumnsResponse.from_json(_answer)


def get_GetProjectNumericMetricsRange(
    session: BaseSession,
    *,
    id: int,
) -> v1GetProjectNumericMetricsRangeResponse:
    """List the smallest and the largest values of the metrics of a project's experiments, over their best trials; project 0 means all projects."""
    _path = f"/api/v1/projects/{_quoted(str(id))}/experiments/metric-ranges"
    _answer = _call(session, "GET", _path, {})
    return v1GetProjectNumericMetricsRangeResponse.from_json(_answer)


def get_GetProjectsByUserActivity(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
) -> v1GetProjectsByUserActivityResponse:
    """List the projects that you have looked at, the latest first."""
    _path = "/api/v1/user/projects/activity"
    _params = {
        "limit": limit,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetProjectsByUserActivityResponse.from_json(_answer)


def get_GetResourcePools(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    unbound: Optional[bool] = None,
) -> v1GetResourcePoolsResponse:
    """List resource pools."""
    _path = "/api/v1/resource-pools"
    _params = {
        "limit": limit,
        "offset": offset,
        "unbound": unbound,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetResourcePoolsResponse.from_json(_answer)


def get_GetRolesAssignedToGroup(
    session: BaseSession,
    *,
    groupId: int,
) -> v1GetRolesAssignedToGroupResponse:
    """List the roles of a group, as far as the caller may see them."""
    _path = f"/api/v1/roles/search/by-group/{_quoted(str(groupId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetRolesAssignedToGroupResponse.from_json(_answer)


def get_GetRolesAssignedToUser(
    session: BaseSession,
    *,
    userId: int,
) -> v1GetRolesAssignedToUserResponse:
    """List the roles of a user, as far as the caller may see them."""
    _path = f"/api/v1/roles/search/by-user/{_quoted(str(userId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetRolesAssignedToUserResponse.from_json(_answer)


def get_GetRunMetadata(
    session: BaseSession,
    *,
    runId: int,
) -> v1GetRunMetadataResponse:
    """Get the metadata of a run."""
    _path = f"/api/v1/runs/{_quoted(str(runId))}/metadata"
    _answer = _call(session, "GET", _path, {})
    return v1GetRunMetadataResponse.from_json(_answer)


def get_GetScrapeTargets(
    session: BaseSession,
) -> Sequence[v1ScrapeTarget]:
    """List where Prometheus scrapes nodes: cAdvisor on port 8080, and NVIDIA's DCGM exporter on port 9400 of nodes with GPUs; from another machine with a bearer token."""
    _path = "/prom/det-http-sd-config"
    _answer: Sequence[v1ScrapeTarget] = _call(session, "GET", _path, {})
    return _answer


def get_GetSearcherEvents(
    session: BaseSession,
    *,
    id: Any,
) -> v1GetSearcherEventsResponse:
    """Wait for the events that the program of a custom search must answer."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/searcher_events"
    _answer = _call(session, "GET", _path, {})
    return v1GetSearcherEventsResponse.from_json(_answer)


def get_GetSearcherOperation(
    session: BaseSession,
    *,
    id: Any,
) -> v1SearcherOperationResponse:
    """Get the length to which a trial is to train."""
    _path = f"/api/v1/trials/{_quoted(str(id))}/searcher/operation"
    _answer = _call(session, "GET", _path, {})
    return v1SearcherOperationResponse.from_json(_answer)


def get_GetShell(
    session: BaseSession,
    *,
    shellId: str,
) -> v1GetShellResponse:
    """Get a shell, with its private key for users who may log in to it."""
    _path = f"/api/v1/shells/{_quoted(str(shellId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetShellResponse.from_json(_answer)


def get_GetShells(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetTensorboardsRequestSortBy] = None,
    userIds: Optional[Sequence[int]] = None,
    users: Optional[Sequence[str]] = None,
    workspaceId: Optional[int] = None,
) -> v1GetShellsResponse:
    """List shells."""
    _path = "/api/v1/shells"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
        "userIds": userIds,
        "users": users,
        "workspaceId": workspaceId,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetShellsResponse.from_json(_answer)


def get_GetSlot(
    session: BaseSession,
    *,
    agentId: str,
    slotId: str,
) -> v1GetSlotResponse:
    """Get a slot."""
    _path = f"/api/v1/agents/{_quoted(str(agentId))}/slots/{_quoted(str(slotId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetSlotResponse.from_json(_answer)


def get_GetSlots(
    session: BaseSession,
    *,
    agentId: str,
) -> v1GetSlotsResponse:
    """List the slots of a node."""
    _path = f"/api/v1/agents/{_quoted(str(agentId))}/slots"
    _answer = _call(session, "GET", _path, {})
    return v1GetSlotsResponse.from_json(_answer)


def get_GetTask(
    session: BaseSession,
    *,
    taskId: str,
) -> v1GetTaskResponse:
    """Get a task with its attempts, newest first."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetTaskResponse.from_json(_answer)


def get_GetTaskAcceleratorData(
    session: BaseSession,
    *,
    taskId: str,
) -> v1GetTaskAcceleratorDataResponse:
    """List the accelerators that the attempts of a task have reported."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}/acceleratorData"
    _answer = _call(session, "GET", _path, {})
    return v1GetTaskAcceleratorDataResponse.from_json(_answer)


def get_GetTaskContextDirectory(
    session: BaseSession,
    *,
    taskId: str,
) -> v1GetTaskContextDirectoryResponse:
    """Get the code of a task, in base64."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}/context_directory"
    _answer = _call(session, "GET", _path, {})
    return v1GetTaskContextDirectoryResponse.from_json(_answer)


def get_GetTasks(
    session: BaseSession,
) -> v1GetTasksResponse:
    """List the attempts of tasks that run or wait in the queue."""
    _path = "/api/v1/tasks"
    _answer = _call(session, "GET", _path, {})
    return v1GetTasksResponse.from_json(_answer)


def get_GetTelemetry(
    session: BaseSession,
) -> v1GetTelemetryResponse:
    """Check whether the cluster reports to its maker; Detent never does."""
    _path = "/api/v1/master/telemetry"
    _answer = _call(session, "GET", _path, {})
    return v1GetTelemetryResponse.from_json(_answer)


def get_GetTemplate(
    session: BaseSession,
    *,
    templateName: str,
) -> v1GetTemplateResponse:
    """Get a template."""
    _path = f"/api/v1/templates/{_quoted(str(templateName))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetTemplateResponse.from_json(_answer)


def get_GetTemplates(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetTemplatesRequestSortBy] = None,
    workspaceIds: Optional[Sequence[int]] = None,
) -> v1GetTemplatesResponse:
    """List templates."""
    _path = "/api/v1/templates"
    _params = {
        "limit": limit,
        "name": name,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
        "workspaceIds": workspaceIds,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetTemplatesResponse.from_json(_answer)


def get_GetTensorboard(
    session: BaseSession,
    *,
    tensorboardId: str,
) -> v1GetTensorboardResponse:
    """Get a TensorBoard."""
    _path = f"/api/v1/tensorboards/{_quoted(str(tensorboardId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetTensorboardResponse.from_json(_answer)


def get_GetTensorboards(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetTensorboardsRequestSortBy] = None,
    userIds: Optional[Sequence[int]] = None,
    users: Optional[Sequence[str]] = None,
    workspaceId: Optional[int] = None,
) -> v1GetTensorboardsResponse:
    """List TensorBoards."""
    _path = "/api/v1/tensorboards"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
        "userIds": userIds,
        "users": users,
        "workspaceId": workspaceId,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetTensorboardsResponse.from_json(_answer)


def get_GetTrainingMetrics(
    session: BaseSession,
    *,
    trialIds: Optional[Sequence[int]] = None,
) -> Iterator[v1GetTrainingMetricsResponse]:
    """Stream the training metrics of trials."""
    _path = "/api/v1/trials/metrics/training_metrics"
    _params = {
        "trialIds": trialIds,
    }
    for _record in _stream(session, "get_GetTrainingMetrics", _path, _params):
        yield v1GetTrainingMetricsResponse.from_json(_record)


def get_GetTrial(
    session: BaseSession,
    *,
    trialId: int,
) -> v1GetTrialResponse:
    """Get a trial."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetTrialResponse.from_json(_answer)


def get_GetTrialByExternalID(
    session: BaseSession,
    *,
    externalExperimentId: str,
    externalTrialId: str,
) -> v1GetTrialByExternalIDResponse:
    """Get a trial by the external ids of its experiment and of itself."""
    _path = f"/api/v1/trials/by-external-id/{_quoted(str(externalExperimentId))}/{_quoted(str(externalTrialId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetTrialByExternalIDResponse.from_json(_answer)


def get_GetTrialCheckpoints(
    session: BaseSession,
    *,
    id: int,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortByAttr: Optional[checkpointv1SortBy] = None,
    sortByMetric: Optional[str] = None,
    states: Optional[Sequence[checkpointv1State]] = None,
) -> v1GetTrialCheckpointsResponse:
    """List the checkpoints of a trial."""
    _path = f"/api/v1/trials/{_quoted(str(id))}/checkpoints"
    _params = {
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortByAttr": sortByAttr,
        "sortByMetric": sortByMetric,
        "states": states,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetTrialCheckpointsResponse.from_json(_answer)


def get_GetTrialMetricsByCheckpoint(
    session: BaseSession,
    *,
    checkpointUuid: str,
    metricGroup: Optional[str] = None,
    trialSourceInfoType: Optional[v1TrialSourceInfoType] = None,
) -> v1GetTrialMetricsByCheckpointResponse:
    """List the metrics of the trials that reported that they work with a checkpoint."""
    _path = f"/api/v1/checkpoints/{_quoted(str(checkpointUuid))}/metrics"
    _params = {
        "metricGroup": metricGroup,
        "trialSourceInfoType": trialSourceInfoType,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetTrialMetricsByCheckpointResponse.from_json(_answer)


def get_GetTrialMetricsByModelVersion(
    session: BaseSession,
    *,
    modelName: str,
    modelVersionNum: int,
    metricGroup: Optional[str] = None,
    trialSourceInfoType: Optional[v1TrialSourceInfoType] = None,
) -> v1GetTrialMetricsByModelVersionResponse:
    """List the metrics of the trials that reported that they work with a version of a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/versions/{_quoted(str(modelVersionNum))}/metrics"
    _params = {
        "metricGroup": metricGroup,
        "trialSourceInfoType": trialSourceInfoType,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetTrialMetricsByModelVersionResponse.from_json(_answer)


def get_GetTrialProfilerAvailableSeries(
    session: BaseSession,
    *,
    trialId: int,
    follow: Optional[bool] = None,
) -> Iterator[v1GetTrialProfilerAvailableSeriesResponse]:
    """Stream the names of what the nodes of a trial have measured."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/profiler/available_series"
    _params = {
        "follow": follow,
    }
    for _record in _stream(session, "get_GetTrialProfilerAvailableSeries", _path, _params):
        yield v1GetTrialProfilerAvailableSeriesResponse.from_json(_record)


def get_GetTrialProfilerMetrics(
    session: BaseSession,
    *,
    labels_trialId: int,
    follow: Optional[bool] = None,
    labels_agentId: Optional[str] = None,
    labels_gpuUuid: Optional[str] = None,
    labels_metricType: Optional[TrialProfilerMetricLabelsProfilerMetricType] = None,
    labels_name: Optional[str] = None,
) -> Iterator[v1GetTrialProfilerMetricsResponse]:
    """Stream what the nodes of a trial have measured, of one name or of all."""
    _path = f"/api/v1/trials/{_quoted(str(labels_trialId))}/profiler/metrics"
    _params = {
        "follow": follow,
        "labels.agentId": labels_agentId,
        "labels.gpuUuid": labels_gpuUuid,
        "labels.metricType": labels_metricType,
        "labels.name": labels_name,
    }
    for _record in _stream(session, "get_GetTrialProfilerMetrics", _path, _params):
        yield v1GetTrialProfilerMetricsResponse.from_json(_record)


def get_GetTrialRemainingLogRetentionDays(
    session: BaseSession,
    *,
    id: int,
) -> v1GetTrialRemainingLogRetentionDaysResponse:
    """Get the number of days until the log of a trial is deleted."""
    _path = f"/api/v1/trials/{_quoted(str(id))}/remaining_log_retention_days"
    _answer = _call(session, "GET", _path, {})
    return v1GetTrialRemainingLogRetentionDaysResponse.from_json(_answer)


def get_GetTrialWorkloads(
    session: BaseSession,
    *,
    trialId: int,
    filter: Optional[GetTrialWorkloadsRequestFilterOption] = None,
    group: Optional[str] = None,
    includeBatchMetrics: Optional[bool] = None,
    limit: Optional[int] = None,
    metricType: Optional[v1MetricType] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    removeDeletedCheckpoints: Optional[bool] = None,
    sortKey: Optional[str] = None,
) -> v1GetTrialWorkloadsResponse:
    """List the training, validation and checkpoint steps of a trial."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/workloads"
    _params = {
        "filter": filter,
        "group": group,
        "includeBatchMetrics": includeBatchMetrics,
        "limit": limit,
        "metricType": metricType,
        "offset": offset,
        "orderBy": orderBy,
        "removeDeletedCheckpoints": removeDeletedCheckpoints,
        "sortKey": sortKey,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetTrialWorkloadsResponse.from_json(_answer)


def get_GetUser(
    session: BaseSession,
    *,
    userId: int,
) -> v1GetUserResponse:
    """Get a user."""
    _path = f"/api/v1/users/{_quoted(str(userId))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetUserResponse.from_json(_answer)


def get_GetUserByUsername(
    session: BaseSession,
    *,
    username: str,
) -> v1GetUserByUsernameResponse:
    """Get a user by username."""
    _path = f"/api/v1/users/{_quoted(str(username))}/by-username"
    _answer = _call(session, "GET", _path, {})
    return v1GetUserByUsernameResponse.from_json(_answer)


def get_GetUserSetting(
    session: BaseSession,
) -> v1GetUserSettingResponse:
    """List your settings."""
    _path = "/api/v1/users/setting"
    _answer = _call(session, "GET", _path, {})
    return v1GetUserSettingResponse.from_json(_answer)


def get_GetUsers(
    session: BaseSession,
    *,
    active: Optional[bool] = None,
    admin: Optional[bool] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    roleIdAssignedDirectlyToUser: Optional[Sequence[int]] = None,
    sortBy: Optional[v1GetUsersRequestSortBy] = None,
) -> v1GetUsersResponse:
    """List users."""
    _path = "/api/v1/users"
    _params = {
        "active": active,
        "admin": admin,
        "limit": limit,
        "name": name,
        "offset": offset,
        "orderBy": orderBy,
        "roleIdAssignedDirectlyToUser": roleIdAssignedDirectlyToUser,
        "sortBy": sortBy,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetUsersResponse.from_json(_answer)


def get_GetValidationMetrics(
    session: BaseSession,
    *,
    trialIds: Optional[Sequence[int]] = None,
) -> Iterator[v1GetValidationMetricsResponse]:
    """Stream the validation metrics of trials."""
    _path = "/api/v1/trials/metrics/validation_metrics"
    _params = {
        "trialIds": trialIds,
    }
    for _record in _stream(session, "get_GetValidationMetrics", _path, _params):
        yield v1GetValidationMetricsResponse.from_json(_record)


def get_GetWebhooks(
    session: BaseSession,
) -> v1GetWebhooksResponse:
    """List webhooks."""
    _path = "/api/v1/webhooks"
    _answer = _call(session, "GET", _path, {})
    return v1GetWebhooksResponse.from_json(_answer)


def get_GetWorkspace(
    session: BaseSession,
    *,
    id: int,
) -> v1GetWorkspaceResponse:
    """Get a workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(id))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetWorkspaceResponse.from_json(_answer)


def get_GetWorkspaceConfigPolicies(
    session: BaseSession,
    *,
    workloadType: str,
    workspaceId: int,
) -> v1GetWorkspaceConfigPoliciesResponse:
    """Get the config policies of a workspace for EXPERIMENT or NTSC."""
    _path = f"/api/v1/config-policies/workspaces/{_quoted(str(workspaceId))}/{_quoted(str(workloadType))}"
    _answer = _call(session, "GET", _path, {})
    return v1GetWorkspaceConfigPoliciesResponse.from_json(_answer)


def get_GetWorkspaceProjects(
    session: BaseSession,
    *,
    id: int,
    archived: Optional[bool] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    sortBy: Optional[v1GetWorkspaceProjectsRequestSortBy] = None,
    userIds: Optional[Sequence[int]] = None,
    users: Optional[Sequence[str]] = None,
) -> v1GetWorkspaceProjectsResponse:
    """List the projects of a workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(id))}/projects"
    _params = {
        "archived": archived,
        "limit": limit,
        "name": name,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
        "userIds": userIds,
        "users": users,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetWorkspaceProjectsResponse.from_json(_answer)


def get_GetWorkspaces(
    session: BaseSession,
    *,
    archived: Optional[bool] = None,
    limit: Optional[int] = None,
    name: Optional[str] = None,
    nameCaseSensitive: Optional[str] = None,
    offset: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    pinned: Optional[bool] = None,
    sortBy: Optional[v1GetWorkspacesRequestSortBy] = None,
    userIds: Optional[Sequence[int]] = None,
    users: Optional[Sequence[str]] = None,
) -> v1GetWorkspacesResponse:
    """List workspaces."""
    _path = "/api/v1/workspaces"
    _params = {
        "archived": archived,
        "limit": limit,
        "name": name,
        "nameCaseSensitive": nameCaseSensitive,
        "offset": offset,
        "orderBy": orderBy,
        "pinned": pinned,
        "sortBy": sortBy,
        "userIds": userIds,
        "users": users,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetWorkspacesResponse.from_json(_answer)


def get_ListAudit(
    session: BaseSession,
    *,
    username: Optional[str] = None,
    kind: Optional[str] = None,
    object: Optional[str] = None,
    verb: Optional[str] = None,
    workspaceId: Optional[int] = None,
    failed: Optional[bool] = None,
    since: Optional[str] = None,
    until: Optional[str] = None,
    before: Optional[str] = None,
    limit: Optional[int] = None,
) -> v1AuditResponse:
    """List the audit trail, the newest entries first."""
    _path = "/api/v1/detent/audit"
    _params = {
        "username": username,
        "kind": kind,
        "object": object,
        "verb": verb,
        "workspaceId": workspaceId,
        "failed": failed,
        "since": since,
        "until": until,
        "before": before,
        "limit": limit,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1AuditResponse.from_json(_answer)


def get_ListDiskUse(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1GetDiskUseResponse:
    """List how much disk the workspaces that you may view use."""
    _path = "/api/v1/detent/disk-use"
    _params = {
        "limit": limit,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetDiskUseResponse.from_json(_answer)


def get_ListExperimentAttempts(
    session: BaseSession,
    *,
    id: Any,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    trial: Optional[int] = None,
) -> v1ListAttemptsResponse:
    """List the attempts of the trials of an experiment with their nodes and the reasons of their ends, newest first."""
    _path = f"/api/v1/detent/experiments/{_quoted(str(id))}/attempts"
    _params = {
        "limit": limit,
        "offset": offset,
        "trial": trial,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1ListAttemptsResponse.from_json(_answer)


def get_ListGCs(
    session: BaseSession,
    *,
    id: Any,
) -> v1GetGCsResponse:
    """List the garbage collections of an experiment."""
    _path = f"/api/v1/detent/experiments/{_quoted(str(id))}/collections"
    _answer = _call(session, "GET", _path, {})
    return v1GetGCsResponse.from_json(_answer)


def get_ListGenericTasks(
    session: BaseSession,
    *,
    users: Optional[Sequence[str]] = None,
    userIds: Optional[Sequence[int]] = None,
    workspaceId: Optional[int] = None,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    orderBy: Optional[str] = None,
    sortBy: Optional[str] = None,
) -> v1GetGenericTasksResponse:
    """List generic tasks with their places in trees; those that ended more than a week ago are left out."""
    _path = "/api/v1/detent/generic-tasks"
    _params = {
        "users": users,
        "userIds": userIds,
        "workspaceId": workspaceId,
        "limit": limit,
        "offset": offset,
        "orderBy": orderBy,
        "sortBy": sortBy,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetGenericTasksResponse.from_json(_answer)


def get_ListNodeAttempts(
    session: BaseSession,
    *,
    id: Any,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1ListAttemptsResponse:
    """List the attempts that ran or run on a node, the newest first."""
    _path = f"/api/v1/detent/agents/{_quoted(str(id))}/attempts"
    _params = {
        "limit": limit,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1ListAttemptsResponse.from_json(_answer)


def get_ListOldTasks(
    session: BaseSession,
) -> Dict[str, v1OldTask]:
    """List the attempts of tasks that run or wait in the queue, in the form for clients from before /api/v1."""
    _path = "/tasks"
    _answer: Dict[str, v1OldTask] = _call(session, "GET", _path, {})
    return _answer


def get_ListOldUsers(
    session: BaseSession,
) -> Sequence[v1OldUser]:
    """List users, in the form of Determined's oldest API."""
    _path = "/users"
    _answer: Sequence[v1OldUser] = _call(session, "GET", _path, {})
    return _answer


def get_ListOrphans(
    session: BaseSession,
) -> v1GetOrphansResponse:
    """List the jobs in Nomad that carry this cluster's id and have no row in the database; the master stops each an hour after it first saw the job."""
    _path = "/api/v1/detent/nomad/orphans"
    _answer = _call(session, "GET", _path, {})
    return v1GetOrphansResponse.from_json(_answer)


def get_ListQuotas(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    workspaceId: Optional[int] = None,
    projectId: Optional[int] = None,
    userId: Optional[int] = None,
) -> v1GetQuotasResponse:
    """List quotas and how much of each is in use."""
    _path = "/api/v1/detent/quotas"
    _params = {
        "limit": limit,
        "offset": offset,
        "workspaceId": workspaceId,
        "projectId": projectId,
        "userId": userId,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetQuotasResponse.from_json(_answer)


def get_ListRPsBoundToWorkspace(
    session: BaseSession,
    *,
    workspaceId: int,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1ListRPsBoundToWorkspaceResponse:
    """List the resource pools that a workspace may use."""
    _path = f"/api/v1/workspaces/{_quoted(str(workspaceId))}/available-resource-pools"
    _params = {
        "limit": limit,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1ListRPsBoundToWorkspaceResponse.from_json(_answer)


def get_ListSearchTrials(
    session: BaseSession,
    *,
    id: Any,
    metric: Optional[str] = None,
    group: Optional[str] = None,
    points: Optional[int] = None,
    after: Optional[int] = None,
    limit: Optional[int] = None,
    changedSince: Optional[str] = None,
) -> v1GetSearchTrialsResponse:
    """List the trials of a search by id, each with its downsampled curve of one metric."""
    _path = f"/api/v1/detent/experiments/{_quoted(str(id))}/search-trials"
    _params = {
        "metric": metric,
        "group": group,
        "points": points,
        "after": after,
        "limit": limit,
        "changedSince": changedSince,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetSearchTrialsResponse.from_json(_answer)


def get_ListSessions(
    session: BaseSession,
    *,
    username: Optional[str] = None,
    all: Optional[bool] = None,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1GetSessionsResponse:
    """List where you are signed in; an administrator also lists it of another user, or of all."""
    _path = "/api/v1/detent/sessions"
    _params = {
        "username": username,
        "all": all,
        "limit": limit,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetSessionsResponse.from_json(_answer)


def get_ListTaskAttempts(
    session: BaseSession,
    *,
    id: Any,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1ListAttemptsResponse:
    """List the attempts of a task with their nodes and the reasons of their ends, newest first."""
    _path = f"/api/v1/detent/tasks/{_quoted(str(id))}/attempts"
    _params = {
        "limit": limit,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1ListAttemptsResponse.from_json(_answer)


def get_ListUserSecrets(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1GetUserSecretsResponse:
    """List the names of the secrets that you may mount in tasks; no answer has a value."""
    _path = "/api/v1/detent/secrets"
    _params = {
        "limit": limit,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetUserSecretsResponse.from_json(_answer)


def get_ListWebhookDeliveries(
    session: BaseSession,
    *,
    id: Any,
    before: Optional[str] = None,
    limit: Optional[int] = None,
) -> v1GetWebhookDeliveriesResponse:
    """List the newest events of a webhook, with the results of the requests."""
    _path = f"/api/v1/detent/webhooks/{_quoted(str(id))}/deliveries"
    _params = {
        "before": before,
        "limit": limit,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1GetWebhookDeliveriesResponse.from_json(_answer)


def get_ListWorkspacesBoundToRP(
    session: BaseSession,
    *,
    resourcePoolName: str,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1ListWorkspacesBoundToRPResponse:
    """List the workspaces to which a resource pool is bound."""
    _path = f"/api/v1/resource-pools/{_quoted(str(resourcePoolName))}/workspace-bindings"
    _params = {
        "limit": limit,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1ListWorkspacesBoundToRPResponse.from_json(_answer)


def get_MasterLogs(
    session: BaseSession,
    *,
    follow: Optional[bool] = None,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> Iterator[v1MasterLogsResponse]:
    """Stream the log of the masters; a negative offset counts from the end."""
    _path = "/api/v1/master/logs"
    _params = {
        "follow": follow,
        "limit": limit,
        "offset": offset,
    }
    for _record in _stream(session, "get_MasterLogs", _path, _params):
        yield v1MasterLogsResponse.from_json(_record)


def get_MeasureNode(
    session: BaseSession,
    *,
    id: Any,
) -> v1NodeMeasurements:
    """Get what the devices of a node measure now: temperature, use, memory, power."""
    _path = f"/api/v1/detent/agents/{_quoted(str(id))}/measurements"
    _answer = _call(session, "GET", _path, {})
    return v1NodeMeasurements.from_json(_answer)


def get_MetricBatches(
    session: BaseSession,
    *,
    experimentId: int,
    metricName: str,
    group: Optional[str] = None,
    metricType: Optional[v1MetricType] = None,
    periodSeconds: Optional[int] = None,
) -> Iterator[v1MetricBatchesResponse]:
    """Stream the steps at which the trials of an experiment have reported a metric."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/metrics-stream/batches"
    _params = {
        "metricName": metricName,
        "group": group,
        "metricType": metricType,
        "periodSeconds": periodSeconds,
    }
    for _record in _stream(session, "get_MetricBatches", _path, _params):
        yield v1MetricBatchesResponse.from_json(_record)


def get_PreviewAccess(
    session: BaseSession,
    *,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1AccessPreviewResponse:
    """Show what each user would see and change with roles."""
    _path = "/api/v1/detent/access/preview"
    _params = {
        "limit": limit,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1AccessPreviewResponse.from_json(_answer)


def get_PreviewGC(
    session: BaseSession,
    *,
    id: Any,
    save_experiment_best: Optional[int] = None,
    save_trial_best: Optional[int] = None,
    save_trial_latest: Optional[int] = None,
    offset: Optional[int] = None,
) -> v1PreviewGCResponse:
    """Preview which checkpoints of an experiment a policy would delete."""
    _path = f"/experiments/{_quoted(str(id))}/preview_gc"
    _params = {
        "save_experiment_best": save_experiment_best,
        "save_trial_best": save_trial_best,
        "save_trial_latest": save_trial_latest,
        "offset": offset,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1PreviewGCResponse.from_json(_answer)


def get_ResourceAllocationAggregated(
    session: BaseSession,
    *,
    endDate: str,
    period: v1ResourceAllocationAggregationPeriod,
    startDate: str,
) -> v1ResourceAllocationAggregatedResponse:
    """Add up the slot-seconds of days or months."""
    _path = "/api/v1/resources/allocation/aggregated"
    _params = {
        "endDate": endDate,
        "period": period,
        "startDate": startDate,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1ResourceAllocationAggregatedResponse.from_json(_answer)


def get_ResourceAllocationRaw(
    session: BaseSession,
    *,
    timestampAfter: str,
    timestampBefore: str,
) -> v1ResourceAllocationRawResponse:
    """List what attempts held within a time."""
    _path = "/api/v1/resources/allocation/raw"
    _params = {
        "timestampAfter": timestampAfter,
        "timestampBefore": timestampBefore,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1ResourceAllocationRawResponse.from_json(_answer)


def get_SearchLogs(
    session: BaseSession,
    *,
    searchText: Optional[str] = None,
    limit: Optional[int] = None,
    before: Optional[str] = None,
) -> v1SearchLogsResponse:
    """Search the logs of all tasks that you may view for a text, for a bounded time."""
    _path = "/api/v1/detent/logs/search"
    _params = {
        "searchText": searchText,
        "limit": limit,
        "before": before,
    }
    _answer = _call(session, "GET", _path, _params)
    return v1SearchLogsResponse.from_json(_answer)


def get_TaskLogs(
    session: BaseSession,
    *,
    taskId: str,
    agentIds: Optional[Sequence[str]] = None,
    allocationIds: Optional[Sequence[str]] = None,
    containerIds: Optional[Sequence[str]] = None,
    enableRegex: Optional[bool] = None,
    follow: Optional[bool] = None,
    levels: Optional[Sequence[v1LogLevel]] = None,
    limit: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    rankIds: Optional[Sequence[int]] = None,
    searchText: Optional[str] = None,
    sources: Optional[Sequence[str]] = None,
    stdtypes: Optional[Sequence[str]] = None,
    timestampAfter: Optional[str] = None,
    timestampBefore: Optional[str] = None,
) -> Iterator[v1TaskLogsResponse]:
    """Stream the log of a task."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}/logs"
    _params = {
        "agentIds": agentIds,
        "allocationIds": allocationIds,
        "containerIds": containerIds,
        "enableRegex": enableRegex,
        "follow": follow,
        "levels": levels,
        "limit": limit,
        "orderBy": orderBy,
        "rankIds": rankIds,
        "searchText": searchText,
        "sources": sources,
        "stdtypes": stdtypes,
        "timestampAfter": timestampAfter,
        "timestampBefore": timestampBefore,
    }
    for _record in _stream(session, "get_TaskLogs", _path, _params):
        yield v1TaskLogsResponse.from_json(_record)


def get_TaskLogsFields(
    session: BaseSession,
    *,
    taskId: str,
    follow: Optional[bool] = None,
) -> Iterator[v1TaskLogsFieldsResponse]:
    """Stream the values by which the log of a task can be filtered."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}/logs/fields"
    _params = {
        "follow": follow,
    }
    for _record in _stream(session, "get_TaskLogsFields", _path, _params):
        yield v1TaskLogsFieldsResponse.from_json(_record)


def get_TrialLogs(
    session: BaseSession,
    *,
    trialId: int,
    agentIds: Optional[Sequence[str]] = None,
    containerIds: Optional[Sequence[str]] = None,
    enableRegex: Optional[bool] = None,
    follow: Optional[bool] = None,
    levels: Optional[Sequence[v1LogLevel]] = None,
    limit: Optional[int] = None,
    orderBy: Optional[v1OrderBy] = None,
    rankIds: Optional[Sequence[int]] = None,
    searchText: Optional[str] = None,
    sources: Optional[Sequence[str]] = None,
    stdtypes: Optional[Sequence[str]] = None,
    timestampAfter: Optional[str] = None,
    timestampBefore: Optional[str] = None,
) -> Iterator[v1TrialLogsResponse]:
    """Stream the log of a trial."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/logs"
    _params = {
        "agentIds": agentIds,
        "containerIds": containerIds,
        "enableRegex": enableRegex,
        "follow": follow,
        "levels": levels,
        "limit": limit,
        "orderBy": orderBy,
        "rankIds": rankIds,
        "searchText": searchText,
        "sources": sources,
        "stdtypes": stdtypes,
        "timestampAfter": timestampAfter,
        "timestampBefore": timestampBefore,
    }
    for _record in _stream(session, "get_TrialLogs", _path, _params):
        yield v1TrialLogsResponse.from_json(_record)


def get_TrialLogsFields(
    session: BaseSession,
    *,
    trialId: int,
    follow: Optional[bool] = None,
) -> Iterator[v1TrialLogsFieldsResponse]:
    """Stream the values by which the log of a trial can be filtered."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/logs/fields"
    _params = {
        "follow": follow,
    }
    for _record in _stream(session, "get_TrialLogsFields", _path, _params):
        yield v1TrialLogsFieldsResponse.from_json(_record)


def get_TrialsSample(
    session: BaseSession,
    *,
    experimentId: int,
    metricName: str,
    endBatches: Optional[int] = None,
    group: Optional[str] = None,
    maxDatapoints: Optional[int] = None,
    maxTrials: Optional[int] = None,
    metricType: Optional[v1MetricType] = None,
    periodSeconds: Optional[int] = None,
    startBatches: Optional[int] = None,
) -> Iterator[v1TrialsSampleResponse]:
    """Stream the curves of the best trials of an experiment, and which trials are the best."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/metrics-stream/trials-sample"
    _params = {
        "metricName": metricName,
        "endBatches": endBatches,
        "group": group,
        "maxDatapoints": maxDatapoints,
        "maxTrials": maxTrials,
        "metricType": metricType,
        "periodSeconds": periodSeconds,
        "startBatches": startBatches,
    }
    for _record in _stream(session, "get_TrialsSample", _path, _params):
        yield v1TrialsSampleResponse.from_json(_record)


def get_TrialsSnapshot(
    session: BaseSession,
    *,
    batchesProcessed: int,
    experimentId: int,
    metricName: str,
    batchesMargin: Optional[int] = None,
    group: Optional[str] = None,
    metricType: Optional[v1MetricType] = None,
    periodSeconds: Optional[int] = None,
) -> Iterator[v1TrialsSnapshotResponse]:
    """Stream the values of a metric that the trials of an experiment had at a number of steps."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/metrics-stream/trials-snapshot"
    _params = {
        "batchesProcessed": batchesProcessed,
        "metricName": metricName,
        "batchesMargin": batchesMargin,
        "group": group,
        "metricType": metricType,
        "periodSeconds": periodSeconds,
    }
    for _record in _stream(session, "get_TrialsSnapshot", _path, _params):
        yield v1TrialsSnapshotResponse.from_json(_record)


def get_WatchAllocation(
    session: BaseSession,
    *,
    id: Any,
) -> v1WatchResponse:
    """Wait until an attempt must end."""
    _path = f"/api/v1/detent/allocations/{_quoted(str(id))}/watch"
    _answer = _call(session, "GET", _path, {})
    return v1WatchResponse.from_json(_answer)


def get_health(
    session: BaseSession,
) -> HealthCheck:
    """Check whether this master can serve: 200, or 503 with the servers that do not answer."""
    _path = "/health"
    _answer = _call(session, "GET", _path, {})
    return HealthCheck.from_json(_answer)


def patch_AssignMultipleGroups(
    session: BaseSession,
    *,
    body: v1AssignMultipleGroupsRequest,
) -> None:
    """Add users to groups, and remove them from groups."""
    _path = "/api/v1/users/assignments"
    _call(session, "PATCH", _path, {}, body)


def patch_ChangeOldUser(
    session: BaseSession,
    *,
    name: Any,
    body: v1OldUserRequest,
) -> None:
    """Change a user, in the form of Determined's oldest API."""
    _path = f"/users/{_quoted(str(name))}"
    _call(session, "PATCH", _path, {}, body)


def patch_PatchAccessToken(
    session: BaseSession,
    *,
    body: v1PatchAccessTokenRequest,
    tokenId: int,
) -> v1PatchAccessTokenResponse:
    """Revoke an access token, or change its description."""
    _path = f"/api/v1/tokens/{_quoted(str(tokenId))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchAccessTokenResponse.from_json(_answer)


def patch_PatchCheckpoints(
    session: BaseSession,
    *,
    body: v1PatchCheckpointsRequest,
) -> None:
    """Report which files of checkpoints are left."""
    _path = "/api/v1/checkpoints"
    _call(session, "PATCH", _path, {}, body)


def patch_PatchExperiment(
    session: BaseSession,
    *,
    body: v1PatchExperiment,
    experiment_id: int,
) -> v1PatchExperimentResponse:
    """Change an experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(experiment_id))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchExperimentResponse.from_json(_answer)


def patch_PatchMasterConfig(
    session: BaseSession,
    *,
    body: v1PatchMasterConfigRequest,
) -> None:
    """Change the level or the colour of the logs of all running masters; a master that starts later uses its configuration."""
    _path = "/api/v1/master/config"
    _call(session, "PATCH", _path, {}, body)


def patch_PatchModel(
    session: BaseSession,
    *,
    body: v1PatchModel,
    modelName: str,
) -> v1PatchModelResponse:
    """Change a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchModelResponse.from_json(_answer)


def patch_PatchModelVersion(
    session: BaseSession,
    *,
    body: v1PatchModelVersion,
    modelName: str,
    modelVersionNum: int,
) -> v1PatchModelVersionResponse:
    """Change a version of a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/versions/{_quoted(str(modelVersionNum))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchModelVersionResponse.from_json(_answer)


def patch_PatchProject(
    session: BaseSession,
    *,
    body: v1PatchProject,
    id: int,
) -> v1PatchProjectResponse:
    """Change a project."""
    _path = f"/api/v1/projects/{_quoted(str(id))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchProjectResponse.from_json(_answer)


def patch_PatchTemplateConfig(
    session: BaseSession,
    *,
    body: Dict[str, Any],
    templateName: str,
) -> v1PatchTemplateConfigResponse:
    """Replace the configuration of a template with the body."""
    _path = f"/api/v1/templates/{_quoted(str(templateName))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchTemplateConfigResponse.from_json(_answer)


def patch_PatchTemplateName(
    session: BaseSession,
    *,
    body: v1PatchTemplateNameRequest,
) -> v1PatchTemplateNameResponse:
    """Rename a template."""
    _path = "/api/v1/template/rename"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchTemplateNameResponse.from_json(_answer)


def patch_PatchTrial(
    session: BaseSession,
    *,
    body: v1PatchTrialRequest,
    trialId: int,
) -> v1PatchTrialResponse:
    """Report that an unmanaged trial is alive, and its state."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchTrialResponse.from_json(_answer)


def patch_PatchUser(
    session: BaseSession,
    *,
    body: v1PatchUser,
    userId: int,
) -> v1PatchUserResponse:
    """Change a user; a user who is no administrator may change their own password and display name."""
    _path = f"/api/v1/users/{_quoted(str(userId))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchUserResponse.from_json(_answer)


def patch_PatchUsers(
    session: BaseSession,
    *,
    body: v1PatchUsersRequest,
) -> v1PatchUsersResponse:
    """Activate or deactivate several users."""
    _path = "/api/v1/users"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchUsersResponse.from_json(_answer)


def patch_PatchWebhook(
    session: BaseSession,
    *,
    body: v1PatchWebhook,
    id: int,
) -> None:
    """Change the address of a webhook."""
    _path = f"/api/v1/webhooks/{_quoted(str(id))}"
    _call(session, "PATCH", _path, {}, body)


def patch_PatchWorkspace(
    session: BaseSession,
    *,
    body: v1PatchWorkspace,
    id: int,
) -> v1PatchWorkspaceResponse:
    """Change a workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(id))}"
    _answer = _call(session, "PATCH", _path, {}, body)
    return v1PatchWorkspaceResponse.from_json(_answer)


def patch_RenameOldUser(
    session: BaseSession,
    *,
    name: Any,
    body: v1OldUserRequest,
) -> None:
    """Rename a user, in the form of Determined's oldest API."""
    _path = f"/users/{_quoted(str(name))}/username"
    _call(session, "PATCH", _path, {}, body)


def post_AckAllocationPreemptionSignal(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1AckAllocationPreemptionSignalRequest,
) -> None:
    """Acknowledge a preemption: the program will save a checkpoint and exit."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/signals/ack_preemption"
    _call(session, "POST", _path, {}, body)


def post_ActivateExperiment(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Activate a paused experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/activate"
    _call(session, "POST", _path, {})


def post_ActivateExperiments(
    session: BaseSession,
    *,
    body: v1ActivateExperimentsRequest,
    projectId: int,
) -> v1ActivateExperimentsResponse:
    """Activate several paused experiments."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/activate"
    _answer = _call(session, "POST", _path, {}, body)
    return v1ActivateExperimentsResponse.from_json(_answer)


def post_AddProjectNote(
    session: BaseSession,
    *,
    body: v1Note,
    projectId: int,
) -> v1AddProjectNoteResponse:
    """Add a note to a project."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/notes"
    _answer = _call(session, "POST", _path, {}, body)
    return v1AddProjectNoteResponse.from_json(_answer)


def post_AddressTask(
    session: BaseSession,
    *,
    id: Any,
) -> v1TaskAddressResponse:
    """Create an address with which programs, such as editors, use a notebook or a TensorBoard until the caller's session ends."""
    _path = f"/api/v1/detent/tasks/{_quoted(str(id))}/address"
    _answer = _call(session, "POST", _path, {})
    return v1TaskAddressResponse.from_json(_answer)


def post_AllocationAllGather(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1AllocationAllGatherRequest,
) -> v1AllocationAllGatherResponse:
    """Exchange data with the other members of an attempt."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/all_gather"
    _answer = _call(session, "POST", _path, {}, body)
    return v1AllocationAllGatherResponse.from_json(_answer)


def post_AllocationPendingPreemptionSignal(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1AllocationPendingPreemptionSignalRequest,
) -> None:
    """Request a preemption, because the node is about to stop."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/signals/pending_preemption"
    _call(session, "POST", _path, {}, body)


def post_AllocationReady(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1AllocationReadyRequest,
) -> None:
    """Report that a program is ready."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/ready"
    _call(session, "POST", _path, {}, body)


def post_AllocationWaiting(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1AllocationWaitingRequest,
) -> None:
    """Report that a program waits for data to show."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/waiting"
    _call(session, "POST", _path, {}, body)


def post_ArchiveExperiment(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Archive an experiment that has ended."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/archive"
    _call(session, "POST", _path, {})


def post_ArchiveExperiments(
    session: BaseSession,
    *,
    body: v1ArchiveExperimentsRequest,
    projectId: int,
) -> v1ArchiveExperimentsResponse:
    """Archive several experiments that have ended."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/archive"
    _answer = _call(session, "POST", _path, {}, body)
    return v1ArchiveExperimentsResponse.from_json(_answer)


def post_ArchiveModel(
    session: BaseSession,
    *,
    modelName: str,
) -> None:
    """Archive a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/archive"
    _call(session, "POST", _path, {})


def post_ArchiveProject(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Archive a project."""
    _path = f"/api/v1/projects/{_quoted(str(id))}/archive"
    _call(session, "POST", _path, {})


def post_ArchiveRuns(
    session: BaseSession,
    *,
    body: v1ArchiveRunsRequest,
) -> v1ArchiveRunsResponse:
    """Archive several runs that have ended."""
    _path = "/api/v1/runs/archive"
    _answer = _call(session, "POST", _path, {}, body)
    return v1ArchiveRunsResponse.from_json(_answer)


def post_ArchiveWorkspace(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Archive a workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(id))}/archive"
    _call(session, "POST", _path, {})


def post_AssignRoles(
    session: BaseSession,
    *,
    body: v1AssignRolesRequest,
) -> None:
    """Give roles to users and groups."""
    _path = "/api/v1/roles/add-assignments"
    _call(session, "POST", _path, {}, body)


def post_BindRPToWorkspace(
    session: BaseSession,
    *,
    body: v1BindRPToWorkspaceRequest,
    resourcePoolName: str,
) -> None:
    """Bind a resource pool to more workspaces."""
    _path = f"/api/v1/resource-pools/{_quoted(str(resourcePoolName))}/workspace-bindings"
    _call(session, "POST", _path, {}, body)


def post_CancelExperiment(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Cancel an experiment: its trials save a checkpoint and end."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/cancel"
    _call(session, "POST", _path, {})


def post_CancelExperiments(
    session: BaseSession,
    *,
    body: v1CancelExperimentsRequest,
    projectId: int,
) -> v1CancelExperimentsResponse:
    """Cancel several experiments: their trials save a checkpoint and end."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/cancel"
    _answer = _call(session, "POST", _path, {}, body)
    return v1CancelExperimentsResponse.from_json(_answer)


def post_CheckVisitors(
    session: BaseSession,
    *,
    id: Any,
    body: v1VisitorsRequest,
) -> v1VisitorsResponse:
    """Find which visitors, who are connected to a task through an ingress, may not enter it any more."""
    _path = f"/api/v1/detent/allocations/{_quoted(str(id))}/visitors"
    _answer = _call(session, "POST", _path, {}, body)
    return v1VisitorsResponse.from_json(_answer)


def post_CheckpointsRemoveFiles(
    session: BaseSession,
    *,
    body: v1CheckpointsRemoveFilesRequest,
) -> None:
    """Delete the files of checkpoints that match patterns; without patterns, read the list of their files from storage again."""
    _path = "/api/v1/checkpoints/rm"
    _call(session, "POST", _path, {}, body)


def post_ClaimAllocation(
    session: BaseSession,
    *,
    id: Any,
    body: v1ClaimRequest,
) -> v1ClaimResponse:
    """Claim a member of an attempt: exchange a workload identity for an allocation token and the specification of the task."""
    _path = f"/api/v1/detent/allocations/{_quoted(str(id))}/claim"
    _answer = _call(session, "POST", _path, {}, body)
    return v1ClaimResponse.from_json(_answer)


def post_CleanupLogs(
    session: BaseSession,
) -> v1CleanupLogsResponse:
    """Delete the logs whose retention has ended, now."""
    _path = "/api/v1/cleanup_logs"
    _answer = _call(session, "POST", _path, {})
    return v1CleanupLogsResponse.from_json(_answer)


def post_CompleteSearcherOperation(
    session: BaseSession,
    *,
    id: Any,
    body: v1CompletedOperationRequest,
) -> None:
    """Report that a trial has trained to a length."""
    _path = f"/api/v1/trials/{_quoted(str(id))}/searcher/completed_operation"
    _call(session, "POST", _path, {}, body)


def post_ContinueExperiment(
    session: BaseSession,
    *,
    body: v1ContinueExperimentRequest,
) -> v1ContinueExperimentResponse:
    """Continue an experiment that has ended."""
    _path = "/api/v1/experiments/continue"
    _answer = _call(session, "POST", _path, {}, body)
    return v1ContinueExperimentResponse.from_json(_answer)


def post_CreateExperiment(
    session: BaseSession,
    *,
    body: v1CreateExperimentRequest,
) -> v1CreateExperimentResponse:
    """Create an experiment."""
    _path = "/api/v1/experiments"
    _answer = _call(session, "POST", _path, {}, body)
    return v1CreateExperimentResponse.from_json(_answer)


def post_CreateGenericTask(
    session: BaseSession,
    *,
    body: v1CreateGenericTaskRequest,
) -> v1CreateGenericTaskResponse:
    """Create a generic task: a program that can be paused, and that can have tasks below it."""
    _path = "/api/v1/generic-tasks"
    _answer = _call(session, "POST", _path, {}, body)
    return v1CreateGenericTaskResponse.from_json(_answer)


def post_CreateGroup(
    session: BaseSession,
    *,
    body: v1CreateGroupRequest,
) -> v1CreateGroupResponse:
    """Create a group."""
    _path = "/api/v1/groups"
    _answer = _call(session, "POST", _path, {}, body)
    return v1CreateGroupResponse.from_json(_answer)


def post_CreateOldUser(
    session: BaseSession,
    *,
    body: v1OldUserRequest,
) -> None:
    """Create a user without a password, in the form of Determined's oldest API."""
    _path = "/users"
    _call(session, "POST", _path, {}, body)


def post_CreateTrial(
    session: BaseSession,
    *,
    body: v1CreateTrialRequest,
) -> v1CreateTrialResponse:
    """Create a trial of an unmanaged experiment."""
    _path = "/api/v1/trials"
    _answer = _call(session, "POST", _path, {}, body)
    return v1CreateTrialResponse.from_json(_answer)


def post_DeleteRuns(
    session: BaseSession,
    *,
    body: v1DeleteRunsRequest,
) -> v1DeleteRunsResponse:
    """Delete several runs that have ended, with their experiments; a search is deleted only with all its runs."""
    _path = "/api/v1/runs/delete"
    _answer = _call(session, "POST", _path, {}, body)
    return v1DeleteRunsResponse.from_json(_answer)


def post_DisableAgent(
    session: BaseSession,
    *,
    agentId: str,
    body: v1DisableAgentRequest,
) -> v1DisableAgentResponse:
    """Disable a node: the scheduler places no new work on it and preempts its tasks; with drain, its tasks run to their end."""
    _path = f"/api/v1/agents/{_quoted(str(agentId))}/disable"
    _answer = _call(session, "POST", _path, {}, body)
    return v1DisableAgentResponse.from_json(_answer)


def post_DisablePoolSlot(
    session: BaseSession,
    *,
    id: Any,
    pool: Any,
    slot: Any,
    body: v1DisableRequest,
) -> v1SlotResponse:
    """Disable a slot by its pool and number."""
    _path = f"/api/v1/agents/{_quoted(str(id))}/slots/{_quoted(str(pool))}/{_quoted(str(slot))}/disable"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SlotResponse.from_json(_answer)


def post_DisableSlot(
    session: BaseSession,
    *,
    agentId: str,
    body: v1DisableSlotRequest,
    slotId: str,
) -> v1DisableSlotResponse:
    """Disable a slot: the scheduler places no new work on it and preempts its task; with drain, its task runs to its end."""
    _path = f"/api/v1/agents/{_quoted(str(agentId))}/slots/{_quoted(str(slotId))}/disable"
    _answer = _call(session, "POST", _path, {}, body)
    return v1DisableSlotResponse.from_json(_answer)


def post_EnableAgent(
    session: BaseSession,
    *,
    agentId: str,
) -> v1EnableAgentResponse:
    """Enable a node: the scheduler places work on it again."""
    _path = f"/api/v1/agents/{_quoted(str(agentId))}/enable"
    _answer = _call(session, "POST", _path, {})
    return v1EnableAgentResponse.from_json(_answer)


def post_EnablePoolSlot(
    session: BaseSession,
    *,
    id: Any,
    pool: Any,
    slot: Any,
) -> v1SlotResponse:
    """Enable a slot by its pool and number."""
    _path = f"/api/v1/agents/{_quoted(str(id))}/slots/{_quoted(str(pool))}/{_quoted(str(slot))}/enable"
    _answer = _call(session, "POST", _path, {})
    return v1SlotResponse.from_json(_answer)


def post_EnableSlot(
    session: BaseSession,
    *,
    agentId: str,
    slotId: str,
) -> v1EnableSlotResponse:
    """Enable a slot: the scheduler places work on it again."""
    _path = f"/api/v1/agents/{_quoted(str(agentId))}/slots/{_quoted(str(slotId))}/enable"
    _answer = _call(session, "POST", _path, {})
    return v1EnableSlotResponse.from_json(_answer)


def post_FinishDeviceSignIn(
    session: BaseSession,
    *,
    body: v1FinishDeviceSignInRequest,
) -> v1FinishDeviceSignInResponse:
    """Ask whether the user has signed in with a device code."""
    _path = "/api/v1/detent/oidc/device/token"
    _answer = _call(session, "POST", _path, {}, body)
    return v1FinishDeviceSignInResponse.from_json(_answer)


def post_GetGroups(
    session: BaseSession,
    *,
    body: v1GetGroupsRequest,
) -> v1GetGroupsResponse:
    """List groups; who may not assign roles sees their own."""
    _path = "/api/v1/groups/search"
    _answer = _call(session, "POST", _path, {}, body)
    return v1GetGroupsResponse.from_json(_answer)


def post_GetModelDefFile(
    session: BaseSession,
    *,
    body: v1GetModelDefFileRequest,
    experimentId: int,
) -> v1GetModelDefFileResponse:
    """Get a file of an experiment's code, in base64."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/file"
    _answer = _call(session, "POST", _path, {}, body)
    return v1GetModelDefFileResponse.from_json(_answer)


def post_GetRolesByID(
    session: BaseSession,
    *,
    body: v1GetRolesByIDRequest,
) -> v1GetRolesByIDResponse:
    """Get roles with those who have them, as far as the caller may see that."""
    _path = "/api/v1/roles/search/by-ids"
    _answer = _call(session, "POST", _path, {}, body)
    return v1GetRolesByIDResponse.from_json(_answer)


def post_KillCommand(
    session: BaseSession,
    *,
    commandId: str,
) -> v1KillCommandResponse:
    """Kill a command."""
    _path = f"/api/v1/commands/{_quoted(str(commandId))}/kill"
    _answer = _call(session, "POST", _path, {})
    return v1KillCommandResponse.from_json(_answer)


def post_KillExperiment(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Kill an experiment: its trials end at once."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/kill"
    _call(session, "POST", _path, {})


def post_KillExperiments(
    session: BaseSession,
    *,
    body: v1KillExperimentsRequest,
    projectId: int,
) -> v1KillExperimentsResponse:
    """Kill several experiments: their trials end at once."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/kill"
    _answer = _call(session, "POST", _path, {}, body)
    return v1KillExperimentsResponse.from_json(_answer)


def post_KillGenericTask(
    session: BaseSession,
    *,
    body: v1KillGenericTaskRequest,
    taskId: str,
) -> None:
    """Kill a generic task with the tasks below it, or the whole tree."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}/kill"
    _call(session, "POST", _path, {}, body)


def post_KillNotebook(
    session: BaseSession,
    *,
    notebookId: str,
) -> v1KillNotebookResponse:
    """Kill a notebook."""
    _path = f"/api/v1/notebooks/{_quoted(str(notebookId))}/kill"
    _answer = _call(session, "POST", _path, {})
    return v1KillNotebookResponse.from_json(_answer)


def post_KillRuns(
    session: BaseSession,
    *,
    body: v1KillRunsRequest,
) -> v1KillRunsResponse:
    """Kill several runs: they end at once."""
    _path = "/api/v1/runs/kill"
    _answer = _call(session, "POST", _path, {}, body)
    return v1KillRunsResponse.from_json(_answer)


def post_KillShell(
    session: BaseSession,
    *,
    shellId: str,
) -> v1KillShellResponse:
    """Kill a shell."""
    _path = f"/api/v1/shells/{_quoted(str(shellId))}/kill"
    _answer = _call(session, "POST", _path, {})
    return v1KillShellResponse.from_json(_answer)


def post_KillTensorboard(
    session: BaseSession,
    *,
    tensorboardId: str,
) -> v1KillTensorboardResponse:
    """Kill a TensorBoard."""
    _path = f"/api/v1/tensorboards/{_quoted(str(tensorboardId))}/kill"
    _answer = _call(session, "POST", _path, {})
    return v1KillTensorboardResponse.from_json(_answer)


def post_KillTrial(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Kill a trial: it ends at once."""
    _path = f"/api/v1/trials/{_quoted(str(id))}/kill"
    _call(session, "POST", _path, {})


def post_LaunchCommand(
    session: BaseSession,
    *,
    body: v1LaunchCommandRequest,
) -> v1LaunchCommandResponse:
    """Run a command."""
    _path = "/api/v1/commands"
    _answer = _call(session, "POST", _path, {}, body)
    return v1LaunchCommandResponse.from_json(_answer)


def post_LaunchNotebook(
    session: BaseSession,
    *,
    body: v1LaunchNotebookRequest,
) -> v1LaunchNotebookResponse:
    """Start a notebook."""
    _path = "/api/v1/notebooks"
    _answer = _call(session, "POST", _path, {}, body)
    return v1LaunchNotebookResponse.from_json(_answer)


def post_LaunchShell(
    session: BaseSession,
    *,
    body: v1LaunchShellRequest,
) -> v1LaunchShellResponse:
    """Start a shell."""
    _path = "/api/v1/shells"
    _answer = _call(session, "POST", _path, {}, body)
    return v1LaunchShellResponse.from_json(_answer)


def post_LaunchTensorboard(
    session: BaseSession,
    *,
    body: v1LaunchTensorboardRequest,
) -> v1LaunchTensorboardResponse:
    """Start a TensorBoard for experiments and trials."""
    _path = "/api/v1/tensorboards"
    _answer = _call(session, "POST", _path, {}, body)
    return v1LaunchTensorboardResponse.from_json(_answer)


def post_LinkTask(
    session: BaseSession,
    *,
    id: Any,
) -> v1TaskLinkResponse:
    """Create a link that opens a task in a browser, once and within a minute."""
    _path = f"/api/v1/detent/tasks/{_quoted(str(id))}/link"
    _answer = _call(session, "POST", _path, {})
    return v1TaskLinkResponse.from_json(_answer)


def post_ListRoles(
    session: BaseSession,
    *,
    body: v1ListRolesRequest,
) -> v1ListRolesResponse:
    """List roles."""
    _path = "/api/v1/roles/search"
    _answer = _call(session, "POST", _path, {}, body)
    return v1ListRolesResponse.from_json(_answer)


def post_ListStrays(
    session: BaseSession,
    *,
    task: Any,
    body: v1StraysRequest,
) -> v1StraysResponse:
    """Ask which folders of a storage belong to no checkpoint, for a sweep."""
    _path = f"/api/v1/detent/collections/{_quoted(str(task))}/strays"
    _answer = _call(session, "POST", _path, {}, body)
    return v1StraysResponse.from_json(_answer)


def post_Login(
    session: BaseSession,
    *,
    body: v1LoginRequest,
) -> v1LoginResponse:
    """Sign in with a username and a password."""
    _path = "/api/v1/auth/login"
    _answer = _call(session, "POST", _path, {}, body)
    return v1LoginResponse.from_json(_answer)


def post_LoginJob(
    session: BaseSession,
    *,
    body: v1LoginJobRequest,
) -> v1LoginResponse:
    """Sign a job of Nomad in with its workload identity, as the service account that the operators chose for the job."""
    _path = "/api/v1/detent/auth/job"
    _answer = _call(session, "POST", _path, {}, body)
    return v1LoginResponse.from_json(_answer)


def post_Logout(
    session: BaseSession,
) -> None:
    """Sign out."""
    _path = "/api/v1/auth/logout"
    _call(session, "POST", _path, {})


def post_MarkAllocationResourcesDaemon(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1MarkAllocationResourcesDaemonRequest,
    resourcesId: str,
) -> None:
    """Report that a member is a daemon: the attempt ends without waiting for it."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/resources/{_quoted(str(resourcesId))}/daemon"
    _call(session, "POST", _path, {}, body)


def post_MemberRendezvous(
    session: BaseSession,
    *,
    id: Any,
    rank: Any,
) -> v1MemberRendezvousResponse:
    """Wait for the other members of an attempt, and get their addresses."""
    _path = f"/api/v1/detent/allocations/{_quoted(str(id))}/members/{_quoted(str(rank))}/rendezvous"
    _answer = _call(session, "POST", _path, {})
    return v1MemberRendezvousResponse.from_json(_answer)


def post_MoveExperiment(
    session: BaseSession,
    *,
    body: v1MoveExperimentRequest,
    experimentId: int,
) -> None:
    """Move an experiment to another project."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/move"
    _call(session, "POST", _path, {}, body)


def post_MoveExperiments(
    session: BaseSession,
    *,
    body: v1MoveExperimentsRequest,
    projectId: int,
) -> v1MoveExperimentsResponse:
    """Move several experiments to another project."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/move"
    _answer = _call(session, "POST", _path, {}, body)
    return v1MoveExperimentsResponse.from_json(_answer)


def post_MoveModel(
    session: BaseSession,
    *,
    body: v1MoveModelRequest,
    modelName: str,
) -> None:
    """Move a model to another workspace."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/move"
    _call(session, "POST", _path, {}, body)


def post_MoveProject(
    session: BaseSession,
    *,
    body: v1MoveProjectRequest,
    projectId: int,
) -> None:
    """Move a project to another workspace."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/move"
    _call(session, "POST", _path, {}, body)


def post_MoveRuns(
    session: BaseSession,
    *,
    body: v1MoveRunsRequest,
) -> v1MoveRunsResponse:
    """Move several runs to another project, with their experiments."""
    _path = "/api/v1/runs/move"
    _answer = _call(session, "POST", _path, {}, body)
    return v1MoveRunsResponse.from_json(_answer)


def post_NotifyContainerRunning(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1NotifyContainerRunningRequest,
) -> v1NotifyContainerRunningResponse:
    """Tell the other members of an attempt that a container runs."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/notify_container_running"
    _answer = _call(session, "POST", _path, {}, body)
    return v1NotifyContainerRunningResponse.from_json(_answer)


def post_OldLogin(
    session: BaseSession,
    *,
    body: v1OldLoginRequest,
) -> v1OldLoginResponse:
    """Sign in with a username and a password, in the form of Determined's oldest API; with cookie=true the response sets a cookie."""
    _path = "/login"
    _answer = _call(session, "POST", _path, {}, body)
    return v1OldLoginResponse.from_json(_answer)


def post_OldLogout(
    session: BaseSession,
) -> None:
    """Sign out, in the form of Determined's oldest API."""
    _path = "/logout"
    _call(session, "POST", _path, {})


def post_PauseExperiment(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Pause an experiment: its trials save a checkpoint and stop."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/pause"
    _call(session, "POST", _path, {})


def post_PauseExperiments(
    session: BaseSession,
    *,
    body: v1PauseExperimentsRequest,
    projectId: int,
) -> v1PauseExperimentsResponse:
    """Pause several experiments: their trials save a checkpoint and stop."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/pause"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PauseExperimentsResponse.from_json(_answer)


def post_PauseGenericTask(
    session: BaseSession,
    *,
    taskId: str,
) -> None:
    """Pause a generic task with the tasks below it: their programs end, and their slots are free."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}/pause"
    _call(session, "POST", _path, {})


def post_PauseRuns(
    session: BaseSession,
    *,
    body: v1PauseRunsRequest,
) -> v1PauseRunsResponse:
    """Pause several runs, each the only one of its experiment."""
    _path = "/api/v1/runs/pause"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PauseRunsResponse.from_json(_answer)


def post_PinWorkspace(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Pin a workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(id))}/pin"
    _call(session, "POST", _path, {})


def post_PostAccessToken(
    session: BaseSession,
    *,
    body: v1PostAccessTokenRequest,
) -> v1PostAccessTokenResponse:
    """Create an access token; the answer alone has the token itself."""
    _path = "/api/v1/tokens"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostAccessTokenResponse.from_json(_answer)


def post_PostAllocationAcceleratorData(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1PostAllocationAcceleratorDataRequest,
) -> None:
    """Report the accelerators of a member."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/acceleratorData"
    _call(session, "POST", _path, {}, body)


def post_PostAllocationProxyAddress(
    session: BaseSession,
    *,
    allocationId: str,
    body: v1PostAllocationProxyAddressRequest,
) -> None:
    """Report the address at which the proxy reaches a program."""
    _path = f"/api/v1/allocations/{_quoted(str(allocationId))}/proxy_address"
    _call(session, "POST", _path, {}, body)


def post_PostCheckpointMetadata(
    session: BaseSession,
    *,
    body: v1PostCheckpointMetadataRequest,
    checkpoint_uuid: str,
) -> v1PostCheckpointMetadataResponse:
    """Replace the metadata of a checkpoint."""
    _path = f"/api/v1/checkpoints/{_quoted(str(checkpoint_uuid))}/metadata"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostCheckpointMetadataResponse.from_json(_answer)


def post_PostModel(
    session: BaseSession,
    *,
    body: v1PostModelRequest,
) -> v1PostModelResponse:
    """Create a model."""
    _path = "/api/v1/models"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostModelResponse.from_json(_answer)


def post_PostModelVersion(
    session: BaseSession,
    *,
    body: v1PostModelVersionRequest,
    modelName: str,
) -> v1PostModelVersionResponse:
    """Register a checkpoint as the next version of a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/versions"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostModelVersionResponse.from_json(_answer)


def post_PostProject(
    session: BaseSession,
    *,
    body: v1PostProjectRequest,
    workspaceId: int,
) -> v1PostProjectResponse:
    """Create a project in a workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(workspaceId))}/projects"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostProjectResponse.from_json(_answer)


def post_PostRunMetadata(
    session: BaseSession,
    *,
    body: v1PostRunMetadataRequest,
    runId: int,
) -> v1PostRunMetadataResponse:
    """Replace the metadata of a run."""
    _path = f"/api/v1/runs/{_quoted(str(runId))}/metadata"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostRunMetadataResponse.from_json(_answer)


def post_PostSearcherOperations(
    session: BaseSession,
    *,
    id: Any,
    body: v1PostSearcherOperationsRequest,
) -> None:
    """Send the operations of a custom search."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/searcher_operations"
    _call(session, "POST", _path, {}, body)


def post_PostTaskLogs(
    session: BaseSession,
    *,
    body: v1PostTaskLogsRequest,
) -> None:
    """Send log lines, in the form of Determined's tasks."""
    _path = "/api/v1/task/logs"
    _call(session, "POST", _path, {}, body)


def post_PostTemplate(
    session: BaseSession,
    *,
    body: v1Template,
    template_name: str,
) -> v1PostTemplateResponse:
    """Create a template."""
    _path = f"/api/v1/templates/{_quoted(str(template_name))}"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostTemplateResponse.from_json(_answer)


def post_PostTrialProfilerMetricsBatch(
    session: BaseSession,
    *,
    body: v1PostTrialProfilerMetricsBatchRequest,
) -> None:
    """Report what a node measures, in the form of harnesses before 0.30; answered with 501."""
    _path = "/api/v1/trials/profiler/metrics"
    _call(session, "POST", _path, {}, body)


def post_PostTrialRunnerMetadata(
    session: BaseSession,
    *,
    body: v1TrialRunnerMetadata,
    trialId: int,
) -> None:
    """Report the state of a trial's program."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/runner/metadata"
    _call(session, "POST", _path, {}, body)


def post_PostUser(
    session: BaseSession,
    *,
    body: v1PostUserRequest,
) -> v1PostUserResponse:
    """Create a user."""
    _path = "/api/v1/users"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostUserResponse.from_json(_answer)


def post_PostUserActivity(
    session: BaseSession,
    *,
    body: v1PostUserActivityRequest,
) -> None:
    """Note that you looked at a project."""
    _path = "/api/v1/users/activity"
    _call(session, "POST", _path, {}, body)


def post_PostUserSetting(
    session: BaseSession,
    *,
    body: v1PostUserSettingRequest,
) -> None:
    """Store settings; an empty value removes a setting."""
    _path = "/api/v1/users/setting"
    _call(session, "POST", _path, {}, body)


def post_PostWebhook(
    session: BaseSession,
    *,
    body: v1Webhook,
) -> v1PostWebhookResponse:
    """Create a webhook."""
    _path = "/api/v1/webhooks"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostWebhookResponse.from_json(_answer)


def post_PostWebhookEventData(
    session: BaseSession,
    *,
    body: v1PostWebhookEventDataRequest,
) -> None:
    """Send an event to the webhooks that an experiment names."""
    _path = "/api/v1/webhooks/custom"
    _call(session, "POST", _path, {}, body)


def post_PostWorkspace(
    session: BaseSession,
    *,
    body: v1PostWorkspaceRequest,
) -> v1PostWorkspaceResponse:
    """Create a workspace."""
    _path = "/api/v1/workspaces"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PostWorkspaceResponse.from_json(_answer)


def post_PreviewHPSearch(
    session: BaseSession,
    *,
    body: v1PreviewHPSearchRequest,
) -> v1PreviewHPSearchResponse:
    """Preview the trials that a search would create."""
    _path = "/api/v1/preview-hp-search"
    _answer = _call(session, "POST", _path, {}, body)
    return v1PreviewHPSearchResponse.from_json(_answer)


def post_RedeliverWebhook(
    session: BaseSession,
    *,
    id: Any,
    delivery: Any,
) -> v1RedeliverWebhookResponse:
    """Send an event to a webhook once more."""
    _path = f"/api/v1/detent/webhooks/{_quoted(str(id))}/deliveries/{_quoted(str(delivery))}/redeliver"
    _answer = _call(session, "POST", _path, {})
    return v1RedeliverWebhookResponse.from_json(_answer)


def post_RemoveAssignments(
    session: BaseSession,
    *,
    body: v1RemoveAssignmentsRequest,
) -> None:
    """Take roles from users and groups."""
    _path = "/api/v1/roles/remove-assignments"
    _call(session, "POST", _path, {}, body)


def post_ReportCheckpoint(
    session: BaseSession,
    *,
    body: v1Checkpoint,
) -> None:
    """Report a checkpoint."""
    _path = "/api/v1/checkpoints"
    _call(session, "POST", _path, {}, body)


def post_ReportFreed(
    session: BaseSession,
    *,
    task: Any,
    body: v1FreedRequest,
) -> None:
    """Report which files a garbage collection deleted."""
    _path = f"/api/v1/detent/collections/{_quoted(str(task))}/freed"
    _call(session, "POST", _path, {}, body)


def post_ReportLogMatches(
    session: BaseSession,
    *,
    id: Any,
    rank: Any,
    body: v1LogMatchesRequest,
) -> None:
    """Report log lines that match log policies."""
    _path = f"/api/v1/detent/allocations/{_quoted(str(id))}/members/{_quoted(str(rank))}/log_matches"
    _call(session, "POST", _path, {}, body)


def post_ReportMemberExit(
    session: BaseSession,
    *,
    id: Any,
    rank: Any,
    body: v1MemberExitRequest,
) -> None:
    """Report how a member's program ended."""
    _path = f"/api/v1/detent/allocations/{_quoted(str(id))}/members/{_quoted(str(rank))}/exit"
    _call(session, "POST", _path, {}, body)


def post_ReportTrialMetrics(
    session: BaseSession,
    *,
    body: v1ReportTrialMetricsRequest,
    metrics_trialId: int,
) -> None:
    """Report metrics of a trial."""
    _path = f"/api/v1/trials/{_quoted(str(metrics_trialId))}/metrics"
    _call(session, "POST", _path, {}, body)


def post_ReportTrialProgress(
    session: BaseSession,
    *,
    body: v1ReportTrialProgressRequest,
    trialId: int,
) -> None:
    """Report the progress of a trial."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/progress"
    _call(session, "POST", _path, {}, body)


def post_ReportTrialSearcherEarlyExit(
    session: BaseSession,
    *,
    body: v1TrialEarlyExit,
    trialId: int,
) -> None:
    """Report why a trial will end early."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/early_exit"
    _call(session, "POST", _path, {}, body)


def post_ReportTrialSourceInfo(
    session: BaseSession,
    *,
    body: v1ReportTrialSourceInfoRequest,
) -> v1ReportTrialSourceInfoResponse:
    """Report which checkpoint, or version of a model, a trial works with."""
    _path = "/api/v1/trial-source-info"
    _answer = _call(session, "POST", _path, {}, body)
    return v1ReportTrialSourceInfoResponse.from_json(_answer)


def post_ReportTrialTrainingMetrics(
    session: BaseSession,
    *,
    body: v1TrialMetrics,
    trainingMetrics_trialId: int,
) -> None:
    """Report training metrics of a trial, for older harnesses."""
    _path = f"/api/v1/trials/{_quoted(str(trainingMetrics_trialId))}/training_metrics"
    _call(session, "POST", _path, {}, body)


def post_ReportTrialValidationMetrics(
    session: BaseSession,
    *,
    body: v1TrialMetrics,
    validationMetrics_trialId: int,
) -> None:
    """Report validation metrics of a trial, for older harnesses."""
    _path = f"/api/v1/trials/{_quoted(str(validationMetrics_trialId))}/validation_metrics"
    _call(session, "POST", _path, {}, body)


def post_ResetUserSetting(
    session: BaseSession,
) -> None:
    """Delete all of your settings."""
    _path = "/api/v1/users/setting/reset"
    _call(session, "POST", _path, {})


def post_ResumeRuns(
    session: BaseSession,
    *,
    body: v1ResumeRunsRequest,
) -> v1ResumeRunsResponse:
    """Activate several paused runs, each the only one of its experiment."""
    _path = "/api/v1/runs/resume"
    _answer = _call(session, "POST", _path, {}, body)
    return v1ResumeRunsResponse.from_json(_answer)


def post_RunPrepareForReporting(
    session: BaseSession,
    *,
    body: v1RunPrepareForReportingRequest,
) -> v1RunPrepareForReportingResponse:
    """Report where a run stores its checkpoints."""
    _path = "/api/v1/runs/start"
    _answer = _call(session, "POST", _path, {}, body)
    return v1RunPrepareForReportingResponse.from_json(_answer)


def post_SearchExperiments(
    session: BaseSession,
    *,
    body: v1SearchExperimentsRequest,
) -> v1SearchExperimentsResponse:
    """Search experiments, and get each with its best trial."""
    _path = "/api/v1/experiments-search"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SearchExperimentsResponse.from_json(_answer)


def post_SearchRolesAssignableToScope(
    session: BaseSession,
    *,
    body: v1SearchRolesAssignableToScopeRequest,
) -> v1SearchRolesAssignableToScopeResponse:
    """List the roles that can be assigned in a workspace or, without one, everywhere."""
    _path = "/api/v1/roles/search/by-assignability"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SearchRolesAssignableToScopeResponse.from_json(_answer)


def post_SearchRuns(
    session: BaseSession,
    *,
    body: v1SearchRunsRequest,
) -> v1SearchRunsResponse:
    """Search runs: the trials of all experiments."""
    _path = "/api/v1/runs"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SearchRunsResponse.from_json(_answer)


def post_SetCommandPriority(
    session: BaseSession,
    *,
    body: v1SetCommandPriorityRequest,
    commandId: str,
) -> v1SetCommandPriorityResponse:
    """Set the priority of a command."""
    _path = f"/api/v1/commands/{_quoted(str(commandId))}/set_priority"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SetCommandPriorityResponse.from_json(_answer)


def post_SetNotebookPriority(
    session: BaseSession,
    *,
    body: v1SetNotebookPriorityRequest,
    notebookId: str,
) -> v1SetNotebookPriorityResponse:
    """Set the priority of a notebook."""
    _path = f"/api/v1/notebooks/{_quoted(str(notebookId))}/set_priority"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SetNotebookPriorityResponse.from_json(_answer)


def post_SetShellPriority(
    session: BaseSession,
    *,
    body: v1SetShellPriorityRequest,
    shellId: str,
) -> v1SetShellPriorityResponse:
    """Set the priority of a shell."""
    _path = f"/api/v1/shells/{_quoted(str(shellId))}/set_priority"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SetShellPriorityResponse.from_json(_answer)


def post_SetTensorboardPriority(
    session: BaseSession,
    *,
    body: v1SetTensorboardPriorityRequest,
    tensorboardId: str,
) -> v1SetTensorboardPriorityResponse:
    """Set the priority of a TensorBoard."""
    _path = f"/api/v1/tensorboards/{_quoted(str(tensorboardId))}/set_priority"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SetTensorboardPriorityResponse.from_json(_answer)


def post_SetUserPassword(
    session: BaseSession,
    *,
    body: str,
    userId: int,
) -> v1SetUserPasswordResponse:
    """Set a user's password; the body is a JSON string."""
    _path = f"/api/v1/users/{_quoted(str(userId))}/password"
    _answer = _call(session, "POST", _path, {}, body)
    return v1SetUserPasswordResponse.from_json(_answer)


def post_StartDeviceSignIn(
    session: BaseSession,
    *,
    body: v1StartDeviceSignInRequest,
) -> v1StartDeviceSignInResponse:
    """Sign in with an identity provider, on a machine without a browser."""
    _path = "/api/v1/detent/oidc/device"
    _answer = _call(session, "POST", _path, {}, body)
    return v1StartDeviceSignInResponse.from_json(_answer)


def post_StartTrial(
    session: BaseSession,
    *,
    body: v1StartTrialRequest,
    trialId: int,
) -> v1StartTrialResponse:
    """Start the next run of an unmanaged trial."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/start"
    _answer = _call(session, "POST", _path, {}, body)
    return v1StartTrialResponse.from_json(_answer)


def post_TestWebhook(
    session: BaseSession,
    *,
    id: int,
) -> v1TestWebhookResponse:
    """Send a test event to a webhook."""
    _path = f"/api/v1/webhooks/{_quoted(str(id))}/test"
    _answer = _call(session, "POST", _path, {})
    return v1TestWebhookResponse.from_json(_answer)


def post_TrustNomad(
    session: BaseSession,
) -> None:
    """Trust Nomad's present state, after an administrator has checked it: the loop treats what Nomad no longer has as lost, once."""
    _path = "/api/v1/detent/nomad/trust"
    _call(session, "POST", _path, {})


def post_UnarchiveExperiment(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Unarchive an experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(id))}/unarchive"
    _call(session, "POST", _path, {})


def post_UnarchiveExperiments(
    session: BaseSession,
    *,
    body: v1UnarchiveExperimentsRequest,
    projectId: int,
) -> v1UnarchiveExperimentsResponse:
    """Unarchive several experiments."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/unarchive"
    _answer = _call(session, "POST", _path, {}, body)
    return v1UnarchiveExperimentsResponse.from_json(_answer)


def post_UnarchiveModel(
    session: BaseSession,
    *,
    modelName: str,
) -> None:
    """Unarchive a model."""
    _path = f"/api/v1/models/{_quoted(str(modelName))}/unarchive"
    _call(session, "POST", _path, {})


def post_UnarchiveProject(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Unarchive a project."""
    _path = f"/api/v1/projects/{_quoted(str(id))}/unarchive"
    _call(session, "POST", _path, {})


def post_UnarchiveRuns(
    session: BaseSession,
    *,
    body: v1UnarchiveRunsRequest,
) -> v1UnarchiveRunsResponse:
    """Unarchive several runs."""
    _path = "/api/v1/runs/unarchive"
    _answer = _call(session, "POST", _path, {}, body)
    return v1UnarchiveRunsResponse.from_json(_answer)


def post_UnarchiveWorkspace(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Unarchive a workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(id))}/unarchive"
    _call(session, "POST", _path, {})


def post_UnpauseGenericTask(
    session: BaseSession,
    *,
    taskId: str,
) -> None:
    """Unpause a generic task with the tasks below it: their programs start again."""
    _path = f"/api/v1/tasks/{_quoted(str(taskId))}/unpause"
    _call(session, "POST", _path, {})


def post_UnpinWorkspace(
    session: BaseSession,
    *,
    id: int,
) -> None:
    """Unpin a workspace."""
    _path = f"/api/v1/workspaces/{_quoted(str(id))}/unpin"
    _call(session, "POST", _path, {})


def post_UpdateJobQueue(
    session: BaseSession,
    *,
    body: v1UpdateJobQueueRequest,
) -> None:
    """Change the priority, weight, pool or queue position of jobs."""
    _path = "/api/v1/job-queues"
    _call(session, "POST", _path, {}, body)


def put_IdleNotebook(
    session: BaseSession,
    *,
    body: v1IdleNotebookRequest,
    notebookId: str,
) -> None:
    """Report that a notebook is idle."""
    _path = f"/api/v1/notebooks/{_quoted(str(notebookId))}/report_idle"
    _call(session, "PUT", _path, {}, body)


def put_OverwriteRPWorkspaceBindings(
    session: BaseSession,
    *,
    body: v1OverwriteRPWorkspaceBindingsRequest,
    resourcePoolName: str,
) -> None:
    """Bind a resource pool to exactly these workspaces."""
    _path = f"/api/v1/resource-pools/{_quoted(str(resourcePoolName))}/workspace-bindings"
    _call(session, "PUT", _path, {}, body)


def put_PutExperiment(
    session: BaseSession,
    *,
    body: v1CreateExperimentRequest,
    externalExperimentId: str,
) -> v1PutExperimentResponse:
    """Create an unmanaged experiment, or get the one that has the external id."""
    _path = f"/api/v1/experiments/by-external-id/{_quoted(str(externalExperimentId))}"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1PutExperimentResponse.from_json(_answer)


def put_PutExperimentLabel(
    session: BaseSession,
    *,
    experimentId: int,
    label: str,
) -> v1PutExperimentLabelResponse:
    """Add a label to an experiment."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/labels/{_quoted(str(label))}"
    _answer = _call(session, "PUT", _path, {})
    return v1PutExperimentLabelResponse.from_json(_answer)


def put_PutExperimentRetainLogs(
    session: BaseSession,
    *,
    body: v1PutExperimentRetainLogsRequest,
    experimentId: int,
) -> None:
    """Set for how many days the logs of an experiment's trials are kept."""
    _path = f"/api/v1/experiments/{_quoted(str(experimentId))}/retain_logs"
    _call(session, "PUT", _path, {}, body)


def put_PutExperimentsRetainLogs(
    session: BaseSession,
    *,
    body: v1PutExperimentsRetainLogsRequest,
    projectId: int,
) -> v1PutExperimentsRetainLogsResponse:
    """Set for how many days the logs of several experiments are kept."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/experiments/retain_logs"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1PutExperimentsRetainLogsResponse.from_json(_answer)


def put_PutGlobalConfigPolicies(
    session: BaseSession,
    *,
    body: v1PutGlobalConfigPoliciesRequest,
    workloadType: str,
) -> v1PutGlobalConfigPoliciesResponse:
    """Set the config policies of the cluster."""
    _path = f"/api/v1/config-policies/global/{_quoted(str(workloadType))}"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1PutGlobalConfigPoliciesResponse.from_json(_answer)


def put_PutProjectNotes(
    session: BaseSession,
    *,
    body: v1PutProjectNotesRequest,
    projectId: int,
) -> v1PutProjectNotesResponse:
    """Replace the notes of a project."""
    _path = f"/api/v1/projects/{_quoted(str(projectId))}/notes"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1PutProjectNotesResponse.from_json(_answer)


def put_PutQuota(
    session: BaseSession,
    *,
    body: v1PutQuotaRequest,
) -> v1PutQuotaResponse:
    """Set a quota of a workspace, a project or a user."""
    _path = "/api/v1/detent/quotas"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1PutQuotaResponse.from_json(_answer)


def put_PutTemplate(
    session: BaseSession,
    *,
    body: v1Template,
    template_name: str,
) -> v1PutTemplateResponse:
    """Create a template, or replace its configuration."""
    _path = f"/api/v1/templates/{_quoted(str(template_name))}"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1PutTemplateResponse.from_json(_answer)


def put_PutTrial(
    session: BaseSession,
    *,
    body: v1PutTrialRequest,
) -> v1PutTrialResponse:
    """Create a trial of an unmanaged experiment, or get the one that has the external id."""
    _path = "/api/v1/trials"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1PutTrialResponse.from_json(_answer)


def put_PutTrialRetainLogs(
    session: BaseSession,
    *,
    body: v1PutTrialRetainLogsRequest,
    trialId: int,
) -> None:
    """Set for how many days the log of a trial is kept."""
    _path = f"/api/v1/trials/{_quoted(str(trialId))}/retain_logs"
    _call(session, "PUT", _path, {}, body)


def put_PutWorkspaceConfigPolicies(
    session: BaseSession,
    *,
    body: v1PutWorkspaceConfigPoliciesRequest,
    workloadType: str,
    workspaceId: int,
) -> v1PutWorkspaceConfigPoliciesResponse:
    """Set the config policies of a workspace."""
    _path = f"/api/v1/config-policies/workspaces/{_quoted(str(workspaceId))}/{_quoted(str(workloadType))}"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1PutWorkspaceConfigPoliciesResponse.from_json(_answer)


def put_ReportShellIdle(
    session: BaseSession,
    *,
    id: Any,
    body: v1IdleNotebookRequest,
) -> None:
    """Report that a shell is idle."""
    _path = f"/api/v1/shells/{_quoted(str(id))}/report_idle"
    _call(session, "PUT", _path, {}, body)


def put_ReportTensorboardIdle(
    session: BaseSession,
    *,
    id: Any,
    body: v1IdleNotebookRequest,
) -> None:
    """Report that a TensorBoard is idle."""
    _path = f"/api/v1/tensorboards/{_quoted(str(id))}/report_idle"
    _call(session, "PUT", _path, {}, body)


def put_SetClusterMessage(
    session: BaseSession,
    *,
    body: v1SetClusterMessageRequest,
) -> None:
    """Set the message to all users, and from when until when it is shown; it replaces the message before."""
    _path = "/api/v1/master/cluster_message"
    _call(session, "PUT", _path, {}, body)


def put_UpdateGroup(
    session: BaseSession,
    *,
    body: v1UpdateGroupRequest,
    groupId: int,
) -> v1UpdateGroupResponse:
    """Rename a group, add users and remove users."""
    _path = f"/api/v1/groups/{_quoted(str(groupId))}"
    _answer = _call(session, "PUT", _path, {}, body)
    return v1UpdateGroupResponse.from_json(_answer)


Paginated = Union[
    v1AccessPreviewResponse,
    v1GetAccessTokensResponse,
    v1GetAgentsResponse,
    v1GetCommandsResponse,
    v1GetDiskUseResponse,
    v1GetExperimentCheckpointsResponse,
    v1GetExperimentTrialsResponse,
    v1GetExperimentsResponse,
    v1GetGenericTasksResponse,
    v1GetGroupsResponse,
    v1GetJobsResponse,
    v1GetJobsV2Response,
    v1GetModelVersionsResponse,
    v1GetModelsResponse,
    v1GetNotebooksResponse,
    v1GetQuotasResponse,
    v1GetResourcePoolsResponse,
    v1GetSessionsResponse,
    v1GetShellsResponse,
    v1GetTemplatesResponse,
    v1GetTensorboardsResponse,
    v1GetTrialCheckpointsResponse,
    v1GetTrialWorkloadsResponse,
    v1GetUserSecretsResponse,
    v1GetUsersResponse,
    v1GetWorkspaceProjectsResponse,
    v1GetWorkspacesResponse,
    v1ListAttemptsResponse,
    v1ListRPsBoundToWorkspaceResponse,
    v1ListRolesResponse,
    v1ListWorkspacesBoundToRPResponse,
    v1SearchExperimentsResponse,
    v1SearchRolesAssignableToScopeResponse,
    v1SearchRunsResponse,
]
