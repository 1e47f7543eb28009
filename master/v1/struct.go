package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Struct is a free JSON object: metrics, hyperparameters, a configuration. It
// stays raw, because most of them travel between PostgreSQL and a socket
// without anybody here looking inside.
type Struct []byte

// StructOf encodes a value as a Struct. It panics on a value that no JSON
// object can hold, which is a programmer's error.
func StructOf(v any) Struct {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("v1: not a JSON object: %v", err))
	}
	return b
}

// Map decodes the object. An empty Struct is an empty map; numbers stay as
// they were written.
func (s Struct) Map() (map[string]any, error) {
	m := map[string]any{}
	if len(s) == 0 {
		return m, nil
	}
	d := json.NewDecoder(bytes.NewReader(s))
	d.UseNumber()
	err := d.Decode(&m)
	return m, err
}

// Into decodes the object into v by encoding/json's rules.
func (s Struct) Into(v any) error {
	if len(s) == 0 {
		return nil
	}
	return json.Unmarshal(s, v)
}

// PatchCheckpointOptionalResources wraps a checkpoint's new list of files, so
// that "no files left" and "not given" differ.
type PatchCheckpointOptionalResources struct {
	Resources map[string]int64 `json:"resources"`
}

// PatchCheckpointStorage changes an experiment's garbage collection.
type PatchCheckpointStorage struct {
	SaveExperimentBest *int `json:"saveExperimentBest,omitempty"`
	SaveTrialBest      *int `json:"saveTrialBest,omitempty"`
	SaveTrialLatest    *int `json:"saveTrialLatest,omitempty"`
}

// PatchResources changes an experiment's share of the cluster while it runs.
type PatchResources struct {
	MaxSlots *int     `json:"maxSlots,omitempty"`
	Weight   *float64 `json:"weight,omitempty"`
	Priority *int     `json:"priority,omitempty"`
}

// ResourcesSummaryDevices is the list of devices that a task holds on a node.
type ResourcesSummaryDevices struct {
	Devices []Device `json:"devices"`
}
