package runs

import (
	"context"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/expconf/address"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
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
	id, err := checkpoints.StorageID(ctx, d.DB, run.ID, owner, []byte(v1.StructOf(address.WithoutKeys(fields))))
	return &v1.RunPrepareForReportingResponse{StorageID: &id}, err
}
