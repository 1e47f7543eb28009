package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// ExperimentQuery filters a list of experiments. Zero fields have no effect.
type ExperimentQuery struct {
	Page
	Archived  *bool
	Users     []string
	States    []v1.ExperimentState
	Labels    []string
	Name      string
	ProjectID int
	SortBy    string // SORT_BY_ID, …
	OrderBy   string // ORDER_BY_ASC, ORDER_BY_DESC
}

func (e ExperimentQuery) request() *v1.GetExperimentsRequest {
	return &v1.GetExperimentsRequest{Archived: e.Archived, Users: e.Users, States: e.States, Labels: e.Labels, Name: e.Name, ProjectID: e.ProjectID,
		Order: v1.Order{SortBy: e.SortBy, OrderBy: e.OrderBy}}
}

// CreateExperiment submits an experiment. Progress, which may be nil, is called with the
// numbers of sent and of all bytes.
func (c *Client) CreateExperiment(ctx context.Context, req v1.CreateExperimentRequest, progress func(sent, total int64)) (*v1.CreateExperimentResponse, error) {
	body, err := v1.Marshal(req)
	if err != nil {
		return nil, err
	}
	k := callOf(v1.CreateExperiment)
	k.body = body
	if progress != nil {
		k.progress = func(sent int64) { progress(sent, int64(len(body))) }
	}
	var out v1.CreateExperimentResponse
	return &out, c.do(ctx, k, &out)
}

// Experiment returns one experiment.
func (c *Client) Experiment(ctx context.Context, id int) (*v1.GetExperimentResponse, error) {
	return get(ctx, c, v1.GetExperiment, nil, id)
}

// Experiments lists experiments.
func (c *Client) Experiments(ctx context.Context, query ExperimentQuery) iter.Seq2[v1.Experiment, error] {
	return list(ctx, c, v1.ListExperiments, query.Page, query.request(), func(r *v1.GetExperimentsResponse) ([]v1.Experiment, v1.Pagination) {
		return r.Experiments, r.Pagination
	})
}

// ActivateExperiment activates a paused experiment.
func (c *Client) ActivateExperiment(ctx context.Context, id int) error {
	return act(ctx, c, v1.ActivateExperiment, id)
}

// PauseExperiment pauses an experiment: its trials store a checkpoint and stop.
func (c *Client) PauseExperiment(ctx context.Context, id int) error {
	return act(ctx, c, v1.PauseExperiment, id)
}

// CancelExperiment cancels an experiment: its trials store a checkpoint and end.
func (c *Client) CancelExperiment(ctx context.Context, id int) error {
	return act(ctx, c, v1.CancelExperiment, id)
}

// KillExperiment kills the trials of an experiment.
func (c *Client) KillExperiment(ctx context.Context, id int) error {
	return act(ctx, c, v1.KillExperiment, id)
}

// ArchiveExperiment archives an experiment, which hides it from lists.
func (c *Client) ArchiveExperiment(ctx context.Context, id int) error {
	return act(ctx, c, v1.ArchiveExperiment, id)
}

// UnarchiveExperiment undoes ArchiveExperiment.
func (c *Client) UnarchiveExperiment(ctx context.Context, id int) error {
	return act(ctx, c, v1.UnarchiveExperiment, id)
}

// DeleteExperiment begins the deletion of an experiment with its checkpoints and logs.
func (c *Client) DeleteExperiment(ctx context.Context, id int) error {
	return act(ctx, c, v1.DeleteExperiment, id)
}

// PatchExperiment changes the fields that the patch sets.
func (c *Client) PatchExperiment(ctx context.Context, patch v1.PatchExperiment) (*v1.Experiment, error) {
	out, err := post(ctx, c, v1.ChangeExperiment, patch, patch.ID)
	if err != nil {
		return nil, err
	}
	return out.Experiment, nil
}

// AddLabel adds a label to an experiment and returns all its labels.
func (c *Client) AddLabel(ctx context.Context, id int, label string) ([]string, error) {
	out, err := get(ctx, c, v1.AddExperimentLabel, nil, id, label)
	return out.Labels, err
}

// RemoveLabel removes a label and returns the remaining ones.
func (c *Client) RemoveLabel(ctx context.Context, id int, label string) ([]string, error) {
	out, err := get(ctx, c, v1.RemoveExperimentLabel, nil, id, label)
	return out.Labels, err
}

// MoveExperiment moves an experiment to another project.
func (c *Client) MoveExperiment(ctx context.Context, id, project int) error {
	_, err := post(ctx, c, v1.MoveExperiment, v1.MoveRequest{ExperimentID: id, DestinationProjectID: project}, id)
	return err
}

// ModelDef returns the code of an experiment, a gzipped tar.
func (c *Client) ModelDef(ctx context.Context, id int) ([]byte, error) {
	var out modelDef
	err := c.do(ctx, callOf(v1.GetModelDef, id), &out)
	return out.B64Tgz, err
}

// modelDef is GetModelDefResponse with decoded base64.
type modelDef struct {
	B64Tgz []byte `json:"b64Tgz"`
}

// ContinueExperiment continues an experiment that has ended.
func (c *Client) ContinueExperiment(ctx context.Context, req v1.ContinueExperimentRequest) (*v1.ContinueExperimentResponse, error) {
	return post(ctx, c, v1.ContinueExperiment, req)
}
