// The parts of /api/v1 that the pages use. 64-bit integers travel as strings.

export interface User {
  id: number;
  username: string;
  displayName: string;
  admin: boolean;
  active: boolean;
}

export interface Pagination {
  total: number;
  startIndex: number;
  endIndex: number;
}

export interface Experiment {
  id: number;
  jobId: string;
  name: string;
  description: string;
  labels: string[];
  notes: string;
  state: string;
  archived: boolean;
  username: string;
  displayName: string;
  userId: number;
  projectName: string;
  workspaceName: string;
  resourcePool: string;
  progress: number | null;
  startTime: string;
  endTime: string | null;
  duration: number | null;
  numTrials: number;
  trialIds: number[];
  searcherType: string;
  searcherMetric: string;
  bestTrialId: number | null;
  bestTrialSearcherMetric: number | null;
  checkpointCount: number;
  checkpointSize: string;
  config: Record<string, any>;
  originalConfig: string;
  forkedFrom: number | null;
  error: string;
}

export interface Values {
  avgMetrics: Record<string, unknown>;
}

export interface MetricsWorkload {
  metrics: Values;
  totalBatches: number;
  endTime: string | null;
}

export interface Trial {
  id: number;
  experimentId: number;
  hparams: Record<string, unknown>;
  state: string;
  restarts: number;
  startTime: string;
  endTime: string | null;
  totalBatchesProcessed: number;
  bestValidation: MetricsWorkload | null;
  latestValidation: MetricsWorkload | null;
  bestCheckpoint: { uuid: string; totalBatches: number } | null;
  checkpointCount: number;
  totalCheckpointSize: string;
  searcherMetricValue: number | null;
  summaryMetrics: Record<string, Record<string, Summary>> | null;
  wallClockTime: number;
  runnerState: string;
  logPolicyMatched: string | null;
  taskId: string;
  error: string;
  waitingReason: string;
}

export interface Summary {
  count: number;
  last?: number;
  max?: number;
  mean?: number;
  min?: number;
  type: string;
}

export interface Checkpoint {
  uuid: string;
  state: string;
  reportTime: string | null;
  resources: Record<string, string>;
  metadata: Record<string, unknown>;
  training: {
    trialId: number | null;
    experimentId: number | null;
    searcherMetric: number | null;
    validationMetrics: Values | null;
  };
}

export interface Job {
  jobId: string;
  entityId: string;
  type: string;
  name: string;
  username: string;
  resourcePool: string;
  submissionTime: string;
  requestedSlots: number;
  allocatedSlots: number;
  priority: number;
  progress: number;
  isPreemptible: boolean;
  summary: { jobsAhead: number; state: string } | null;
  waitingReason: string;
}

export interface Pool {
  name: string;
  description: string;
  slotType: string;
  slotsAvailable: number;
  slotsUsed: number;
  numAgents: number;
  slotsPerAgent: number;
  auxContainersRunning: number;
  auxContainerCapacity: number;
  defaultComputePool: boolean;
  defaultAuxPool: boolean;
  accelerator: string;
  preemptible: boolean;
  stats: { queuedCount: number; scheduledCount: number } | null;
}

export interface Device {
  id: number;
  brand: string;
  uuid: string;
  type: string;
}

export interface Container {
  id: string;
  state: string;
  devices: Device[];
}

export interface Slot {
  id: string;
  enabled: boolean;
  draining: boolean;
  device: Device | null;
  container: Container | null;
  health: string; // what is wrong with it
  resourcePool: string;
}

export interface Agent {
  id: string;
  enabled: boolean;
  draining: boolean;
  addresses: string[];
  resourcePools: string[];
  registeredTime: string | null;
  version: string;
  slots: Record<string, Slot>;
  containers: Record<string, Container>;
}

// What commands, notebooks, shells and TensorBoards have in common.
export interface Task {
  id: string;
  jobId: string;
  description: string;
  resourcePool: string;
  startTime: string;
  state: string;
  username: string;
  displayName: string;
  exitStatus: string;
  serviceAddress: string;
  experimentIds?: number[];
  trialIds?: number[];
}

export interface AllocationSummary {
  allocationId: string;
  taskId: string;
  name: string;
  priority: number | null;
  registeredTime: string | null;
  resourcePool: string;
  slotsNeeded: number;
  resources: { containerId: string; allocationId: string; agentDevices: Record<string, { devices: Device[] }> }[];
}

export interface Allocation {
  allocationId: string;
  taskId: string;
  state: string;
  isReady: boolean;
  startTime: string | null;
  endTime: string | null;
  exitReason: string | null;
  statusCode: number | null;
  slots: number;
  waitingReason: string;
}

export interface LogLine {
  id: string;
  level: string;
  log: string;
  timestamp: string;
  rankId?: number;
  agentId?: string;
  stdtype?: string;
}

export interface DataPoint {
  batches: number;
  time: string;
  values: Record<string, number | string> | null;
}

export interface MetricsReport {
  trialId: number;
  group: string;
  totalBatches: number;
  endTime: string;
  metrics: Record<string, unknown>;
}

export interface MasterInfo {
  cluster_name: string;
  version: string;
  detent_version: string;
}

export const ended = (state: string): boolean =>
  ['COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED', 'TERMINATED'].includes(bare(state));

// STATE_RUNNING → RUNNING
export const bare = (state: string): string => state.replace(/^(STATE|TYPE)_/, '');
