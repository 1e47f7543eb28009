package v1

import "time"

// The endpoints of agents.
var (
	ListPools = Endpoint[GetListRequest, GetResourcePoolsResponse]{Method: "GET", Path: "/resource-pools", Access: ByBoth, Object: KindPool, Verb: View, List: true,
		Summary: "List resource pools"}
	ListAgents = Endpoint[GetAgentsRequest, GetAgentsResponse]{Method: "GET", Path: "/agents", Access: ByBoth, Object: KindAgent, Verb: View, List: true,
		Summary: "List nodes"}
	GetAgent = Endpoint[None, AgentResponse]{Method: "GET", Path: "/agents/:id", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "Get a node"}
	EnableAgent = Endpoint[None, AgentResponse]{Method: "POST", Path: "/agents/:id/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Enable a node: the scheduler places work on it again"}
	DisableAgent = Endpoint[DisableRequest, AgentResponse]{Method: "POST", Path: "/agents/:id/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Disable a node: the scheduler places no new work on it and preempts its tasks; with drain, its tasks run to their end"}
	MeasureNode = Endpoint[None, NodeMeasurements]{Method: "GET", Path: "/detent/agents/:id/measurements", Access: ByUsers, Object: KindAgent, Verb: View,
		Summary: "Get what the devices of a node measure now: temperature, use, memory, power"}
	ListNodeAttempts = Endpoint[GetListRequest, ListAttemptsResponse]{Method: "GET", Path: "/detent/agents/:id/attempts", Access: ByUsers, Object: KindAgent, Verb: View,
		Summary: "List the attempts that ran or run on a node, the newest first"}
	ListSlots = Endpoint[None, SlotsResponse]{Method: "GET", Path: "/agents/:id/slots", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "List the slots of a node"}
	GetSlot = Endpoint[None, SlotResponse]{Method: "GET", Path: "/agents/:id/slots/:slot", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "Get a slot"}
	EnableSlot = Endpoint[None, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:slot/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Enable a slot: the scheduler places work on it again"}
	DisableSlot = Endpoint[DisableRequest, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:slot/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Disable a slot: the scheduler places no new work on it and preempts its task; with drain, its task runs to its end"}
	GetPoolSlot = Endpoint[None, SlotResponse]{Method: "GET", Path: "/agents/:id/slots/:pool/:slot", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "Get a slot by its pool and number"}
	EnablePoolSlot = Endpoint[None, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:pool/:slot/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Enable a slot by its pool and number"}
	DisablePoolSlot = Endpoint[DisableRequest, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:pool/:slot/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Disable a slot by its pool and number"}
)

// The endpoints of the bindings of pools to workspaces.
var (
	ListPoolWorkspaces = Endpoint[GetListRequest, ListWorkspacesBoundToRPResponse]{Method: "GET", Path: "/resource-pools/:pool/workspace-bindings", Access: ByBoth, Object: KindPool, Verb: View, List: true,
		Summary: "List the workspaces to which a resource pool is bound"}
	BindPool = Endpoint[PoolBindings, None]{Method: "POST", Path: "/resource-pools/:pool/workspace-bindings", Access: ByUsers, Object: KindPool, Verb: Administer,
		Summary: "Bind a resource pool to more workspaces"}
	UnbindPool = Endpoint[PoolBindings, None]{Method: "DELETE", Path: "/resource-pools/:pool/workspace-bindings", Access: ByUsers, Object: KindPool, Verb: Administer, Again: true,
		Summary: "Remove bindings of a resource pool; without any it is open to all workspaces"}
	ReplacePoolBindings = Endpoint[PoolBindings, None]{Method: "PUT", Path: "/resource-pools/:pool/workspace-bindings", Access: ByUsers, Object: KindPool, Verb: Administer, Again: true,
		Summary: "Bind a resource pool to exactly these workspaces"}
	ListWorkspacePools = Endpoint[GetListRequest, ListRPsBoundToWorkspaceResponse]{Method: "GET", Path: "/workspaces/:id/available-resource-pools", Access: ByBoth, Object: KindWorkspace, Verb: View,
		Summary: "List the resource pools that a workspace may use"}
)

type ContainerState string

const (
	ContainerStateAssigned ContainerState = "STATE_ASSIGNED"
	ContainerStateRunning  ContainerState = "STATE_RUNNING"
)

type DeviceType string

const (
	DeviceTypeCpu  DeviceType = "TYPE_CPU"
	DeviceTypeCuda DeviceType = "TYPE_CUDA"
	DeviceTypeRocm DeviceType = "TYPE_ROCM"
)

type Agent struct {
	ID             string               `json:"id"`
	SlotStats      SlotStats            `json:"slotStats"`
	Addresses      []string             `json:"addresses"`
	Containers     map[string]Container `json:"containers"`
	Draining       bool                 `json:"draining"`
	Enabled        bool                 `json:"enabled"`
	RegisteredTime *time.Time           `json:"registeredTime"`
	ResourcePools  []string             `json:"resourcePools"`
	Slots          map[string]Slot      `json:"slots"`
	Version        string               `json:"version"`
	Lost           bool                 `json:"lost,omitempty"` // Nomad does not reach it
}

type Container struct {
	ID               string         `json:"id"`
	State            ContainerState `json:"state"`
	Devices          []Device       `json:"devices"`
	Parent           string         `json:"parent"`
	PermissionDenied bool           `json:"permissionDenied"`
}

type Device struct {
	Brand string     `json:"brand"`
	ID    int        `json:"id"`
	Type  DeviceType `json:"type"`
	UUID  string     `json:"uuid"`
}

type DeviceStats struct {
	Disabled int            `json:"disabled"`
	Draining int            `json:"draining"`
	Total    int            `json:"total"`
	States   map[string]int `json:"states"`
}

type GetAgentsResponse struct {
	Agents     []Agent     `json:"agents"`
	Pagination *Pagination `json:"pagination"`
}

// Slot is a slot of a node. Three fields are not Determined's: Health, the reason why a slot is
// unhealthy, ResourcePool and LinkGroup.
type Slot struct {
	Container    *Container `json:"container"` // null: the slot is free
	Device       *Device    `json:"device"`
	Draining     bool       `json:"draining"`
	Enabled      bool       `json:"enabled"`
	ID           string     `json:"id"`
	Health       string     `json:"health"`
	ResourcePool string     `json:"resourcePool"`
	// LinkGroup is the number of the group of the node's slots that NVLink connects with each other, or else a PCIe switch or a
	// processor; it is absent for a slot in no group.
	LinkGroup int `json:"linkGroup,omitempty"`
}

type SlotStats struct {
	BrandStats map[string]DeviceStats `json:"brandStats"`
	TypeStats  map[string]DeviceStats `json:"typeStats"`
}

// NodeMeasurements has what the devices of a node measure now. Determined has no such message.
type NodeMeasurements struct {
	Devices []DeviceMeasurement `json:"devices"`
}

// DeviceMeasurement is what a device measures now; null for what its plugin does not report.
type DeviceMeasurement struct {
	UUID              string   `json:"uuid"`
	TemperatureC      *int     `json:"temperatureC"`
	Utilization       *int     `json:"utilization"` // percent
	MemoryUsedMiB     *int     `json:"memoryUsedMib"`
	MemoryTotalMiB    *int     `json:"memoryTotalMib"`
	PowerWatts        *float64 `json:"powerWatts"`
	PowerLimitWatts   *float64 `json:"powerLimitWatts"`
	UncorrectedErrors *int     `json:"uncorrectedErrors"` // of its memory, since the last reset
}

// AgentResponse has one node.
type AgentResponse struct {
	Agent Agent `json:"agent"`
}

// DisableRequest disables a node or a slot. With Drain, running tasks continue to their end; without it,
// the master preempts trials and kills other tasks.
type DisableRequest struct {
	Drain bool `json:"drain"`
}

// SlotsResponse lists the slots of a node.
type SlotsResponse struct {
	Slots []Slot `json:"slots"`
}

// SlotResponse has one slot.
type SlotResponse struct {
	Slot Slot `json:"slot"`
}

type FittingPolicy string

const (
	FittingPolicyBest  FittingPolicy = "FITTING_POLICY_BEST"
	FittingPolicyWorst FittingPolicy = "FITTING_POLICY_WORST"
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

const ResourcePoolTypeStatic ResourcePoolType = "RESOURCE_POOL_TYPE_STATIC"

type SchedulerType string

const (
	SchedulerTypePriority   SchedulerType = "SCHEDULER_TYPE_PRIORITY"
	SchedulerTypeFairShare  SchedulerType = "SCHEDULER_TYPE_FAIR_SHARE"
	SchedulerTypeRoundRobin SchedulerType = "SCHEDULER_TYPE_ROUND_ROBIN"
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
