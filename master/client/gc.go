package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// DeleteCheckpoints begins the removal of checkpoints with all their files.
func (c *Client) DeleteCheckpoints(ctx context.Context, uuids []string) error {
	_, err := post(ctx, c, v1.DeleteCheckpoints, v1.DeleteCheckpointsRequest{CheckpointUUIDs: uuids})
	return err
}

// RemoveCheckpointFiles begins the removal of files of checkpoints that match a pattern.
// Without patterns the master only reads the list of files from storage again.
func (c *Client) RemoveCheckpointFiles(ctx context.Context, uuids, globs []string) error {
	_, err := post(ctx, c, v1.RemoveCheckpointFiles, v1.CheckpointsRemoveFilesRequest{CheckpointUUIDs: uuids, CheckpointGlobs: globs})
	return err
}

// RemoveTensorboardFiles removes the TensorBoard files of an experiment; it returns when they are gone.
func (c *Client) RemoveTensorboardFiles(ctx context.Context, experiment int) error {
	return act(ctx, c, v1.RemoveTensorboardFiles, experiment)
}

// PreviewGC lists what a policy would remove of an experiment's checkpoints. The default of
// each number is the experiment's own.
func (c *Client) PreviewGC(ctx context.Context, id int, policy v1.PreviewGCRequest) (*v1.PreviewGCResponse, error) {
	var all v1.PreviewGCResponse
	for {
		policy.Offset = len(all.Checkpoints)
		page, err := get(ctx, c, v1.PreviewGC, &policy, id)
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

// GCs lists the garbage collections of an experiment.
func (c *Client) GCs(ctx context.Context, id int) (*v1.GetGCsResponse, error) {
	return get(ctx, c, v1.ListGCs, nil, id)
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
