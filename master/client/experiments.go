package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/detent-ml/detent/master/v1"
)

// ExperimentQuery narrows a list of experiments. Zero fields do not.
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

func (e ExperimentQuery) values(p Page) url.Values {
	q := url.Values{}
	if e.Archived != nil {
		q.Set("archived", strconv.FormatBool(*e.Archived))
	}
	some(q, "users", e.Users)
	some(q, "labels", e.Labels)
	for _, s := range e.States {
		q.Add("states", string(s))
	}
	one(q, "name", e.Name)
	one(q, "sortBy", e.SortBy)
	one(q, "orderBy", e.OrderBy)
	if e.ProjectID != 0 {
		q.Set("projectId", strconv.Itoa(e.ProjectID))
	}
	p.set(q)
	return q
}

func experimentPath(id int) string { return "/experiments/" + strconv.Itoa(id) }

// CreateExperiment submits an experiment. Progress, which may be nil, is told how
// many of how many bytes have been sent.
func (c *Client) CreateExperiment(ctx context.Context, req v1.CreateExperimentRequest, progress func(sent, total int64)) (*v1.CreateExperimentResponse, error) {
	body, err := v1.Marshal(req)
	if err != nil {
		return nil, err
	}
	k := call{method: http.MethodPost, path: "/experiments", body: body}
	if progress != nil {
		k.progress = func(sent int64) { progress(sent, int64(len(body))) }
	}
	var out v1.CreateExperimentResponse
	return &out, c.do(ctx, k, &out)
}

// Experiment reads one.
func (c *Client) Experiment(ctx context.Context, id int) (*v1.GetExperimentResponse, error) {
	var out v1.GetExperimentResponse
	return &out, c.get(ctx, experimentPath(id), nil, &out)
}

// Experiments lists them.
func (c *Client) Experiments(ctx context.Context, query ExperimentQuery) iter.Seq2[v1.Experiment, error] {
	return pages(ctx, query.Page, func(ctx context.Context, p Page) ([]v1.Experiment, v1.Pagination, error) {
		var out v1.GetExperimentsResponse
		err := c.get(ctx, "/experiments", query.values(p), &out)
		return out.Experiments, out.Pagination, err
	})
}

// The verbs that change what an experiment is to do.

// ActivateExperiment lets a paused experiment go on.
func (c *Client) ActivateExperiment(ctx context.Context, id int) error {
	return c.say(ctx, experimentPath(id)+"/activate")
}

// PauseExperiment asks its trials to checkpoint and stop for now.
func (c *Client) PauseExperiment(ctx context.Context, id int) error {
	return c.say(ctx, experimentPath(id)+"/pause")
}

// CancelExperiment asks its trials to checkpoint and stop for good.
func (c *Client) CancelExperiment(ctx context.Context, id int) error {
	return c.say(ctx, experimentPath(id)+"/cancel")
}

// KillExperiment ends its trials now.
func (c *Client) KillExperiment(ctx context.Context, id int) error {
	return c.say(ctx, experimentPath(id)+"/kill")
}

// ArchiveExperiment hides it from lists.
func (c *Client) ArchiveExperiment(ctx context.Context, id int) error {
	return c.say(ctx, experimentPath(id)+"/archive")
}

// UnarchiveExperiment shows it again.
func (c *Client) UnarchiveExperiment(ctx context.Context, id int) error {
	return c.say(ctx, experimentPath(id)+"/unarchive")
}

// DeleteExperiment begins to delete it with its checkpoints and logs.
func (c *Client) DeleteExperiment(ctx context.Context, id int) error {
	return c.do(ctx, call{method: http.MethodDelete, path: experimentPath(id)}, nil)
}

// PatchExperiment changes what the patch names.
func (c *Client) PatchExperiment(ctx context.Context, patch v1.PatchExperiment) (*v1.Experiment, error) {
	var out v1.PatchExperimentResponse
	err := c.patch(ctx, experimentPath(patch.ID), patch, &out)
	return out.Experiment, err
}

// AddLabel puts a label on an experiment and answers with all of them.
func (c *Client) AddLabel(ctx context.Context, id int, label string) ([]string, error) {
	var out v1.PutExperimentLabelResponse
	k := call{method: http.MethodPut, path: experimentPath(id) + "/labels/" + url.PathEscape(label), repeat: safely}
	err := c.do(ctx, k, &out)
	return out.Labels, err
}

// RemoveLabel takes a label off and answers with what is left.
func (c *Client) RemoveLabel(ctx context.Context, id int, label string) ([]string, error) {
	var out v1.DeleteExperimentLabelResponse
	k := call{method: http.MethodDelete, path: experimentPath(id) + "/labels/" + url.PathEscape(label), repeat: safely}
	err := c.do(ctx, k, &out)
	return out.Labels, err
}

// MoveExperiment puts an experiment into another project.
func (c *Client) MoveExperiment(ctx context.Context, id, project int) error {
	return c.do(ctx, call{
		method: http.MethodPost, path: experimentPath(id) + "/move", repeat: safely,
		in: moveExperiment{ExperimentID: id, DestinationProjectID: project},
	}, nil)
}

type moveExperiment struct {
	ExperimentID         int `json:"experimentId"`
	DestinationProjectID int `json:"destinationProjectId"`
}

// ModelDef is the code of an experiment, a gzipped tar.
func (c *Client) ModelDef(ctx context.Context, id int) ([]byte, error) {
	var out modelDef
	err := c.get(ctx, experimentPath(id)+"/model_def", nil, &out)
	return out.B64Tgz, err
}

// modelDef is GetModelDefResponse with its base64 decoded on the way.
type modelDef struct {
	B64Tgz []byte `json:"b64Tgz"`
}

// ContinueExperiment lets one go on after its end.
func (c *Client) ContinueExperiment(ctx context.Context, req v1.ContinueExperimentRequest) (*v1.ContinueExperimentResponse, error) {
	var out v1.ContinueExperimentResponse
	return &out, c.post(ctx, "/experiments/continue", req, &out)
}
