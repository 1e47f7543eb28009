package runs

import (
	"context"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// start gives the storage that a run uses a number, which its checkpoints then
// carry: a later change of the configuration does not move them.
func (d Deps) start(ctx context.Context, c *rest.Call, req *v1.RunPrepareForReportingRequest) (*v1.RunPrepareForReportingResponse, error) {
	run, err := experiments.ReportingRun(ctx, d.DB, c, req.RunID)
	if err != nil {
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
		delete(fields, name) // the policy for checkpoints is no part of the location
	}
	owner := run.Is.OwnerID
	if c.Who().IsTask() {
		owner = c.Who().UserID
	}
	id, err := checkpoints.StorageID(ctx, d.DB, run.ID, owner, []byte(v1.StructOf(expconf.WithoutKeys(fields))))
	return &v1.RunPrepareForReportingResponse{StorageID: &id}, err
}

func (d Deps) metadata(_ context.Context, _ *rest.Call, t experiments.Trial, _ *v1.None) (*v1.GetRunMetadataResponse, error) {
	return &v1.GetRunMetadataResponse{Metadata: v1.Struct(t.Metadata)}, nil
}

// setMetadata replaces the metadata of a run, as Determined does, and returns the new
// metadata.
func (d Deps) setMetadata(ctx context.Context, c *rest.Call, r metrics.Trial, req *v1.PostRunMetadataRequest) (*v1.PostRunMetadataResponse, error) {
	id := r.ID
	if req.RunID != nil && *req.RunID != id {
		return nil, fault.New(fault.Invalid, "runId: the path has %d, the body %d", id, *req.RunID)
	}
	if len(req.Metadata) == 0 {
		req.Metadata = v1.Struct("{}")
	}
	if err := checkMetadata(req.Metadata); err != nil {
		return nil, err
	}
	if err := d.Users.AdmitChange(ctx, c, r.Is.OwnerID, len(req.Metadata)); err != nil {
		return nil, err
	}
	return &v1.PostRunMetadataResponse{Metadata: req.Metadata}, experiments.SetTrialMetadata(ctx, d.DB, id, []byte(req.Metadata))
}
