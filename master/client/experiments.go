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

// Experiments lists experiments.
func (c *Client) Experiments(ctx context.Context, query ExperimentQuery) iter.Seq2[v1.Experiment, error] {
	return list(ctx, c, v1.ListExperiments, query.Page, query.request(), func(r *v1.GetExperimentsResponse) ([]v1.Experiment, v1.Pagination) {
		return r.Experiments, r.Pagination
	})
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
