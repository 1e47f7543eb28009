package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Struct is any JSON object: metrics, hyperparameters, a configuration. It is not decoded,
// because most of them are only copied between PostgreSQL and a connection.
type Struct []byte

// StructOf encodes a value as a Struct. It panics if the value is not a JSON object, which is a
// mistake in the calling code.
func StructOf(v any) Struct {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("v1: not a JSON object: %v", err))
	}
	return b
}

// Map decodes the object. An empty Struct is an empty map; numbers keep their text.
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

// Into decodes the object into v by the rules of encoding/json.
func (s Struct) Into(v any) error {
	if len(s) == 0 {
		return nil
	}
	return json.Unmarshal(s, v)
}

// PatchCheckpointOptionalResources wraps the new list of files of a checkpoint, which
// distinguishes an empty list from an absent one.
type PatchCheckpointOptionalResources struct {
	Resources map[string]int64 `json:"resources"`
}

// PatchCheckpointStorage changes the garbage collection of an experiment.
type PatchCheckpointStorage struct {
	SaveExperimentBest *int `json:"saveExperimentBest,omitempty"`
	SaveTrialBest      *int `json:"saveTrialBest,omitempty"`
	SaveTrialLatest    *int `json:"saveTrialLatest,omitempty"`
}

// PatchResources changes the resources of a running experiment.
type PatchResources struct {
	MaxSlots *int     `json:"maxSlots,omitempty"`
	Weight   *float64 `json:"weight,omitempty"`
	Priority *int     `json:"priority,omitempty"`
}

// ResourcesSummaryDevices lists the devices of a task on a node.
type ResourcesSummaryDevices struct {
	Devices []Device `json:"devices"`
}
