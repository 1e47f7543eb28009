package api

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerCheckpoints() {
	rest.Serve(a.router, v1.ReportCheckpoint, a.reportCheckpoint)
	rest.Serve(a.router, v1.ChangeCheckpoints, a.patchCheckpoints)
	rest.ServeOn(a.router, v1.GetCheckpoint, a.onCheckpoint(), a.checkpoint)
	rest.ServeOn(a.router, v1.SetCheckpointMetadata, a.onCheckpoint(), a.setCheckpointMetadata)
	rest.RawOn(a.router, v1.DownloadCheckpoint, a.onCheckpoint(), a.downloadCheckpoint)
}

// reportCheckpoint stores a checkpoint of the caller's own task. A repeated
// report succeeds, because clients repeat requests that got no answer.
func (a *API) reportCheckpoint(ctx context.Context, c *rest.Call, k *v1.Checkpoint) (*v1.None, error) {
	n := store.NewCheckpoint{UUID: k.UUID, TaskID: c.Who().TaskID, AllocationID: c.Who().AllocationID, RunID: c.Who().RunID,
		ReportedAt: k.ReportTime, Resources: k.Resources, Metadata: json.RawMessage(k.Metadata), StorageID: k.StorageID}
	switch {
	case !c.Who().IsTask():
		if err := a.unmanagedCheckpoint(ctx, c, k, &n); err != nil {
			return nil, err
		}
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
	return &v1.None{}, a.db.AddCheckpoint(ctx, n)
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

// patchCheckpoints stores which files of checkpoints are left after garbage collection,
// or after somebody else removed files.
func (a *API) patchCheckpoints(ctx context.Context, c *rest.Call, req *v1.PatchCheckpointsRequest) (*v1.None, error) {
	ids := make([]string, len(req.Checkpoints))
	for i, p := range req.Checkpoints {
		ids[i] = p.UUID
	}
	names, err := namedCheckpoints("checkpoints", ids)
	if err != nil {
		return nil, err
	}
	owners, err := a.db.CheckpointOwners(ctx, names)
	if err != nil {
		return nil, err
	}
	var list []store.CheckpointFiles
	var changed []string
	for i, p := range req.Checkpoints {
		k, ok := owners[names[i]]
		if !ok {
			return nil, fault.New(fault.NotFound, "checkpoint %s not found", names[i])
		}
		if err := c.May(auth.Report, ofCheckpointOwner(k)); err != nil {
			return nil, err
		}
		if p.Resources != nil {
			list, changed = append(list, store.CheckpointFiles{UUID: k.UUID, Resources: p.Resources.Resources}), append(changed, k.UUID)
		}
	}
	if err := a.checkUnregistered(ctx, changed); err != nil {
		return nil, err
	}
	return &v1.None{}, a.db.SetCheckpointFiles(ctx, list)
}

// shownCheckpoint is a checkpoint as the caller may see it.
func (a *API) shownCheckpoint(k store.Checkpoint, who auth.Who) v1.Checkpoint {
	if len(k.Config) == 0 {
		return wireCheckpoint(k, nil)
	}
	return wireCheckpoint(k, a.shown.config(k.Config, ownerOrAdmin(who, k.OwnerID)))
}

func (a *API) checkpoint(ctx context.Context, c *rest.Call, k store.Checkpoint, _ *v1.None) (*v1.GetCheckpointResponse, error) {
	w := a.shownCheckpoint(k, c.Who())
	removals, err := a.db.CheckpointRemovals(ctx, k.UUID)
	w.Removals = wireRemovals(removals)
	return &v1.GetCheckpointResponse{Checkpoint: w}, err
}

// setCheckpointMetadata replaces the metadata of a checkpoint, except its steps, which
// the platform needs.
func (a *API) setCheckpointMetadata(ctx context.Context, c *rest.Call, k store.Checkpoint, req *v1.PostCheckpointMetadataRequest) (*v1.PostCheckpointMetadataResponse, error) {
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
	if err := a.db.SetCheckpointMetadata(ctx, k.UUID, k.Metadata); err != nil {
		return nil, err
	}
	w := a.shownCheckpoint(k, c.Who())
	return &v1.PostCheckpointMetadataResponse{Checkpoint: &w}, nil
}
