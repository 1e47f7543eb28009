package v1

type FittingPolicy string

const (
	FittingPolicyUnspecified FittingPolicy = "FITTING_POLICY_UNSPECIFIED"
	FittingPolicyBest        FittingPolicy = "FITTING_POLICY_BEST"
	FittingPolicyWorst       FittingPolicy = "FITTING_POLICY_WORST"
	FittingPolicyKubernetes  FittingPolicy = "FITTING_POLICY_KUBERNETES"
	FittingPolicySlurm       FittingPolicy = "FITTING_POLICY_SLURM"
	FittingPolicyPbs         FittingPolicy = "FITTING_POLICY_PBS"
)

type GetResourcePoolsResponse struct {
	Pagination    *Pagination    `json:"pagination"`
	ResourcePools []ResourcePool `json:"resourcePools"`
}

type QueueStats struct {
	QueuedCount    int `json:"queuedCount"`
	ScheduledCount int `json:"scheduledCount"`
}

type ResourcePool struct {
	AgentDockerImage             string             `json:"agentDockerImage"`
	AgentDockerNetwork           string             `json:"agentDockerNetwork"`
	AgentDockerRuntime           string             `json:"agentDockerRuntime"`
	AgentFluentImage             string             `json:"agentFluentImage"`
	AuxContainerCapacity         int                `json:"auxContainerCapacity"`
	AuxContainerCapacityPerAgent int                `json:"auxContainerCapacityPerAgent"`
	AuxContainersRunning         int                `json:"auxContainersRunning"`
	ClusterName                  string             `json:"clusterName"`
	ContainerStartupScript       string             `json:"containerStartupScript"`
	DefaultAuxPool               bool               `json:"defaultAuxPool"`
	DefaultComputePool           bool               `json:"defaultComputePool"`
	Description                  string             `json:"description"`
	Details                      ResourcePoolDetail `json:"details"`
	ImageID                      string             `json:"imageId"`
	InstanceType                 string             `json:"instanceType"`
	Location                     string             `json:"location"`
	MasterCertName               string             `json:"masterCertName"`
	MasterURL                    string             `json:"masterUrl"`
	MaxAgentStartingPeriod       float64            `json:"maxAgentStartingPeriod"`
	MaxAgents                    int                `json:"maxAgents"`
	MaxIdleAgentPeriod           float64            `json:"maxIdleAgentPeriod"`
	MinAgents                    int                `json:"minAgents"`
	Name                         string             `json:"name"`
	NumAgents                    int                `json:"numAgents"`
	Preemptible                  bool               `json:"preemptible"`
	ResourceManagerMetadata      map[string]string  `json:"resourceManagerMetadata"`
	SchedulerFittingPolicy       FittingPolicy      `json:"schedulerFittingPolicy"`
	SchedulerType                SchedulerType      `json:"schedulerType"`
	SlotType                     DeviceType         `json:"slotType"`
	SlotsAvailable               int                `json:"slotsAvailable"`
	SlotsUsed                    int                `json:"slotsUsed"`
	StartupScript                string             `json:"startupScript"`
	Type                         ResourcePoolType   `json:"type"`
	Accelerator                  string             `json:"accelerator"`
	SlotsPerAgent                int                `json:"slotsPerAgent"`
	Stats                        *QueueStats        `json:"stats"`
}

type ResourcePoolDetail struct {
	AWS               Struct                               `json:"aws,null"` // always null
	GCP               Struct                               `json:"gcp,null"`
	PriorityScheduler *ResourcePoolPrioritySchedulerDetail `json:"priorityScheduler"`
}

type ResourcePoolPrioritySchedulerDetail struct {
	DefaultPriority int      `json:"defaultPriority"`
	K8Priorities    []Struct `json:"k8Priorities"` // for Kubernetes, always empty
	Preemption      bool     `json:"preemption"`
}

type ResourcePoolType string

const (
	ResourcePoolTypeUnspecified ResourcePoolType = "RESOURCE_POOL_TYPE_UNSPECIFIED"
	ResourcePoolTypeAws         ResourcePoolType = "RESOURCE_POOL_TYPE_AWS"
	ResourcePoolTypeGcp         ResourcePoolType = "RESOURCE_POOL_TYPE_GCP"
	ResourcePoolTypeStatic      ResourcePoolType = "RESOURCE_POOL_TYPE_STATIC"
	ResourcePoolTypeK8s         ResourcePoolType = "RESOURCE_POOL_TYPE_K8S"
)

type SchedulerType string

const (
	SchedulerTypeUnspecified SchedulerType = "SCHEDULER_TYPE_UNSPECIFIED"
	SchedulerTypePriority    SchedulerType = "SCHEDULER_TYPE_PRIORITY"
	SchedulerTypeFairShare   SchedulerType = "SCHEDULER_TYPE_FAIR_SHARE"
	SchedulerTypeRoundRobin  SchedulerType = "SCHEDULER_TYPE_ROUND_ROBIN"
	SchedulerTypeKubernetes  SchedulerType = "SCHEDULER_TYPE_KUBERNETES"
	SchedulerTypeSlurm       SchedulerType = "SCHEDULER_TYPE_SLURM"
	SchedulerTypePbs         SchedulerType = "SCHEDULER_TYPE_PBS"
)

// PoolBindings names a pool and workspaces, by names or by ids.
type PoolBindings struct {
	ResourcePoolName string   `json:"resourcePoolName"`
	WorkspaceIDs     []int    `json:"workspaceIds,omitempty"`
	WorkspaceNames   []string `json:"workspaceNames,omitempty"`
}

type ListWorkspacesBoundToRPResponse struct {
	Pagination   *Pagination `json:"pagination"`
	WorkspaceIDs []int       `json:"workspaceIds"`
}

type ListRPsBoundToWorkspaceResponse struct {
	Pagination    *Pagination `json:"pagination"`
	ResourcePools []string    `json:"resourcePools"`
}
