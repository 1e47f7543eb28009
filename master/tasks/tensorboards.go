package tasks

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func tensorboardWire(k shown) v1.Tensorboard {
	return v1.Tensorboard{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt, State: k.state(),
		Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ExitStatus: k.exit(), ServiceAddress: k.address(),
		ExperimentIDs: k.shows.ExperimentIDs, TrialIDs: k.shows.TrialIDs}
}

func listedTensorboards(list []shown, p v1.Pagination) *v1.GetTensorboardsResponse {
	return &v1.GetTensorboardsResponse{Tensorboards: each.Of(list, tensorboardWire), Pagination: p}
}

func oneTensorboard(k shown, config v1.Struct) *v1.GetTensorboardResponse {
	return &v1.GetTensorboardResponse{Tensorboard: tensorboardWire(k), Config: config}
}

func (d Deps) asksTensorboard(ctx context.Context, c *rest.Call, req *v1.LaunchTensorboardRequest) (Request, error) {
	asked := Request{Config: req.Config, Template: req.TemplateName, WorkspaceID: req.WorkspaceID, Preview: req.Preview,
		Shows: &Shows{Experiments: req.ExperimentIDs, Trials: req.TrialIDs, Filtered: req.Filters != nil}}
	if req.Filters == nil {
		return asked, nil
	}
	like, err := d.Experiments(ctx, c, req.Filters)
	asked.Shows.Experiments = slices.Concat(req.ExperimentIDs, like)
	return asked, err
}

func startedTensorboard(s *started) *v1.LaunchTensorboardResponse {
	return &v1.LaunchTensorboardResponse{Tensorboard: tensorboardWire(s.task), Config: s.config, Warnings: s.Warnings, Remarks: s.Remarks}
}

func changedTensorboard(k shown) *v1.TensorboardResponse {
	return &v1.TensorboardResponse{Tensorboard: tensorboardWire(k)}
}
