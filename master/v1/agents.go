package v1

import "time"

type ContainerState string

const (
	ContainerStateUnspecified ContainerState = "STATE_UNSPECIFIED"
	ContainerStateAssigned    ContainerState = "STATE_ASSIGNED"
	ContainerStatePulling     ContainerState = "STATE_PULLING"
	ContainerStateStarting    ContainerState = "STATE_STARTING"
	ContainerStateRunning     ContainerState = "STATE_RUNNING"
	ContainerStateTerminated  ContainerState = "STATE_TERMINATED"
)

type DeviceType string

const (
	DeviceTypeUnspecified DeviceType = "TYPE_UNSPECIFIED"
	DeviceTypeCpu         DeviceType = "TYPE_CPU"
	DeviceTypeCuda        DeviceType = "TYPE_CUDA"
	DeviceTypeRocm        DeviceType = "TYPE_ROCM"
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
