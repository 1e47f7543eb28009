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

// Slot is a slot of a node. Determined has no fields Health, which explains why a slot is
// unhealthy, and ResourcePool.
type Slot struct {
	Container    *Container `json:"container"` // null: the slot is free
	Device       *Device    `json:"device"`
	Draining     bool       `json:"draining"`
	Enabled      bool       `json:"enabled"`
	ID           string     `json:"id"`
	Health       string     `json:"health"`
	ResourcePool string     `json:"resourcePool"`
}

type SlotStats struct {
	BrandStats map[string]DeviceStats `json:"brandStats"`
	TypeStats  map[string]DeviceStats `json:"typeStats"`
}

// AgentResponse is a node.
type AgentResponse struct {
	Agent Agent `json:"agent"`
}

// DisableRequest disables a node or slot; with drain, running tasks continue to their end.
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
