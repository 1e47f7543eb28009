package v1

import "time"

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
