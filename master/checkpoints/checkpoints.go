package checkpoints

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

// report stores a checkpoint of the caller's own task. A repeated
// report succeeds, because clients repeat requests that got no answer.
func (d Deps) report(ctx context.Context, c *rest.Call, k *v1.Checkpoint) (*v1.None, error) {
	n := New{UUID: k.UUID, TaskID: c.Who().TaskID, AllocationID: c.Who().AllocationID, RunID: c.Who().RunID,
		ReportedAt: k.ReportTime, Resources: k.Resources, Metadata: json.RawMessage(k.Metadata), StorageID: k.StorageID, Kept: k.Kept}
	switch {
	case k.Kept && !c.Who().IsTask():
		return nil, fault.New(fault.Forbidden, "kept: only an attempt reports the folder that its runner keeps")
	case !c.Who().IsTask():
		var err error
		if n.TaskID, n.RunID, err = d.Outside(ctx, c, k); err != nil {
			return nil, err
		}
		n.AllocationID = ""
	case k.TaskID != "" && !trial.OfTask(k.TaskID, c.Who().TaskID):
		return nil, fault.New(fault.Forbidden, "attempt %s may not report checkpoints of task %s", c.Who().AllocationID, k.TaskID)
	case k.AllocationID != "" && k.AllocationID != c.Who().AllocationID:
		return nil, fault.New(fault.Forbidden, "attempt %s may not report checkpoints of attempt %s", c.Who().AllocationID, k.AllocationID)
	}
	n.State = strings.TrimPrefix(string(k.State), "STATE_")
	switch k.State {
	case v1.CheckpointStateActive, v1.CheckpointStateCompleted, v1.CheckpointStateError, v1.CheckpointStateDeleted, v1.CheckpointStatePartiallyDeleted:
	default:
		return nil, fault.New(fault.Invalid, "state: %q is not a state of a checkpoint, such as STATE_COMPLETED", k.State)
	}
	var err error
	if n.Steps, err = stepsOf(k.Metadata); err != nil {
		return nil, err
	}
	if len(n.Metadata) == 0 {
		n.Metadata = json.RawMessage("{}")
	}
	return &v1.None{}, Add(ctx, d.DB, n)
}

// stepsOf reads the number of completed steps, which the harness writes into a
// checkpoint's metadata.
func stepsOf(metadata v1.Struct) (int, error) {
	var m struct {
		Steps *json.Number `json:"steps_completed"`
	}
	if err := metadata.Into(&m); err != nil {
		return 0, fault.New(fault.Invalid, "metadata: steps_completed must be a number: %v", err)
	}
	if m.Steps == nil {
		return 0, nil
	}
	n, err := m.Steps.Int64()
	if err != nil || n < 0 || n > 1<<31-1 {
		return 0, fault.New(fault.Invalid, "metadata.steps_completed: %s is not a number of steps", *m.Steps)
	}
	return int(n), nil
}

// change stores which files of checkpoints are left after garbage collection,
// or after somebody else removed files.
func (d Deps) change(ctx context.Context, c *rest.Call, req *v1.PatchCheckpointsRequest) (*v1.None, error) {
	ids := each.Of(req.Checkpoints, func(p v1.PatchCheckpoint) string { return p.UUID })
	names, err := namedCheckpoints("checkpoints", ids)
	if err != nil {
		return nil, err
	}
	owners, err := Owners(ctx, d.DB, names)
	if err != nil {
		return nil, err
	}
	var list []Files
	var changed []string
	for i, p := range req.Checkpoints {
		k, ok := owners[names[i]]
		if !ok {
			return nil, fault.New(fault.NotFound, "checkpoint %s not found", names[i])
		}
		if err := c.May(auth.Report, k.Object()); err != nil {
			return nil, err
		}
		if p.Resources != nil {
			list, changed = append(list, Files{UUID: k.UUID, Resources: p.Resources.Resources}), append(changed, k.UUID)
		}
	}
	if err := d.checkUnregistered(ctx, changed); err != nil {
		return nil, err
	}
	return &v1.None{}, SetFiles(ctx, d.DB, list)
}

// Shown is a checkpoint as the caller may see it.
func (d Deps) Shown(k Checkpoint, who auth.Who) v1.Checkpoint {
	if len(k.Config) == 0 {
		return wire(k, nil)
	}
	return wire(k, d.config(k.Config, who, k.OwnerID))
}

// config is the configuration of an owner's experiment as the caller may see it.
func (d Deps) config(stored []byte, who auth.Who, owner int) v1.Struct {
	return d.Config(stored, auth.Owns(who, auth.Object{OwnerID: owner}))
}

func (d Deps) get(ctx context.Context, c *rest.Call, k Checkpoint, _ *v1.None) (*v1.GetCheckpointResponse, error) {
	w := d.Shown(k, c.Who())
	removals, err := RemovalsOf(ctx, d.DB, k.UUID)
	w.Removals = wireRemovals(removals)
	return &v1.GetCheckpointResponse{Checkpoint: w}, err
}

// setMetadata replaces the metadata of a checkpoint, except its steps, which
// the platform needs.
func (d Deps) setMetadata(ctx context.Context, c *rest.Call, k Checkpoint, req *v1.PostCheckpointMetadataRequest) (*v1.PostCheckpointMetadataResponse, error) {
	if req.Checkpoint == nil {
		return nil, fault.New(fault.Invalid, "checkpoint: the new metadata is missing")
	}
	metadata, err := req.Checkpoint.Metadata.Map()
	if err != nil {
		return nil, fault.New(fault.Invalid, "checkpoint.metadata: %v", err)
	}
	old, err := v1.Struct(k.Metadata).Map()
	if err != nil {
		return nil, err
	}
	if steps, ok := old["steps_completed"]; ok {
		metadata["steps_completed"] = steps
	}
	k.Metadata = json.RawMessage(v1.StructOf(metadata))
	if err := SetMetadata(ctx, d.DB, k.UUID, k.Metadata); err != nil {
		return nil, err
	}
	w := d.Shown(k, c.Who())
	return &v1.PostCheckpointMetadataResponse{Checkpoint: &w}, nil
}
