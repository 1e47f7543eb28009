package v1

import "time"

// The endpoints of allocations.
var (
	ClaimAllocation = Endpoint[ClaimRequest, ClaimResponse]{Method: "POST", Path: "/detent/allocations/:id/claim", Access: Public,
		Summary: "Claim a member of an attempt: exchange a workload identity for an allocation token and the specification of the task"}
	ReportLogMatches = Endpoint[LogMatchesRequest, None]{Method: "POST", Path: "/detent/allocations/:id/members/:rank/log_matches", Access: ByTasks, Object: KindMember, Verb: Report, After: true,
		Summary: "Report log lines that match log policies"}
	ReportMemberExit = Endpoint[MemberExitRequest, None]{Method: "POST", Path: "/detent/allocations/:id/members/:rank/exit", Access: ByTasks, Object: KindMember, Verb: Report, After: true,
		Summary: "Report how a member's program ended"}
	MemberRendezvous = Endpoint[None, MemberRendezvousResponse]{Method: "POST", Path: "/detent/allocations/:id/members/:rank/rendezvous", Access: ByTasks, Object: KindMember, Verb: Report, Waits: true,
		Summary: "Wait for the other members of an attempt, and get their addresses"}
	AllocationRendezvous = Endpoint[None, AllocationRendezvousInfoResponse]{Method: "GET", Path: "/allocations/:id/resources/:resources/rendezvous", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true,
		Summary: "Wait for the other members of an attempt, and get their addresses"}
	AllGather = Endpoint[AllocationAllGatherRequest, AllocationAllGatherResponse]{Method: "POST", Path: "/allocations/:id/all_gather", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true,
		Summary: "Exchange data with the other members of an attempt"}
	NotifyContainerRunning = Endpoint[NotifyContainerRunningRequest, NotifyContainerRunningResponse]{Method: "POST", Path: "/allocations/:id/notify_container_running", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true,
		Summary: "Tell the other members of an attempt that a container runs"}
	AwaitPreemption = Endpoint[AwaitPreemptionRequest, PreemptionSignalResponse]{Method: "GET", Path: "/allocations/:id/signals/preemption", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true,
		Summary: "Wait until an attempt is preempted"}
	AcknowledgePreemption = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/signals/ack_preemption", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Acknowledge a preemption: the program will save a checkpoint and exit"}
	AskForPreemption = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/signals/pending_preemption", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Request a preemption, because the node is about to stop"}
	ReportReady = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/ready", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Report that a program is ready"}
	ReportWaiting = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/waiting", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Report that a program waits for data to show"}
	ReportProxyAddress = Endpoint[PostAllocationProxyAddressRequest, None]{Method: "POST", Path: "/allocations/:id/proxy_address", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Report the address at which the proxy reaches a program"}
	ReportAccelerators = Endpoint[PostAllocationAcceleratorDataRequest, None]{Method: "POST", Path: "/allocations/:id/acceleratorData", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Report the accelerators of a member"}
	GetTaskAccelerators = Endpoint[None, GetTaskAcceleratorDataResponse]{Method: "GET", Path: "/tasks/:id/acceleratorData", Access: ByBoth, Object: KindTask, Verb: View,
		Summary: "List the accelerators that the attempts of a task have reported"}
	ReportDaemon = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/resources/:resources/daemon", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Report that a member is a daemon: the attempt ends without waiting for it"}
	WatchAllocation = Endpoint[WatchRequest, WatchResponse]{Method: "GET", Path: "/detent/allocations/:id/watch", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true, After: true,
		Summary: "Wait until an attempt must end, or is preempted"}
	CheckVisitors = Endpoint[VisitorsRequest, VisitorsResponse]{Method: "POST", Path: "/detent/allocations/:id/visitors", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Find which visitors, who are connected to a task through an ingress, may not enter it any more"}
	GetAllocation = Endpoint[None, AllocationResponse]{Method: "GET", Path: "/allocations/:id", Access: ByBoth, Object: KindAllocation, Verb: View,
		Summary: "Get an attempt"}
)

type AcceleratorData struct {
	AcceleratorType  *string  `json:"acceleratorType,omitempty"`
	AcceleratorUUIDs []string `json:"acceleratorUuids,omitempty"`
	AllocationID     *string  `json:"allocationId,omitempty"`
	ContainerID      *string  `json:"containerId,omitempty"`
	NodeName         *string  `json:"nodeName,omitempty"`
	ResourcePool     *string  `json:"resourcePool,omitempty"`
	TaskID           *string  `json:"taskId,omitempty"`
}

// GetTaskAcceleratorDataResponse is a message of the wire.
type GetTaskAcceleratorDataResponse struct {
	AcceleratorData []AcceleratorData `json:"acceleratorData"`
}

type Allocation struct {
	AllocationID string     `json:"allocationId"`
	Slots        int        `json:"slots"`
	State        TaskState  `json:"state"`
	TaskID       string     `json:"taskId"`
	EndTime      *time.Time `json:"endTime"`
	ExitReason   *string    `json:"exitReason"`
	IsReady      bool       `json:"isReady"`
	StartTime    *time.Time `json:"startTime"`
	StatusCode   *int       `json:"statusCode"`
	// WaitingReason explains in a sentence why the attempt is not placed yet; Determined has no
	// such field.
	WaitingReason string `json:"waitingReason"`
}

type AllocationAllGatherRequest struct {
	AllocationID string  `json:"allocationId"`
	Data         Struct  `json:"data"`
	NumPeers     *int    `json:"numPeers,omitempty"`
	RequestUUID  *string `json:"requestUuid,omitempty"`
}

type AllocationAllGatherResponse struct {
	Data []Struct `json:"data"`
}

type AllocationRendezvousInfoResponse struct {
	RendezvousInfo RendezvousInfo `json:"rendezvousInfo"`
}

type AllocationSummary struct {
	AllocationID   string             `json:"allocationId"`
	Name           string             `json:"name"`
	Priority       *int               `json:"priority"`
	ProxyPorts     []ProxyPortConfig  `json:"proxyPorts"`
	RegisteredTime *time.Time         `json:"registeredTime"`
	ResourcePool   string             `json:"resourcePool"`
	Resources      []ResourcesSummary `json:"resources"`
	SchedulerType  string             `json:"schedulerType"`
	SlotsNeeded    int                `json:"slotsNeeded"`
	TaskID         string             `json:"taskId"`
}

type PostAllocationAcceleratorDataRequest struct {
	AcceleratorData AcceleratorData `json:"acceleratorData"`
	AllocationID    string          `json:"allocationId"`
}

type PostAllocationProxyAddressRequest struct {
	AllocationID *string `json:"allocationId,omitempty"`
	ProxyAddress *string `json:"proxyAddress,omitempty"`
}

type RendezvousInfo struct {
	Addresses []string `json:"addresses"`
	Rank      int      `json:"rank"`
	Slots     []int    `json:"slots"`
}

// AllocationResponse is an attempt.
type AllocationResponse struct {
	Allocation Allocation `json:"allocation"`
}
