package v1

import "time"

// ContainerState is an enum of the wire.
type ContainerState string

// The values of ContainerState.
const (
	ContainerStateUnspecified ContainerState = "STATE_UNSPECIFIED"
	ContainerStateAssigned    ContainerState = "STATE_ASSIGNED"
	ContainerStatePulling     ContainerState = "STATE_PULLING"
	ContainerStateStarting    ContainerState = "STATE_STARTING"
	ContainerStateRunning     ContainerState = "STATE_RUNNING"
	ContainerStateTerminated  ContainerState = "STATE_TERMINATED"
)

// DeviceType is an enum of the wire.
type DeviceType string

// The values of DeviceType.
const (
	DeviceTypeUnspecified DeviceType = "TYPE_UNSPECIFIED"
	DeviceTypeCpu         DeviceType = "TYPE_CPU"
	DeviceTypeCuda        DeviceType = "TYPE_CUDA"
	DeviceTypeRocm        DeviceType = "TYPE_ROCM"
)

// Agent is a message of the wire.
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
}

// Container is a message of the wire.
type Container struct {
	ID               string         `json:"id"`
	State            ContainerState `json:"state"`
	Devices          []Device       `json:"devices"`
	Parent           string         `json:"parent"`
	PermissionDenied bool           `json:"permissionDenied"`
}

// Device is a message of the wire.
type Device struct {
	Brand string     `json:"brand"`
	ID    int        `json:"id"`
	Type  DeviceType `json:"type"`
	UUID  string     `json:"uuid"`
}

// DeviceStats is a message of the wire.
type DeviceStats struct {
	Disabled int            `json:"disabled"`
	Draining int            `json:"draining"`
	Total    int            `json:"total"`
	States   map[string]int `json:"states"`
}

// GetAgentsResponse is a message of the wire.
type GetAgentsResponse struct {
	Agents     []Agent     `json:"agents"`
	Pagination *Pagination `json:"pagination"`
}

// Slot is a message of the wire. Health, which says what is wrong with it, and
// ResourcePool are ours.
type Slot struct {
	Container    *Container `json:"container"` // null where it is free: clients index it
	Device       *Device    `json:"device"`
	Draining     bool       `json:"draining"`
	Enabled      bool       `json:"enabled"`
	ID           string     `json:"id"`
	Health       string     `json:"health"`
	ResourcePool string     `json:"resourcePool"`
}

// SlotStats is a message of the wire.
type SlotStats struct {
	BrandStats map[string]DeviceStats `json:"brandStats"`
	TypeStats  map[string]DeviceStats `json:"typeStats"`
}

// AgentResponse is a node.
type AgentResponse struct {
	Agent Agent `json:"agent"`
}

// DisableRequest says whether what runs on a node or a slot may run to its end.
type DisableRequest struct {
	Drain bool `json:"drain"`
}

// SlotsResponse lists the slots of a node.
type SlotsResponse struct {
	Slots []Slot `json:"slots"`
}

// SlotResponse is a slot.
type SlotResponse struct {
	Slot Slot `json:"slot"`
}
