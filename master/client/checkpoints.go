package client

import (
	"context"
	"io"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// CheckpointQuery filters and orders a list of checkpoints. Zero fields have no effect.
type CheckpointQuery struct {
	Page
	SortByAttr   string // SORT_BY_END_TIME, SORT_BY_SEARCHER_METRIC, SORT_BY_BATCH_NUMBER, …
	SortByMetric string // a validation metric, in place of an attribute
	OrderBy      string
	States       []v1.CheckpointState
}

func (k CheckpointQuery) request() *v1.GetCheckpointsRequest {
	r := v1.GetCheckpointsRequest{SortByAttr: k.SortByAttr, SortByMetric: k.SortByMetric, OrderBy: k.OrderBy}
	for _, s := range k.States {
		r.States = append(r.States, string(s))
	}
	return &r
}

// ExperimentCheckpoints lists the checkpoints of all trials of an experiment.
func (c *Client) ExperimentCheckpoints(ctx context.Context, id int, query CheckpointQuery) iter.Seq2[v1.Checkpoint, error] {
	return list(ctx, c, v1.ListExperimentCheckpoints, query.Page, query.request(), func(r *v1.GetExperimentCheckpointsResponse) ([]v1.Checkpoint, v1.Pagination) {
		return r.Checkpoints, r.Pagination
	}, id)
}

// TrialCheckpoints lists the checkpoints of one trial.
func (c *Client) TrialCheckpoints(ctx context.Context, id int, query CheckpointQuery) iter.Seq2[v1.Checkpoint, error] {
	return list(ctx, c, v1.ListTrialCheckpoints, query.Page, query.request(), func(r *v1.GetTrialCheckpointsResponse) ([]v1.Checkpoint, v1.Pagination) {
		return r.Checkpoints, r.Pagination
	}, id)
}

// Checkpoint returns one checkpoint.
func (c *Client) Checkpoint(ctx context.Context, uuid string) (*v1.Checkpoint, error) {
	out, err := Call(ctx, c, v1.GetCheckpoint, uuid)
	if err != nil {
		return nil, err
	}
	return &out.Checkpoint, nil
}

// CheckpointArchive streams the files of a checkpoint as a gzipped tar, from the
// storage through the master.
func (c *Client) CheckpointArchive(ctx context.Context, uuid string) (io.ReadCloser, error) {
	k := callOf(v1.DownloadCheckpoint, uuid)
	k.accept = "application/gzip"
	resp, err := c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
