package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/detent-ml/detent/master/v1"
)

// CheckpointQuery narrows and orders a list of checkpoints. Zero fields do not.
type CheckpointQuery struct {
	Page
	SortByAttr   string // SORT_BY_END_TIME, SORT_BY_SEARCHER_METRIC, SORT_BY_BATCH_NUMBER, …
	SortByMetric string // a validation metric, in place of an attribute
	OrderBy      string
	States       []v1.CheckpointState
}

func (k CheckpointQuery) values(p Page) url.Values {
	q := url.Values{}
	one(q, "sortByAttr", k.SortByAttr)
	one(q, "sortByMetric", k.SortByMetric)
	one(q, "orderBy", k.OrderBy)
	for _, s := range k.States {
		q.Add("states", string(s))
	}
	p.set(q)
	return q
}

// ExperimentCheckpoints lists the checkpoints of all trials of an experiment.
func (c *Client) ExperimentCheckpoints(ctx context.Context, id int, query CheckpointQuery) iter.Seq2[v1.Checkpoint, error] {
	return c.checkpoints(ctx, experimentPath(id)+"/checkpoints", query)
}

// TrialCheckpoints lists those of one trial.
func (c *Client) TrialCheckpoints(ctx context.Context, id int, query CheckpointQuery) iter.Seq2[v1.Checkpoint, error] {
	return c.checkpoints(ctx, trialPath(id)+"/checkpoints", query)
}

func (c *Client) checkpoints(ctx context.Context, path string, query CheckpointQuery) iter.Seq2[v1.Checkpoint, error] {
	return pages(ctx, query.Page, func(ctx context.Context, p Page) ([]v1.Checkpoint, v1.Pagination, error) {
		var out v1.GetExperimentCheckpointsResponse
		err := c.get(ctx, path, query.values(p), &out)
		return out.Checkpoints, out.Pagination, err
	})
}

// Checkpoint reads one.
func (c *Client) Checkpoint(ctx context.Context, uuid string) (*v1.Checkpoint, error) {
	var out v1.GetCheckpointResponse
	if err := c.get(ctx, "/checkpoints/"+url.PathEscape(uuid), nil, &out); err != nil {
		return nil, err
	}
	return &out.Checkpoint, nil
}

// CheckpointArchive streams the files of a checkpoint as a gzipped tar, from the
// storage through the master.
func (c *Client) CheckpointArchive(ctx context.Context, uuid string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, call{
		method: http.MethodGet, path: "//checkpoints/" + url.PathEscape(uuid),
		accept: "application/gzip", repeat: safely,
	})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
