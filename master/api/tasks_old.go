package api

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// oldTask is an attempt as GET /tasks has it, which is no message of /api/v1: its
// keys are in snake_case, but for two.
type oldTask struct {
	TaskID         string        `json:"task_id"`
	AllocationID   string        `json:"allocation_id"`
	Name           string        `json:"name"`
	RegisteredTime time.Time     `json:"registered_time"`
	ResourcePool   string        `json:"resource_pool"`
	SlotsNeeded    int           `json:"slots_needed"`
	Resources      []oldResource `json:"resources"`
	SchedulerType  string        `json:"scheduler_type"`
	Priority       int           `json:"priority"`
	ProxyPorts     []oldPort     `json:"proxy_ports"`
}

// oldResource is a member of an attempt.
type oldResource struct {
	ResourcesID   string                 `json:"resources_id"`
	ResourcesType string                 `json:"resources_type"`
	AllocationID  string                 `json:"allocation_id"`
	AgentDevices  map[string][]v1.Device `json:"agent_devices"`
	ContainerID   string                 `json:"container_id"`
	Started       *v1.ResourcesStarted   `json:"Started"`
	Exited        *v1.ResourcesStopped   `json:"Exited"`
}

// oldPort is a port that the proxy passes visitors to.
type oldPort struct {
	Port int `json:"port"`
}

func (a *API) oldTasks(ctx context.Context, _ *call, _ *none) (*map[string]oldTask, error) {
	attempts, err := a.db.LiveAttempts(ctx)
	if err != nil {
		return nil, err
	}
	holdings, err := a.db.Holdings(ctx, "")
	if err != nil {
		return nil, err
	}
	slots, err := a.slotsByNode(ctx)
	if err != nil {
		return nil, err
	}
	resources := map[string][]oldResource{}
	for _, h := range holdings {
		s := a.resourcesSummary(h, slots)
		devices := s.AgentDevices[h.NodeName].Devices
		if devices == nil {
			devices = []v1.Device{}
		}
		resources[h.AllocationID] = append(resources[h.AllocationID], oldResource{ResourcesID: s.ResourcesID, ResourcesType: "docker-container",
			AllocationID: h.AllocationID, AgentDevices: map[string][]v1.Device{h.NodeName: devices}, ContainerID: s.ContainerID, Started: s.Started, Exited: s.Exited})
	}
	out := map[string]oldTask{}
	for _, x := range attempts {
		out[x.ID] = oldTask{TaskID: x.TaskID, AllocationID: x.ID, Name: allocationName(x), RegisteredTime: x.QueuedAt, ResourcePool: x.Pool,
			SlotsNeeded: x.Slots, Resources: resources[x.ID], SchedulerType: "priority", Priority: x.Priority}
	}
	return &out, nil
}

// allocationName is what clients of Determined know an attempt by.
func allocationName(x store.Attempt) string {
	switch {
	case x.TrialID != nil && x.ExperimentID != nil:
		return fmt.Sprintf("Trial %d (Experiment %d)", *x.TrialID, *x.ExperimentID)
	case x.TaskType == "CHECKPOINT_GC" && x.ExperimentID != nil:
		return fmt.Sprintf("Checkpoint GC (Experiment %d)", *x.ExperimentID)
	}
	return x.TaskName
}
