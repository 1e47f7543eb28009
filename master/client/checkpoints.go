package client

import (
	"context"
	"io"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Checkpoint returns one checkpoint.
func (c *Client) Checkpoint(ctx context.Context, uuid string) (*v1.Checkpoint, error) {
	out, err := Call(ctx, c, v1.GetCheckpoint, uuid)
	return &out.Checkpoint, err
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

// PreviewGC lists what a policy would remove of an experiment's checkpoints. The default of
// each number is the experiment's own.
func (c *Client) PreviewGC(ctx context.Context, id int, policy v1.PreviewGCRequest) (*v1.PreviewGCResponse, error) {
	var all v1.PreviewGCResponse
	for {
		policy.Offset = len(all.Checkpoints)
		page, err := Send(ctx, c, v1.PreviewGC, policy, id)
		if err != nil {
			return nil, err
		}
		all.Checkpoints = append(all.Checkpoints, page.Checkpoints...)
		all.MetricName, all.Total = page.MetricName, page.Total
		if len(page.Checkpoints) == 0 || len(all.Checkpoints) >= page.Total {
			return &all, nil
		}
	}
}

// Strays returns those of the folders of a storage that the master does not know.
func (c *Client) Strays(ctx context.Context, task string, uuids []string) ([]string, error) {
	body, err := v1.Marshal(v1.StraysRequest{UUIDs: uuids})
	if err != nil {
		return nil, err
	}
	k := callOf(v1.ListStrays, task)
	k.body, k.repeat = body, safely
	var got v1.StraysResponse
	err = c.do(ctx, k, &got)
	return got.UUIDs, err
}

// Freed reports what a task has removed. Reports may be repeated.
func (c *Client) Freed(ctx context.Context, task string, freed v1.FreedRequest) error {
	body, err := v1.Marshal(freed)
	if err != nil {
		return err
	}
	k := callOf(v1.ReportFreed, task)
	k.body = body
	if freed.Error == "" {
		k.repeat = safely
	}
	return c.do(ctx, k, nil)
}
