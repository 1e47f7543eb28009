package launch

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (d Deps) create(ctx context.Context, c *rest.Call, req *v1.CreateExperimentRequest) (*v1.CreateExperimentResponse, error) {
	if err := c.May(auth.Create, auth.Object{Kind: "experiment"}); err != nil {
		return nil, err
	}
	made, err := d.Launcher.Create(ctx, SubmitterOf(c), req)
	if err != nil {
		return nil, err
	}
	resp := &v1.CreateExperimentResponse{Warnings: made.Warnings, Remarks: made.Remarks}
	if made.ID == 0 {
		shown, err := made.Complete.Shown(true)
		resp.Config, resp.Experiment = shown, previewExperiment(made, c.Who(), shown)
		return resp, err
	}
	d.Bus.Publish(lifecycle.TopicIntent)
	e, err := experiments.Get(ctx, d.DB, made.ID)
	if err != nil {
		return nil, err
	}
	resp.Experiment, err = d.Full(ctx, e, c.Who())
	resp.Config = resp.Experiment.Config
	return resp, err
}

// previewExperiment is the experiment that a request would create.
func previewExperiment(e *Experiment, who auth.Who, shown v1.Struct) v1.Experiment {
	return v1.Experiment{Name: e.Name, Description: e.Description, Labels: e.Labels, Config: shown, OriginalConfig: e.OriginalConfig,
		State: v1.ExperimentStatePaused, UserID: who.UserID, Username: who.Username, ProjectID: e.Project.ID, ProjectName: e.Project.Name,
		ProjectOwnerID: e.Project.OwnerID, WorkspaceID: e.Project.WorkspaceID, WorkspaceName: e.Project.WorkspaceName,
		ForkedFrom: e.ParentID, ResourcePool: e.Pool, SearcherType: e.Complete.Searcher.Name, SearcherMetric: e.Complete.Searcher.Metric}
}

// SubmitterOf is the caller of a request, with the files in its body.
func SubmitterOf(c *rest.Call) Submitter {
	code, _ := c.Files().(*Code) // nil for none
	return Submitter{Who: c.Who(), Share: c.Owner(), Key: c.Get(KeyHeader), Code: code}
}
