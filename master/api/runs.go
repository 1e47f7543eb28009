package api

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerRuns() {
	serve(a, v1.StartRun, a.startRun)
	serve(a, v1.GetRunMetadata, a.runMetadata)
	serve(a, v1.SetRunMetadata, a.setRunMetadata)
	serve(a, v1.ReportTrialSource, a.trialSourceInfo)
}

// startRun gives the storage that a run uses a number, which its checkpoints then
// carry: what the configuration says later does not move them.
func (a *API) startRun(ctx context.Context, c *call, req *v1.RunPrepareForReportingRequest) (*v1.RunPrepareForReportingResponse, error) {
	if err := a.reportsFor(ctx, c, req.RunID); err != nil {
		return nil, err
	}
	if len(req.CheckpointStorage) == 0 {
		return &v1.RunPrepareForReportingResponse{}, nil
	}
	fields, err := req.CheckpointStorage.Map()
	if err != nil {
		return nil, fault.New(fault.Invalid, "checkpointStorage: %v", err)
	}
	if kind, _ := fields["type"].(string); kind == "" {
		return nil, fault.New(fault.Invalid, "checkpointStorage.type is missing: shared_fs, directory, s3, gcs or azure")
	}
	for _, name := range []string{"save_experiment_best", "save_trial_best", "save_trial_latest"} {
		delete(fields, name) // what is kept is not where it lies
	}
	id, err := a.db.StorageID(ctx, []byte(v1.StructOf(fields)))
	return &v1.RunPrepareForReportingResponse{StorageID: &id}, err
}

// reportsFor asks whether the caller may report for a trial that its body names.
func (a *API) reportsFor(ctx context.Context, c *call, trial int) error {
	if c.who.IsTask() {
		if c.who.TrialID != trial {
			return fault.New(fault.Forbidden, "attempt %s does not belong to run %d", c.who.AllocationID, trial)
		}
		return nil
	}
	t, err := a.db.Trial(ctx, trial)
	if err != nil {
		return err
	}
	return c.may(auth.Change, auth.Object{Kind: "run", OwnerID: t.OwnerID})
}

func (a *API) runMetadata(ctx context.Context, c *call, _ *v1.None) (*v1.GetRunMetadataResponse, error) {
	id, err := c.id("run")
	if err != nil {
		return nil, err
	}
	t, err := a.db.Trial(ctx, id)
	if err != nil {
		return nil, err
	}
	return &v1.GetRunMetadataResponse{Metadata: v1.Struct(t.Metadata)}, c.may(auth.View, auth.Object{Kind: "run", OwnerID: t.OwnerID})
}

// setRunMetadata replaces what was noted about a run before, as Determined does,
// and answers with what is noted now.
func (a *API) setRunMetadata(ctx context.Context, c *call, req *v1.PostRunMetadataRequest) (*v1.PostRunMetadataResponse, error) {
	id, err := c.id("run")
	if err != nil {
		return nil, err
	}
	if req.RunID != nil && *req.RunID != id {
		return nil, fault.New(fault.Invalid, "runId: the path says %d, the body %d", id, *req.RunID)
	}
	if err := a.reportsFor(ctx, c, id); err != nil {
		return nil, err
	}
	if len(req.Metadata) == 0 {
		req.Metadata = v1.Struct("{}")
	}
	return &v1.PostRunMetadataResponse{Metadata: req.Metadata}, a.db.SetTrialMetadata(ctx, id, []byte(req.Metadata))
}

// trialSourceInfo belongs to the model registry, without which a source could be
// noted and never looked up.
func (a *API) trialSourceInfo(context.Context, *call, *v1.None) (*v1.None, error) {
	return nil, fault.New(fault.Unimplemented,
		"Detent does not record which checkpoint or model version a trial evaluates; leave out report_task_using_checkpoint and report_task_using_model_version")
}
