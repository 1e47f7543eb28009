// The part of the master's interface that the pages use. Made from the table of endpoints
// in master/v1; do not edit: go test ./master/v1 -run TestTypesOfPages -rewrite
// 64-bit integers and times travel as strings.

// An endpoint: how it is called, what it takes and what it answers.
export interface Endpoint<Req, Resp> {
  method: string;
  path: string; // :names are to be replaced
  takes?: Req;
  answers?: Resp;
}

export const getInfo: Endpoint<undefined, Info> = { method: 'GET', path: '/info' };
export const getMaster: Endpoint<undefined, GetMasterResponse> = { method: 'GET', path: '/api/v1/master' };
export const login: Endpoint<LoginRequest, LoginResponse> = { method: 'POST', path: '/api/v1/auth/login' };
export const logout: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/auth/logout' };
export const getMe: Endpoint<undefined, GetMeResponse> = { method: 'GET', path: '/api/v1/me' };
export const listUsers: Endpoint<undefined, GetUsersResponse> = { method: 'GET', path: '/api/v1/users' };
export const listExperiments: Endpoint<undefined, GetExperimentsResponse> = { method: 'GET', path: '/api/v1/experiments' };
export const searchExperiments: Endpoint<SearchExperimentsRequest, SearchExperimentsResponse> = { method: 'POST', path: '/api/v1/experiments-search' };
export const getExperiment: Endpoint<undefined, GetExperimentResponse> = { method: 'GET', path: '/api/v1/experiments/:id' };
export const deleteExperiment: Endpoint<undefined, Empty> = { method: 'DELETE', path: '/api/v1/experiments/:id' };
export const activateExperiment: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/experiments/:id/activate' };
export const pauseExperiment: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/experiments/:id/pause' };
export const cancelExperiment: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/experiments/:id/cancel' };
export const killExperiment: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/experiments/:id/kill' };
export const archiveExperiment: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/experiments/:id/archive' };
export const unarchiveExperiment: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/experiments/:id/unarchive' };
export const listTrials: Endpoint<undefined, GetExperimentTrialsResponse> = { method: 'GET', path: '/api/v1/experiments/:id/trials' };
export const listExperimentCheckpoints: Endpoint<undefined, GetExperimentCheckpointsResponse> = { method: 'GET', path: '/api/v1/experiments/:id/checkpoints' };
export const listTrialCheckpoints: Endpoint<undefined, GetTrialCheckpointsResponse> = { method: 'GET', path: '/api/v1/trials/:id/checkpoints' };
export const listSearchTrials: Endpoint<undefined, GetSearchTrialsResponse> = { method: 'GET', path: '/api/v1/detent/experiments/:id/search-trials' };
export const listExperimentAttempts: Endpoint<undefined, ListAttemptsResponse> = { method: 'GET', path: '/api/v1/detent/experiments/:id/attempts' };
export const listTaskAttempts: Endpoint<undefined, ListAttemptsResponse> = { method: 'GET', path: '/api/v1/detent/tasks/:id/attempts' };
export const getModelDefTree: Endpoint<undefined, FileTreeResponse> = { method: 'GET', path: '/api/v1/experiments/:id/file_tree' };
export const downloadModelDefFile: Endpoint<undefined, undefined> = { method: 'GET', path: '/api/v1/experiments/:id/file/download' };
export const streamProfilerSeries: Endpoint<undefined, undefined> = { method: 'GET', path: '/api/v1/trials/:id/profiler/available_series' };
export const streamProfilerMetrics: Endpoint<undefined, undefined> = { method: 'GET', path: '/api/v1/trials/:id/profiler/metrics' };
export const getGlobalConfigPolicies: Endpoint<undefined, GetGlobalConfigPoliciesResponse> = { method: 'GET', path: '/api/v1/config-policies/global/:workload' };
export const putGlobalConfigPolicies: Endpoint<PutGlobalConfigPoliciesRequest, PutGlobalConfigPoliciesResponse> = { method: 'PUT', path: '/api/v1/config-policies/global/:workload' };
export const deleteGlobalConfigPolicies: Endpoint<undefined, undefined> = { method: 'DELETE', path: '/api/v1/config-policies/global/:workload' };
export const getWorkspaceConfigPolicies: Endpoint<undefined, GetWorkspaceConfigPoliciesResponse> = { method: 'GET', path: '/api/v1/config-policies/workspaces/:id/:workload' };
export const putWorkspaceConfigPolicies: Endpoint<PutWorkspaceConfigPoliciesRequest, PutWorkspaceConfigPoliciesResponse> = { method: 'PUT', path: '/api/v1/config-policies/workspaces/:id/:workload' };
export const deleteWorkspaceConfigPolicies: Endpoint<undefined, undefined> = { method: 'DELETE', path: '/api/v1/config-policies/workspaces/:id/:workload' };
export const getUserSettings: Endpoint<undefined, GetUserSettingResponse> = { method: 'GET', path: '/api/v1/users/setting' };
export const setUserSettings: Endpoint<PostUserSettingRequest, undefined> = { method: 'POST', path: '/api/v1/users/setting' };
export const changeExperiment: Endpoint<PatchExperiment, PatchExperimentResponse> = { method: 'PATCH', path: '/api/v1/experiments/:id' };
export const listWorkloads: Endpoint<undefined, GetTrialWorkloadsResponse> = { method: 'GET', path: '/api/v1/trials/:id/workloads' };
export const getTrial: Endpoint<undefined, GetTrialResponse> = { method: 'GET', path: '/api/v1/trials/:id' };
export const killTrial: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/trials/:id/kill' };
export const getTimeSeries: Endpoint<undefined, CompareTrialsResponse> = { method: 'GET', path: '/api/v1/trials/time-series' };
export const listNotebooks: Endpoint<undefined, GetNotebooksResponse> = { method: 'GET', path: '/api/v1/notebooks' };
export const getNotebook: Endpoint<undefined, GetNotebookResponse> = { method: 'GET', path: '/api/v1/notebooks/:id' };
export const killNotebook: Endpoint<undefined, NotebookResponse> = { method: 'POST', path: '/api/v1/notebooks/:id/kill' };
export const listShells: Endpoint<undefined, GetShellsResponse> = { method: 'GET', path: '/api/v1/shells' };
export const getShell: Endpoint<undefined, GetShellResponse> = { method: 'GET', path: '/api/v1/shells/:id' };
export const killShell: Endpoint<undefined, ShellResponse> = { method: 'POST', path: '/api/v1/shells/:id/kill' };
export const listTensorboards: Endpoint<undefined, GetTensorboardsResponse> = { method: 'GET', path: '/api/v1/tensorboards' };
export const getTensorboard: Endpoint<undefined, GetTensorboardResponse> = { method: 'GET', path: '/api/v1/tensorboards/:id' };
export const killTensorboard: Endpoint<undefined, TensorboardResponse> = { method: 'POST', path: '/api/v1/tensorboards/:id/kill' };
export const listCommands: Endpoint<undefined, GetCommandsResponse> = { method: 'GET', path: '/api/v1/commands' };
export const getCommand: Endpoint<undefined, GetCommandResponse> = { method: 'GET', path: '/api/v1/commands/:id' };
export const killCommand: Endpoint<undefined, KillCommandResponse> = { method: 'POST', path: '/api/v1/commands/:id/kill' };
export const getTask: Endpoint<undefined, GetTaskResponse> = { method: 'GET', path: '/api/v1/tasks/:id' };
export const listTasks: Endpoint<undefined, GetTasksResponse> = { method: 'GET', path: '/api/v1/tasks' };
export const streamTaskLogs: Endpoint<undefined, undefined> = { method: 'GET', path: '/api/v1/tasks/:id/logs' };
export const streamTrialLogs: Endpoint<undefined, undefined> = { method: 'GET', path: '/api/v1/trials/:id/logs' };
export const listModels: Endpoint<undefined, GetModelsResponse> = { method: 'GET', path: '/api/v1/models' };
export const createModel: Endpoint<PostModelRequest, PostModelResponse> = { method: 'POST', path: '/api/v1/models' };
export const getModel: Endpoint<undefined, GetModelResponse> = { method: 'GET', path: '/api/v1/models/:name' };
export const changeModel: Endpoint<PatchModel, PatchModelResponse> = { method: 'PATCH', path: '/api/v1/models/:name' };
export const archiveModel: Endpoint<undefined, undefined> = { method: 'POST', path: '/api/v1/models/:name/archive' };
export const unarchiveModel: Endpoint<undefined, undefined> = { method: 'POST', path: '/api/v1/models/:name/unarchive' };
export const deleteModel: Endpoint<undefined, undefined> = { method: 'DELETE', path: '/api/v1/models/:name' };
export const listModelVersions: Endpoint<undefined, GetModelVersionsResponse> = { method: 'GET', path: '/api/v1/models/:name/versions' };
export const createModelVersion: Endpoint<PostModelVersionRequest, PostModelVersionResponse> = { method: 'POST', path: '/api/v1/models/:name/versions' };
export const changeModelVersion: Endpoint<PatchModelVersion, PatchModelVersionResponse> = { method: 'PATCH', path: '/api/v1/models/:name/versions/:version' };
export const deleteModelVersion: Endpoint<undefined, undefined> = { method: 'DELETE', path: '/api/v1/models/:name/versions/:version' };
export const listWorkspaces: Endpoint<undefined, GetWorkspacesResponse> = { method: 'GET', path: '/api/v1/workspaces' };
export const listPools: Endpoint<undefined, GetResourcePoolsResponse> = { method: 'GET', path: '/api/v1/resource-pools' };
export const listAgents: Endpoint<undefined, GetAgentsResponse> = { method: 'GET', path: '/api/v1/agents' };
export const listJobs: Endpoint<undefined, GetJobsV2Response> = { method: 'GET', path: '/api/v1/job-queues-v2' };
export const createNotebook: Endpoint<LaunchNotebookRequest, LaunchNotebookResponse> = { method: 'POST', path: '/api/v1/notebooks' };
export const createShell: Endpoint<LaunchShellRequest, LaunchShellResponse> = { method: 'POST', path: '/api/v1/shells' };
export const createTensorboard: Endpoint<LaunchTensorboardRequest, LaunchTensorboardResponse> = { method: 'POST', path: '/api/v1/tensorboards' };
export const createCommand: Endpoint<LaunchCommandRequest, LaunchCommandResponse> = { method: 'POST', path: '/api/v1/commands' };
export const createGenericTask: Endpoint<CreateGenericTaskRequest, CreateGenericTaskResponse> = { method: 'POST', path: '/api/v1/generic-tasks' };
export const listGenericTasks: Endpoint<undefined, GetGenericTasksResponse> = { method: 'GET', path: '/api/v1/detent/generic-tasks' };
export const killGenericTask: Endpoint<KillGenericTaskRequest, Empty> = { method: 'POST', path: '/api/v1/tasks/:id/kill' };
export const addressTask: Endpoint<undefined, TaskAddressResponse> = { method: 'POST', path: '/api/v1/detent/tasks/:id/address' };
export const linkTask: Endpoint<undefined, TaskLinkResponse> = { method: 'POST', path: '/api/v1/detent/tasks/:id/link' };
export const pauseGenericTask: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/tasks/:id/pause' };
export const unpauseGenericTask: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/tasks/:id/unpause' };
export const createExperiment: Endpoint<CreateExperimentRequest, CreateExperimentResponse> = { method: 'POST', path: '/api/v1/experiments' };
export const continueExperiment: Endpoint<ContinueExperimentRequest, ContinueExperimentResponse> = { method: 'POST', path: '/api/v1/experiments/continue' };
export const moveExperiments: Endpoint<MoveManyRequest, BulkResponse> = { method: 'POST', path: '/api/v1/projects/:id/experiments/move' };
export const pauseExperiments: Endpoint<BulkRequest, BulkResponse> = { method: 'POST', path: '/api/v1/projects/:id/experiments/pause' };
export const activateExperiments: Endpoint<BulkRequest, BulkResponse> = { method: 'POST', path: '/api/v1/projects/:id/experiments/activate' };
export const cancelExperiments: Endpoint<BulkRequest, BulkResponse> = { method: 'POST', path: '/api/v1/projects/:id/experiments/cancel' };
export const killExperiments: Endpoint<BulkRequest, BulkResponse> = { method: 'POST', path: '/api/v1/projects/:id/experiments/kill' };
export const archiveExperiments: Endpoint<BulkRequest, BulkResponse> = { method: 'POST', path: '/api/v1/projects/:id/experiments/archive' };
export const unarchiveExperiments: Endpoint<BulkRequest, BulkResponse> = { method: 'POST', path: '/api/v1/projects/:id/experiments/unarchive' };
export const deleteExperiments: Endpoint<BulkRequest, BulkResponse> = { method: 'DELETE', path: '/api/v1/projects/:id/experiments/delete' };
export const changeJobs: Endpoint<UpdateJobQueueRequest, Empty> = { method: 'POST', path: '/api/v1/job-queues' };
export const listUserSecrets: Endpoint<undefined, GetUserSecretsResponse> = { method: 'GET', path: '/api/v1/detent/secrets' };
export const createWorkspace: Endpoint<PostWorkspaceRequest, PostWorkspaceResponse> = { method: 'POST', path: '/api/v1/workspaces' };
export const getWorkspace: Endpoint<undefined, GetWorkspaceResponse> = { method: 'GET', path: '/api/v1/workspaces/:id' };
export const changeWorkspace: Endpoint<PatchWorkspace, PatchWorkspaceResponse> = { method: 'PATCH', path: '/api/v1/workspaces/:id' };
export const deleteWorkspace: Endpoint<undefined, DeleteWorkspaceResponse> = { method: 'DELETE', path: '/api/v1/workspaces/:id' };
export const archiveWorkspace: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/workspaces/:id/archive' };
export const unarchiveWorkspace: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/workspaces/:id/unarchive' };
export const pinWorkspace: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/workspaces/:id/pin' };
export const unpinWorkspace: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/workspaces/:id/unpin' };
export const listProjects: Endpoint<undefined, GetWorkspaceProjectsResponse> = { method: 'GET', path: '/api/v1/workspaces/:id/projects' };
export const createProject: Endpoint<PostProjectRequest, PostProjectResponse> = { method: 'POST', path: '/api/v1/workspaces/:id/projects' };
export const getProject: Endpoint<undefined, GetProjectResponse> = { method: 'GET', path: '/api/v1/projects/:id' };
export const changeProject: Endpoint<PatchProject, PatchProjectResponse> = { method: 'PATCH', path: '/api/v1/projects/:id' };
export const deleteProject: Endpoint<undefined, DeleteProjectResponse> = { method: 'DELETE', path: '/api/v1/projects/:id' };
export const archiveProject: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/projects/:id/archive' };
export const unarchiveProject: Endpoint<undefined, Empty> = { method: 'POST', path: '/api/v1/projects/:id/unarchive' };
export const moveProject: Endpoint<MoveProjectRequest, Empty> = { method: 'POST', path: '/api/v1/projects/:id/move' };
export const setProjectNotes: Endpoint<PutProjectNotesRequest, PutProjectNotesResponse> = { method: 'PUT', path: '/api/v1/projects/:id/notes' };
export const listProjectColumns: Endpoint<undefined, GetProjectColumnsResponse> = { method: 'GET', path: '/api/v1/projects/:id/columns' };
export const createUser: Endpoint<PostUserRequest, PostUserResponse> = { method: 'POST', path: '/api/v1/users' };
export const changeUser: Endpoint<PatchUser, PatchUserResponse> = { method: 'PATCH', path: '/api/v1/users/:id' };
export const changeUsers: Endpoint<PatchUsersRequest, PatchUsersResponse> = { method: 'PATCH', path: '/api/v1/users' };
export const listTokens: Endpoint<undefined, GetAccessTokensResponse> = { method: 'GET', path: '/api/v1/tokens' };
export const createToken: Endpoint<PostAccessTokenRequest, PostAccessTokenResponse> = { method: 'POST', path: '/api/v1/tokens' };
export const changeToken: Endpoint<PatchAccessTokenRequest, PatchAccessTokenResponse> = { method: 'PATCH', path: '/api/v1/tokens/:id' };
export const listWebhooks: Endpoint<undefined, GetWebhooksResponse> = { method: 'GET', path: '/api/v1/webhooks' };
export const createWebhook: Endpoint<Webhook, PostWebhookResponse> = { method: 'POST', path: '/api/v1/webhooks' };
export const changeWebhook: Endpoint<PatchWebhook, Empty> = { method: 'PATCH', path: '/api/v1/webhooks/:id' };
export const deleteWebhook: Endpoint<undefined, Empty> = { method: 'DELETE', path: '/api/v1/webhooks/:id' };
export const testWebhook: Endpoint<undefined, TestWebhookResponse> = { method: 'POST', path: '/api/v1/webhooks/:id/test' };
export const listWebhookDeliveries: Endpoint<undefined, GetWebhookDeliveriesResponse> = { method: 'GET', path: '/api/v1/detent/webhooks/:id/deliveries' };
export const redeliverWebhook: Endpoint<undefined, RedeliverWebhookResponse> = { method: 'POST', path: '/api/v1/detent/webhooks/:id/deliveries/:delivery/redeliver' };
export const listTemplates: Endpoint<undefined, GetTemplatesResponse> = { method: 'GET', path: '/api/v1/templates' };
export const putTemplate: Endpoint<Template, TemplateResponse> = { method: 'PUT', path: '/api/v1/templates/:name' };
export const createTemplate: Endpoint<Template, TemplateResponse> = { method: 'POST', path: '/api/v1/templates/:name' };
export const deleteTemplate: Endpoint<undefined, undefined> = { method: 'DELETE', path: '/api/v1/templates/:name' };
export const renameTemplate: Endpoint<PatchTemplateNameRequest, TemplateResponse> = { method: 'PATCH', path: '/api/v1/template/rename' };
export const getClusterMessage: Endpoint<undefined, GetClusterMessageResponse> = { method: 'GET', path: '/api/v1/master/cluster_message' };
export const setClusterMessage: Endpoint<SetClusterMessageRequest, Empty> = { method: 'PUT', path: '/api/v1/master/cluster_message' };
export const deleteClusterMessage: Endpoint<undefined, Empty> = { method: 'DELETE', path: '/api/v1/master/cluster_message' };
export const resetUserSettings: Endpoint<undefined, undefined> = { method: 'POST', path: '/api/v1/users/setting/reset' };
export const followLive: Endpoint<undefined, undefined> = { method: 'GET', path: '/api/v1/detent/live' };
export const openTerminal: Endpoint<undefined, undefined> = { method: 'GET', path: '/api/v1/detent/shells/:id/terminal' };
export const measureNode: Endpoint<undefined, NodeMeasurements> = { method: 'GET', path: '/api/v1/detent/agents/:id/measurements' };
export const listNodeAttempts: Endpoint<undefined, ListAttemptsResponse> = { method: 'GET', path: '/api/v1/detent/agents/:id/attempts' };
export const listAudit: Endpoint<undefined, AuditResponse> = { method: 'GET', path: '/api/v1/detent/audit' };
export const searchLogs: Endpoint<undefined, SearchLogsResponse> = { method: 'GET', path: '/api/v1/detent/logs/search' };
export const getAggregatedUsage: Endpoint<undefined, ResourceAllocationAggregatedResponse> = { method: 'GET', path: '/api/v1/resources/allocation/aggregated' };
export const getAggregatedUsageCSV: Endpoint<undefined, undefined> = { method: 'GET', path: '/resources/allocation/aggregated' };
export const listSessions: Endpoint<undefined, GetSessionsResponse> = { method: 'GET', path: '/api/v1/detent/sessions' };
export const endSession: Endpoint<undefined, Empty> = { method: 'DELETE', path: '/api/v1/detent/sessions/:id' };
export const listGroups: Endpoint<GetGroupsRequest, GetGroupsResponse> = { method: 'POST', path: '/api/v1/groups/search' };
export const getGroup: Endpoint<undefined, GetGroupResponse> = { method: 'GET', path: '/api/v1/groups/:group' };
export const createGroup: Endpoint<CreateGroupRequest, CreateGroupResponse> = { method: 'POST', path: '/api/v1/groups' };
export const updateGroup: Endpoint<UpdateGroupRequest, UpdateGroupResponse> = { method: 'PUT', path: '/api/v1/groups/:group' };
export const deleteGroup: Endpoint<undefined, Empty> = { method: 'DELETE', path: '/api/v1/groups/:group' };
export const listRoles: Endpoint<ListRolesRequest, ListRolesResponse> = { method: 'POST', path: '/api/v1/roles/search' };
export const getRolesByID: Endpoint<GetRolesByIDRequest, GetRolesByIDResponse> = { method: 'POST', path: '/api/v1/roles/search/by-ids' };
export const listWorkspaceMembers: Endpoint<undefined, GetGroupsAndUsersAssignedToWorkspaceResponse> = { method: 'GET', path: '/api/v1/roles/workspace/:workspace' };
export const getPermissionsSummary: Endpoint<undefined, GetPermissionsSummaryResponse> = { method: 'GET', path: '/api/v1/permissions/summary' };
export const assignRoles: Endpoint<AssignRolesRequest, Empty> = { method: 'POST', path: '/api/v1/roles/add-assignments' };
export const removeAssignments: Endpoint<RemoveAssignmentsRequest, Empty> = { method: 'POST', path: '/api/v1/roles/remove-assignments' };
export const listQuotas: Endpoint<undefined, GetQuotasResponse> = { method: 'GET', path: '/api/v1/detent/quotas' };
export const putQuota: Endpoint<PutQuotaRequest, PutQuotaResponse> = { method: 'PUT', path: '/api/v1/detent/quotas' };
export const deleteQuota: Endpoint<undefined, Empty> = { method: 'DELETE', path: '/api/v1/detent/quotas/:id' };
export const listPoolWorkspaces: Endpoint<undefined, ListWorkspacesBoundToRPResponse> = { method: 'GET', path: '/api/v1/resource-pools/:pool/workspace-bindings' };
export const replacePoolBindings: Endpoint<PoolBindings, undefined> = { method: 'PUT', path: '/api/v1/resource-pools/:pool/workspace-bindings' };
export const listWorkspacePools: Endpoint<undefined, ListRPsBoundToWorkspaceResponse> = { method: 'GET', path: '/api/v1/workspaces/:id/available-resource-pools' };

export interface InfoSSOProvider {
  name: string;
  sso_url: string;
  type: string;
  always_redirect: boolean;
}

export interface Info {
  version: string;
  master_id: string;
  cluster_id: string;
  cluster_name: string;
  telemetry: Record<string, unknown>;
  sso_providers: InfoSSOProvider[];
  detent_version: string;
  public_url: string;
}

export interface ClusterMessage {
  message: string;
  startTime: string;
  endTime: string | null;
  createdTime: string;
}

export interface SSOProvider {
  name: string;
  ssoUrl: string;
  type: string;
  alwaysRedirect: boolean;
}

export interface GetMasterResponse {
  clusterId: string;
  clusterName: string;
  hasCustomLogo: boolean;
  masterId: string;
  strictJobQueueControl: boolean;
  version: string;
  clusterMessage: ClusterMessage | null;
  branding: string;
  externalLoginUri: string;
  externalLogoutUri: string;
  featureSwitches: string[];
  product: string;
  rbacEnabled: boolean;
  ssoProviders: SSOProvider[];
  telemetryEnabled: boolean;
  userManagementEnabled: boolean;
}

export interface LoginRequest {
  password: string;
  username: string;
  isHashed?: boolean;
}

export interface AgentUserGroup {
  agentGid: number | null;
  agentGroup: string | null;
  agentUid: number | null;
  agentUser: string | null;
}

export interface User {
  active: boolean;
  admin: boolean;
  username: string;
  agentUserGroup: AgentUserGroup | null;
  displayName: string;
  id: number;
  lastAuthAt: string | null;
  modifiedAt: string | null;
  remote: boolean;
  serviceAccount: boolean;
}

export interface LoginResponse {
  token: string;
  user: User;
}

export interface Empty {
}

export interface GetMeResponse {
  user: User;
}

export interface Pagination {
  endIndex: number;
  limit: number;
  offset: number;
  startIndex: number;
  total: number;
}

export interface GetUsersResponse {
  pagination: Pagination | null;
  users: User[];
}

export interface FreedTotal {
  checkpoints: number;
  files: string;
  bytes: string;
}

export interface Experiment {
  archived: boolean;
  config: Record<string, any>;
  id: number;
  jobId: string;
  name: string;
  numTrials: number;
  originalConfig: string;
  projectId: number;
  projectOwnerId: number;
  searcherType: string;
  startTime: string;
  state: string;
  username: string;
  bestTrialId: number | null;
  bestTrialSearcherMetric: number | null;
  checkpointCount: number;
  checkpointSize: string;
  description: string;
  displayName: string;
  duration: number | null;
  endTime: string | null;
  externalExperimentId: string | null;
  externalTrialId: string | null;
  forkedFrom: number | null;
  hyperparameters: Record<string, any> | null;
  labels: string[];
  modelDefinitionSize: number;
  notes: string;
  pachydermIntegration: Record<string, any> | null;
  parentArchived: boolean;
  progress: number | null;
  projectName: string;
  resourcePool: string;
  searcherMetric: string;
  trialIds: number[];
  unmanaged: boolean;
  userId: number;
  workspaceId: number;
  workspaceName: string;
  error: string;
  freed?: FreedTotal;
}

export interface GetExperimentsResponse {
  experiments: Experiment[];
  pagination: Pagination;
}

export interface SearchExperimentsRequest {
  projectId?: number;
  offset?: number;
  limit?: number;
  sort?: string;
  filter?: string;
  query?: string;
  withoutConfig?: boolean;
}

export interface CheckpointWorkload {
  state: string;
  totalBatches: number;
  endTime: string | null;
  metadata: Record<string, any> | null;
  resources: Record<string, string>;
  uuid: string;
}

export interface Metrics {
  avgMetrics: Record<string, any>;
  batchMetrics: (Record<string, any>)[];
}

export interface MetricsWorkload {
  metrics: Metrics;
  numInputs: number;
  totalBatches: number;
  endTime: string | null;
}

export interface Trial {
  experimentId: number;
  hparams: Record<string, any>;
  id: number;
  restarts: number;
  startTime: string;
  state: string;
  totalBatchesProcessed: number;
  bestCheckpoint: CheckpointWorkload | null;
  bestValidation: MetricsWorkload | null;
  checkpointCount: number;
  endTime: string | null;
  latestValidation: MetricsWorkload | null;
  logPolicyMatched: string | null;
  logRetentionDays: number | null;
  metadata: Record<string, any> | null;
  runnerState: string;
  searcherMetricValue: number | null;
  summaryMetrics: Record<string, any> | null;
  taskId: string;
  taskIds: string[];
  totalCheckpointSize: string;
  wallClockTime: number;
  warmStartCheckpointUuid: string;
  error: string;
  waitingReason: string;
  summaryIncomplete: string;
}

export interface SearchExperimentExperiment {
  experiment: Experiment;
  bestTrial: Trial | null;
}

export interface SearchExperimentsResponse {
  experiments: SearchExperimentExperiment[];
  pagination: Pagination;
}

export interface JobSummary {
  jobsAhead: number;
  state: string;
}

export interface AvoidedNode {
  node: string;
  failures: number;
}

export interface GetExperimentResponse {
  experiment: Experiment;
  config: Record<string, any> | null;
  jobSummary: JobSummary | null;
  avoidedNodes: AvoidedNode[];
  remarks: string[];
}

export interface GetExperimentTrialsResponse {
  pagination: Pagination;
  trials: Trial[];
}

export interface CheckpointTrainingMetadata {
  experimentConfig: Record<string, any> | null;
  experimentId: number | null;
  hparams: Record<string, any> | null;
  searcherMetric: number | null;
  trainingMetrics: Metrics | null;
  trialId: number | null;
  validationMetrics: Metrics | null;
}

export interface CheckpointRemoval {
  taskId: string;
  checkpoint: string;
  reason: string;
  globs: string[];
  time?: string;
  files: string;
  bytes: string;
  error: string;
  ended: boolean;
}

export interface Checkpoint {
  metadata: Record<string, any>;
  resources: Record<string, string>;
  state: string;
  training: CheckpointTrainingMetadata;
  uuid: string;
  allocationId: string;
  reportTime: string | null;
  storageId: number | null;
  taskId: string;
  removals?: CheckpointRemoval[];
}

export interface GetExperimentCheckpointsResponse {
  checkpoints: Checkpoint[];
  pagination: Pagination;
}

export interface GetTrialCheckpointsResponse {
  checkpoints: Checkpoint[];
  pagination: Pagination;
}

export interface SearchTrial {
  id: number;
  state: string;
  hparams: Record<string, any>;
  endTime: string | null;
  restarts: number;
  batches: number;
  stopped: boolean;
  min: number | null;
  max: number | null;
  last: number | null;
  steps: number[];
  values: number[];
}

export interface GetSearchTrialsResponse {
  trials: SearchTrial[];
  next: number;
  time: string;
}

export interface AttemptMember {
  rank: number;
  node: string;
  slotIds: number[];
  nomadAllocation: string;
  nomadUrl: string;
  endTime: string | null;
  exitCode: number | null;
  exitReason: string;
}

export interface Attempt {
  allocationId: string;
  taskId: string;
  trialId: number;
  run: number;
  resourcePool: string;
  slots: number;
  state: string;
  outcome: string;
  queuedTime: string;
  assignedTime: string | null;
  startTime: string | null;
  endTime: string | null;
  preemptTime: string | null;
  preemptReason: string;
  killTime: string | null;
  killReason: string;
  exitCode: number | null;
  exitReason: string;
  waitingReason: string;
  nomadJob: string;
  nomadUrl: string;
  members: AttemptMember[];
}

export interface ListAttemptsResponse {
  attempts: Attempt[];
  pagination: Pagination;
}

export interface FileNode {
  path: string;
  name: string;
  modifiedTime: string;
  contentLength: number;
  isDir: boolean;
  contentType: string;
  files: FileNode[];
}

export interface FileTreeResponse {
  files: FileNode[];
}

export interface GetGlobalConfigPoliciesResponse {
  configPolicies: Record<string, any> | null;
}

export interface PutGlobalConfigPoliciesRequest {
  workloadType: string;
  configPolicies: string;
}

export interface PutGlobalConfigPoliciesResponse {
  configPolicies: Record<string, any> | null;
}

export interface GetWorkspaceConfigPoliciesResponse {
  configPolicies: Record<string, any> | null;
}

export interface PutWorkspaceConfigPoliciesRequest {
  workspaceId: number;
  workloadType: string;
  configPolicies: string;
}

export interface PutWorkspaceConfigPoliciesResponse {
  configPolicies: Record<string, any> | null;
}

export interface UserWebSetting {
  key: string;
  storagePath: string;
  value: string;
}

export interface GetUserSettingResponse {
  settings: UserWebSetting[];
}

export interface PostUserSettingRequest {
  settings: UserWebSetting[];
}

export interface PatchCheckpointStorage {
  saveExperimentBest?: number;
  saveTrialBest?: number;
  saveTrialLatest?: number;
}

export interface PatchResources {
  maxSlots?: number;
  weight?: number;
  priority?: number;
}

export interface PatchExperiment {
  id: number;
  checkpointStorage?: PatchCheckpointStorage;
  description?: string;
  labels?: string[];
  name?: string;
  notes?: string;
  resources?: PatchResources;
}

export interface PatchExperimentResponse {
  experiment: Experiment | null;
}

export interface WorkloadContainer {
  checkpoint?: CheckpointWorkload;
  training?: MetricsWorkload;
  validation?: MetricsWorkload;
}

export interface GetTrialWorkloadsResponse {
  pagination: Pagination;
  workloads: WorkloadContainer[];
}

export interface GetTrialResponse {
  trial: Trial;
}

export interface DataPoint {
  batches: number;
  time: string;
  epoch: number | null;
  values: Record<string, any> | null;
}

export interface DownsampledMetrics {
  data: DataPoint[];
  group: string;
  type: string;
}

export interface ComparableTrial {
  trial: Trial;
  metrics: DownsampledMetrics[];
}

export interface CompareTrialsResponse {
  trials: ComparableTrial[];
}

export interface Device {
  brand: string;
  id: number;
  type: string;
  uuid: string;
}

export interface Container {
  id: string;
  state: string;
  devices: Device[];
  parent: string;
  permissionDenied: boolean;
}

export interface Notebook {
  description: string;
  id: string;
  jobId: string;
  resourcePool: string;
  startTime: string;
  state: string;
  username: string;
  workspaceId: number;
  container: Container | null;
  displayName: string;
  exitStatus: string;
  serviceAddress: string;
  userId: number;
}

export interface GetNotebooksResponse {
  notebooks: Notebook[];
  pagination: Pagination;
}

export interface GetNotebookResponse {
  notebook: Notebook;
  config: Record<string, any>;
}

export interface NotebookResponse {
  notebook: Notebook;
}

export interface Shell {
  description: string;
  id: string;
  jobId: string;
  resourcePool: string;
  startTime: string;
  state: string;
  username: string;
  workspaceId: number;
  addresses: (Record<string, any>)[];
  agentUserGroup: Record<string, any>;
  container: Container | null;
  displayName: string;
  exitStatus: string;
  privateKey: string;
  publicKey: string;
  hostKey: string;
  userId: number;
}

export interface GetShellsResponse {
  shells: Shell[];
  pagination: Pagination;
}

export interface GetShellResponse {
  shell: Shell;
  config: Record<string, any>;
}

export interface ShellResponse {
  shell: Shell;
}

export interface Tensorboard {
  description: string;
  id: string;
  jobId: string;
  resourcePool: string;
  startTime: string;
  state: string;
  username: string;
  workspaceId: number;
  container: Container | null;
  displayName: string;
  exitStatus: string;
  experimentIds: number[];
  serviceAddress: string;
  trialIds: number[];
  userId: number;
}

export interface GetTensorboardsResponse {
  tensorboards: Tensorboard[];
  pagination: Pagination;
}

export interface GetTensorboardResponse {
  tensorboard: Tensorboard;
  config: Record<string, any>;
}

export interface TensorboardResponse {
  tensorboard: Tensorboard;
}

export interface Command {
  description: string;
  id: string;
  jobId: string;
  resourcePool: string;
  startTime: string;
  state: string;
  username: string;
  workspaceId: number;
  container: Container | null;
  displayName: string;
  exitStatus: string;
  userId: number;
}

export interface GetCommandsResponse {
  commands: Command[];
  pagination: Pagination;
}

export interface GetCommandResponse {
  command: Command;
  config: Record<string, any>;
}

export interface KillCommandResponse {
  command: Command;
}

export interface Allocation {
  allocationId: string;
  slots: number;
  state: string;
  taskId: string;
  endTime: string | null;
  exitReason: string | null;
  isReady: boolean;
  startTime: string | null;
  statusCode: number | null;
  waitingReason: string;
}

export interface Task {
  allocations: Allocation[];
  startTime: string;
  taskId: string;
  taskType: string;
  config: string | null;
  endTime: string | null;
  forkedFrom: string | null;
  noPause: boolean;
  parentId: string | null;
  taskState?: string;
}

export interface GetTaskResponse {
  task: Task;
}

export interface ProxyPortConfig {
  port: number;
  proxyTcp: boolean;
  serviceId: string;
  unauthenticated: boolean;
}

export interface ResourcesSummaryDevices {
  devices: Device[];
}

export interface ResourcesFailure {
  errMsg: string;
  exitCode: number;
  failureType: string;
}

export interface ResourcesStopped {
  failure: ResourcesFailure | null;
}

export interface Address {
  containerIp: string;
  containerPort: number;
  hostIp: string;
  hostPort: number;
}

export interface ResourcesStarted {
  addresses: Address[];
  nativeResourcesId: string;
}

export interface ResourcesSummary {
  agentDevices: Record<string, ResourcesSummaryDevices>;
  allocationId: string;
  containerId: string;
  exited: ResourcesStopped | null;
  resourcesId: string;
  resourcesType: string;
  started: ResourcesStarted | null;
}

export interface AllocationSummary {
  allocationId: string;
  name: string;
  priority: number | null;
  proxyPorts: ProxyPortConfig[];
  registeredTime: string | null;
  resourcePool: string;
  resources: ResourcesSummary[];
  schedulerType: string;
  slotsNeeded: number;
  taskId: string;
}

export interface GetTasksResponse {
  allocationIdToSummary: Record<string, AllocationSummary>;
}

export interface Model {
  id: number;
  name: string;
  description: string;
  metadata: Record<string, any>;
  creationTime: string;
  lastUpdatedTime: string;
  numVersions: number;
  labels: string[];
  username: string;
  userId: number;
  workspaceId: number;
  archived: boolean;
  notes: string;
}

export interface GetModelsResponse {
  models: Model[];
  pagination: Pagination;
}

export interface PostModelRequest {
  name: string;
  description?: string;
  metadata?: Record<string, any>;
  labels?: string[];
  notes?: string;
  workspaceId?: number;
  workspaceName?: string;
}

export interface PostModelResponse {
  model: Model;
}

export interface GetModelResponse {
  model: Model;
}

export interface PatchModel {
  name?: string;
  description?: string;
  metadata?: Record<string, any>;
  labels?: string[];
  notes?: string;
  workspaceId?: number;
  workspaceName?: string;
}

export interface PatchModelResponse {
  model: Model;
}

export interface ModelVersion {
  id: number;
  model: Model;
  checkpoint: Checkpoint;
  version: number;
  creationTime: string;
  lastUpdatedTime: string;
  name: string;
  metadata: Record<string, any>;
  comment: string;
  labels: string[];
  notes: string;
  username: string;
  userId: number;
}

export interface GetModelVersionsResponse {
  model: Model;
  modelVersions: ModelVersion[];
  pagination: Pagination;
}

export interface PostModelVersionRequest {
  modelName?: string;
  checkpointUuid: string;
  name?: string;
  comment?: string;
  metadata?: Record<string, any>;
  labels?: string[];
  notes?: string;
}

export interface PostModelVersionResponse {
  modelVersion: ModelVersion;
}

export interface PatchModelVersion {
  name?: string;
  comment?: string;
  metadata?: Record<string, any>;
  labels?: string[];
  notes?: string;
}

export interface PatchModelVersionResponse {
  modelVersion: ModelVersion;
}

export interface Workspace {
  archived: boolean;
  errorMessage: string;
  id: number;
  immutable: boolean;
  name: string;
  numExperiments: number;
  numProjects: number;
  pinned: boolean;
  state: string;
  userId: number;
  username: string;
  agentUserGroup: AgentUserGroup | null;
  checkpointStorageConfig: Record<string, any> | null;
  defaultAuxPool: string;
  defaultComputePool: string;
  pinnedAt: string | null;
}

export interface GetWorkspacesResponse {
  pagination: Pagination;
  workspaces: Workspace[];
}

export interface ResourcePoolPrioritySchedulerDetail {
  defaultPriority: number;
  k8Priorities: (Record<string, any>)[];
  preemption: boolean;
}

export interface ResourcePoolDetail {
  aws: Record<string, any> | null;
  gcp: Record<string, any> | null;
  priorityScheduler: ResourcePoolPrioritySchedulerDetail | null;
}

export interface QueueStats {
  queuedCount: number;
  scheduledCount: number;
}

export interface ResourcePool {
  agentDockerImage: string;
  agentDockerNetwork: string;
  agentDockerRuntime: string;
  agentFluentImage: string;
  auxContainerCapacity: number;
  auxContainerCapacityPerAgent: number;
  auxContainersRunning: number;
  clusterName: string;
  containerStartupScript: string;
  defaultAuxPool: boolean;
  defaultComputePool: boolean;
  description: string;
  details: ResourcePoolDetail;
  imageId: string;
  instanceType: string;
  location: string;
  masterCertName: string;
  masterUrl: string;
  maxAgentStartingPeriod: number;
  maxAgents: number;
  maxIdleAgentPeriod: number;
  minAgents: number;
  name: string;
  numAgents: number;
  preemptible: boolean;
  resourceManagerMetadata: Record<string, string>;
  schedulerFittingPolicy: string;
  schedulerType: string;
  slotType: string;
  slotsAvailable: number;
  slotsUsed: number;
  startupScript: string;
  type: string;
  accelerator: string;
  slotsPerAgent: number;
  stats: QueueStats | null;
}

export interface GetResourcePoolsResponse {
  pagination: Pagination | null;
  resourcePools: ResourcePool[];
}

export interface DeviceStats {
  disabled: number;
  draining: number;
  total: number;
  states: Record<string, number>;
}

export interface SlotStats {
  brandStats: Record<string, DeviceStats>;
  typeStats: Record<string, DeviceStats>;
}

export interface Slot {
  container: Container | null;
  device: Device | null;
  draining: boolean;
  enabled: boolean;
  id: string;
  health: string;
  resourcePool: string;
  linkGroup?: number;
}

export interface Agent {
  id: string;
  slotStats: SlotStats;
  addresses: string[];
  containers: Record<string, Container>;
  draining: boolean;
  enabled: boolean;
  registeredTime: string | null;
  resourcePools: string[];
  slots: Record<string, Slot>;
  version: string;
  lost?: boolean;
}

export interface GetAgentsResponse {
  agents: Agent[];
  pagination: Pagination | null;
}

export interface Job {
  allocatedSlots: number;
  entityId: string;
  isPreemptible: boolean;
  jobId: string;
  name: string;
  requestedSlots: number;
  resourcePool: string;
  submissionTime: string;
  type: string;
  username: string;
  workspaceId: number;
  priority: number;
  progress: number;
  summary: JobSummary | null;
  userId: number;
  weight: number;
  waitingReason: string;
  estimatedStart: string | null;
  startUnknown: string;
}

export interface LimitedJob {
  allocatedSlots: number;
  isPreemptible: boolean;
  jobId: string;
  requestedSlots: number;
  resourcePool: string;
  type: string;
  workspaceId: number;
  priority: number;
  progress: number;
  summary: JobSummary | null;
  weight: number;
}

export interface RBACJob {
  full?: Job;
  limited?: LimitedJob;
}

export interface GetJobsV2Response {
  jobs: RBACJob[];
  pagination: Pagination;
}

export interface File {
  content: string;
  gid: number;
  mode: number;
  mtime: string;
  path: string;
  type: number;
  uid: number;
}

export interface LaunchNotebookRequest {
  config?: Record<string, any>;
  files?: File[];
  preview?: boolean;
  templateName?: string;
  workspaceId?: number;
}

export interface LaunchNotebookResponse {
  notebook: Notebook;
  config: Record<string, any>;
  warnings: string[];
  remarks: string[];
}

export interface LaunchShellRequest {
  config?: Record<string, any>;
  templateName?: string;
  files?: File[];
  data?: string;
  preview?: boolean;
  workspaceId?: number;
}

export interface LaunchShellResponse {
  shell: Shell;
  config: Record<string, any>;
  warnings: string[];
  remarks: string[];
}

export interface BulkExperimentFilters {
  archived?: boolean;
  description?: string;
  excludedExperimentIds?: number[];
  labels?: string[];
  name?: string;
  projectId?: number;
  states?: string[];
  userIds?: number[];
}

export interface LaunchTensorboardRequest {
  config?: Record<string, any>;
  experimentIds?: number[];
  files?: File[];
  filters?: BulkExperimentFilters;
  preview?: boolean;
  templateName?: string;
  trialIds?: number[];
  workspaceId?: number;
}

export interface LaunchTensorboardResponse {
  tensorboard: Tensorboard;
  config: Record<string, any>;
  warnings: string[];
  remarks: string[];
}

export interface LaunchCommandRequest {
  config?: Record<string, any>;
  templateName?: string;
  files?: File[];
  data?: string;
  preview?: boolean;
  workspaceId?: number;
}

export interface LaunchCommandResponse {
  command: Command;
  config: Record<string, any>;
  warnings: string[];
  remarks: string[];
}

export interface CreateGenericTaskRequest {
  config: string;
  contextDirectory: File[];
  projectId?: number;
  forkedFrom?: string;
  parentId?: string;
  inheritContext?: boolean;
  noPause?: boolean;
  preview?: boolean;
}

export interface CreateGenericTaskResponse {
  taskId: string;
  config: Record<string, any>;
  warnings: string[];
  remarks: string[];
}

export interface GenericTask {
  id: string;
  description: string;
  state: string;
  taskState: string;
  username: string;
  displayName: string;
  userId: number;
  workspaceId: number;
  resourcePool: string;
  startTime: string;
  endTime: string | null;
  exitStatus: string;
  jobId: string;
  parentId: string | null;
  forkedFrom: string | null;
  noPause: boolean;
}

export interface GetGenericTasksResponse {
  tasks: GenericTask[];
  pagination: Pagination;
}

export interface KillGenericTaskRequest {
  taskId: string;
  killFromRoot: boolean;
}

export interface TaskAddressResponse {
  url: string;
  token: string;
}

export interface TaskLinkResponse {
  url: string;
}

export interface CreateExperimentRequest {
  activate?: boolean;
  config?: string;
  modelDefinition?: File[];
  parentId?: number;
  projectId?: number;
  template?: string;
  unmanaged?: boolean;
  validateOnly?: boolean;
}

export interface CreateExperimentResponse {
  config: Record<string, any>;
  experiment: Experiment;
  warnings: string[];
  remarks: string[];
}

export interface ContinueExperimentRequest {
  id: number;
  overrideConfig?: string;
}

export interface ContinueExperimentResponse {
  experiment: Experiment;
  warnings: string[];
  remarks: string[];
}

export interface MoveManyRequest {
  destinationProjectId: number;
  experimentIds: number[];
  filters?: BulkExperimentFilters;
  projectId: number;
}

export interface BulkResult {
  id: number;
  error: string;
}

export interface BulkResponse {
  results: BulkResult[];
}

export interface BulkRequest {
  experimentIds: number[];
  filters?: BulkExperimentFilters;
  projectId: number;
}

export interface QueueControl {
  jobId: string;
  aheadOf?: string;
  behindOf?: string;
  priority?: number;
  resourcePool?: string;
  weight?: number;
}

export interface UpdateJobQueueRequest {
  updates: QueueControl[];
}

export interface UserSecret {
  name: string;
  keys: string[];
  workspaces: string[];
  everywhere: boolean;
}

export interface GetUserSecretsResponse {
  pagination: Pagination | null;
  secrets: UserSecret[];
}

export interface PostWorkspaceRequest {
  name: string;
  agentUserGroup?: AgentUserGroup;
  checkpointStorageConfig?: Record<string, any>;
  defaultAuxPool?: string;
  defaultComputePool?: string;
}

export interface PostWorkspaceResponse {
  workspace: Workspace;
  namespaceBindings: Record<string, Record<string, any>>;
}

export interface GetWorkspaceResponse {
  workspace: Workspace;
}

export interface PatchWorkspace {
  agentUserGroup?: AgentUserGroup;
  checkpointStorageConfig?: Record<string, any>;
  defaultAuxPool?: string;
  defaultAuxResourcePool?: string;
  defaultComputePool?: string;
  defaultComputeResourcePool?: string;
  name?: string;
}

export interface PatchWorkspaceResponse {
  workspace: Workspace;
  namespaceBindings: Record<string, Record<string, any>>;
}

export interface DeleteWorkspaceResponse {
  completed: boolean;
}

export interface Note {
  contents: string;
  name: string;
}

export interface Project {
  archived: boolean;
  errorMessage: string;
  id: number;
  immutable: boolean;
  key: string;
  name: string;
  notes: Note[];
  numActiveExperiments: number;
  numExperiments: number;
  numRuns: number;
  state: string;
  userId: number;
  username: string;
  workspaceId: number;
  description: string;
  lastExperimentStartedAt: string | null;
  workspaceName: string;
}

export interface GetWorkspaceProjectsResponse {
  pagination: Pagination;
  projects: Project[];
}

export interface PostProjectRequest {
  name: string;
  workspaceId: number;
  description?: string;
  key?: string;
}

export interface PostProjectResponse {
  project: Project;
}

export interface GetProjectResponse {
  project: Project;
}

export interface PatchProject {
  description?: string;
  key?: string;
  name?: string;
}

export interface PatchProjectResponse {
  project: Project;
}

export interface DeleteProjectResponse {
  completed: boolean;
}

export interface MoveProjectRequest {
  destinationWorkspaceId: number;
  projectId: number;
}

export interface PutProjectNotesRequest {
  notes: Note[];
  projectId: number;
}

export interface PutProjectNotesResponse {
  notes: Note[];
}

export interface ProjectColumn {
  column: string;
  location: string;
  type: string;
  displayName: string;
}

export interface GetProjectColumnsResponse {
  columns: ProjectColumn[];
}

export interface PostUserRequest {
  isHashed?: boolean;
  password?: string;
  user?: User;
}

export interface PostUserResponse {
  user: User | null;
}

export interface PatchUser {
  active?: boolean;
  admin?: boolean;
  agentUserGroup?: AgentUserGroup;
  displayName?: string;
  isHashed?: boolean;
  oldPassword?: string;
  password?: string;
  remote?: boolean;
  username?: string;
}

export interface PatchUserResponse {
  user: User;
}

export interface UserFilters {
  name?: string;
  admin?: boolean;
}

export interface PatchUsersRequest {
  userIds: number[];
  activate: boolean;
  filters?: UserFilters;
}

export interface UserActionResult {
  error: string;
  id: number;
}

export interface PatchUsersResponse {
  results: UserActionResult[];
}

export interface TokenInfo {
  id: number;
  userId: number;
  description: string;
  createdAt: string | null;
  expiry: string | null;
  revoked: boolean;
  tokenType: string;
  readOnly: boolean;
  lastUsedAt: string | null;
}

export interface GetAccessTokensResponse {
  pagination: Pagination | null;
  tokenInfo: TokenInfo[];
}

export interface PostAccessTokenRequest {
  userId: number;
  lifespan?: string;
  description?: string;
  readOnly?: boolean;
}

export interface PostAccessTokenResponse {
  token: string;
  tokenId: number;
}

export interface PatchAccessTokenRequest {
  tokenId: number;
  description?: string;
  setRevoked?: boolean;
}

export interface PatchAccessTokenResponse {
  tokenInfo: TokenInfo | null;
}

export interface Trigger {
  id: number;
  triggerType: string;
  condition: Record<string, any> | null;
  webhookId: number;
}

export interface Webhook {
  id: number;
  url: string;
  triggers: Trigger[];
  webhookType: string;
  name: string;
  workspaceId: number;
  mode: string;
}

export interface GetWebhooksResponse {
  webhooks: Webhook[];
}

export interface PostWebhookResponse {
  webhook: Webhook;
}

export interface PatchWebhook {
  url: string;
}

export interface TestWebhookResponse {
  completed: boolean;
}

export interface WebhookDelivery {
  id: string;
  eventId: string;
  eventType: string;
  event: Record<string, any>;
  state: string;
  tries: number;
  status: number;
  error: string;
  createdTime: string;
  nextTime: string | null;
  endedTime: string | null;
}

export interface GetWebhookDeliveriesResponse {
  deliveries: WebhookDelivery[];
}

export interface RedeliverWebhookResponse {
  id: string;
}

export interface Template {
  config: Record<string, any>;
  name: string;
  workspaceId: number;
  source?: string;
}

export interface GetTemplatesResponse {
  pagination: Pagination;
  templates: Template[];
}

export interface TemplateResponse {
  template: Template;
}

export interface PatchTemplateNameRequest {
  newName: string;
  oldName: string;
}

export interface GetClusterMessageResponse {
  clusterMessage: ClusterMessage | null;
}

export interface SetClusterMessageRequest {
  message: string;
  startTime: string | null;
  endTime: string | null;
  duration: string | null;
}

export interface DeviceMeasurement {
  uuid: string;
  temperatureC: number | null;
  utilization: number | null;
  memoryUsedMib: number | null;
  memoryTotalMib: number | null;
  powerWatts: number | null;
  powerLimitWatts: number | null;
  uncorrectedErrors: number | null;
}

export interface NodeMeasurements {
  devices: DeviceMeasurement[];
}

export interface AuditEntry {
  id: string;
  time: string;
  endTime: string | null;
  lastTime?: string;
  times: number;
  userId: number | null;
  username: string;
  credential: string;
  address: string;
  method: string;
  path: string;
  verb: string;
  kind: string;
  object: string;
  workspaceId: number | null;
  names?: Record<string, any>;
  status: number | null;
  error?: string;
}

export interface AuditResponse {
  entries: AuditEntry[];
  next: string | null;
}

export interface FoundLine {
  id: string;
  level: string;
  timestamp: string;
  log: string;
  rankId: number | null;
}

export interface FoundLog {
  taskId: string;
  taskType: string;
  name: string;
  username: string;
  experimentId: number | null;
  trialId: number | null;
  endTime: string | null;
  lines: FoundLine[];
  more: boolean;
}

export interface SearchLogsResponse {
  found: FoundLog[];
  next: string | null;
  searchedTo: string | null;
}

export interface ResourceAllocationAggregatedEntry {
  periodStart: string;
  period: string;
  seconds: number;
  byUsername: Record<string, number>;
  byExperimentLabel: Record<string, number>;
  byResourcePool: Record<string, number>;
  byWorkspace: Record<string, number>;
  byProject: Record<string, number>;
  byTaskType: Record<string, number>;
  byGpuModel: Record<string, number>;
}

export interface ResourceAllocationAggregatedResponse {
  resourceEntries: ResourceAllocationAggregatedEntry[];
}

export interface Session {
  id: number;
  userId: number;
  username: string;
  createdAt: string | null;
  expiresAt: string | null;
  lastUsedAt: string | null;
  address: string;
  agent: string;
  provider: string;
  current: boolean;
}

export interface GetSessionsResponse {
  sessions: Session[];
  pagination: Pagination | null;
}

export interface GetGroupsRequest {
  userId?: number;
  name?: string;
  offset?: number;
  limit: number;
}

export interface Group {
  groupId: number;
  name: string;
  origin: string;
}

export interface GroupSearchResult {
  group: Group;
  numMembers: number;
}

export interface GetGroupsResponse {
  groups: GroupSearchResult[];
  pagination: Pagination | null;
}

export interface GroupDetails {
  groupId: number;
  name: string;
  origin: string;
  users: User[];
}

export interface GetGroupResponse {
  group: GroupDetails;
}

export interface CreateGroupRequest {
  name: string;
  addUsers?: number[];
}

export interface CreateGroupResponse {
  group: GroupDetails;
}

export interface UpdateGroupRequest {
  groupId: number;
  name?: string;
  addUsers?: number[];
  removeUsers?: number[];
}

export interface UpdateGroupResponse {
  group: GroupDetails;
}

export interface ListRolesRequest {
  offset?: number;
  limit: number;
}

export interface ScopeTypeMask {
  cluster: boolean;
  workspace: boolean;
}

export interface Permission {
  id: string;
  name: string;
  scopeTypeMask: ScopeTypeMask | null;
}

export interface Role {
  roleId: number;
  name: string;
  permissions: Permission[];
  scopeTypeMask: ScopeTypeMask | null;
}

export interface ListRolesResponse {
  roles: Role[];
  pagination: Pagination;
}

export interface GetRolesByIDRequest {
  roleIds?: number[];
}

export interface RoleAssignment {
  role: Role;
  scopeWorkspaceId: number | null;
  scopeCluster: boolean;
}

export interface GroupRoleAssignment {
  groupId: number;
  roleAssignment: RoleAssignment;
}

export interface UserRoleAssignment {
  userId: number;
  roleAssignment: RoleAssignment;
}

export interface RoleWithAssignments {
  role: Role | null;
  groupRoleAssignments: GroupRoleAssignment[];
  userRoleAssignments: UserRoleAssignment[];
  everybodysRoles?: RoleAssignment[];
}

export interface GetRolesByIDResponse {
  roles: RoleWithAssignments[];
}

export interface GetGroupsAndUsersAssignedToWorkspaceResponse {
  groups: GroupDetails[];
  usersAssignedDirectly: User[];
  assignments: RoleWithAssignments[];
}

export interface RoleAssignmentSummary {
  roleId: number;
  scopeWorkspaceIds: number[];
  scopeCluster: boolean;
}

export interface GetPermissionsSummaryResponse {
  roles: Role[];
  assignments: RoleAssignmentSummary[];
}

export interface AssignRolesRequest {
  groupRoleAssignments?: GroupRoleAssignment[];
  userRoleAssignments?: UserRoleAssignment[];
  everybodysRoles?: RoleAssignment[];
}

export interface RemoveAssignmentsRequest {
  groupRoleAssignments?: GroupRoleAssignment[];
  userRoleAssignments?: UserRoleAssignment[];
  everybodysRoles?: RoleAssignment[];
}

export interface Quota {
  id: number;
  workspaceId: number;
  workspaceName: string;
  projectId: number;
  projectName: string;
  userId: number;
  username: string;
  resourcePool: string;
  measure: string;
  period: string;
  soft: number | null;
  hard: number | null;
  used: number;
  periodStart: string | null;
  periodEnd: string | null;
  measuredTime: string | null;
}

export interface GetQuotasResponse {
  quotas: Quota[];
  pagination: Pagination | null;
}

export interface PutQuotaRequest {
  workspaceId: number;
  projectId: number;
  userId: number;
  resourcePool: string;
  measure: string;
  period: string;
  soft: number | null;
  hard: number | null;
}

export interface PutQuotaResponse {
  quota: Quota;
}

export interface ListWorkspacesBoundToRPResponse {
  pagination: Pagination | null;
  workspaceIds: number[];
}

export interface PoolBindings {
  resourcePoolName: string;
  workspaceIds?: number[];
  workspaceNames?: string[];
}

export interface ListRPsBoundToWorkspaceResponse {
  pagination: Pagination | null;
  resourcePools: string[];
}

export interface MetricsReport {
  archived: boolean;
  endTime: string;
  group: string;
  id: number;
  metrics: Record<string, any>;
  totalBatches: number;
  trialId: number;
  trialRunId: number;
}

export interface TaskLogsResponse {
  id: string;
  level: string;
  log: string;
  message: string;
  taskId: string;
  timestamp: string;
  agentId?: string;
  allocationId?: string;
  containerId?: string;
  rankId?: number;
  source?: string;
  stdtype?: string;
}

export interface TrialProfilerMetricLabels {
  trialId: number;
  name: string;
  agentId: string;
  gpuUuid: string;
  metricType: string;
}

export interface GetTrialProfilerAvailableSeriesResponse {
  labels: TrialProfilerMetricLabels[];
}

export interface TrialProfilerMetricsBatch {
  values: number[];
  batches: number[];
  timestamps: string[];
  labels: TrialProfilerMetricLabels;
}

export interface GetTrialProfilerMetricsResponse {
  batch: TrialProfilerMetricsBatch;
}
