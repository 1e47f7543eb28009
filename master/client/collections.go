package client

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/detent-ml/detent/master/v1"
)

// DeleteCheckpoints begins to remove checkpoints with all their files.
func (c *Client) DeleteCheckpoints(ctx context.Context, uuids []string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/checkpoints", in: v1.DeleteCheckpointsRequest{CheckpointUUIDs: uuids}}, nil)
}

// RemoveCheckpointFiles begins to remove the files of checkpoints that match a
// pattern. Without patterns it is only looked what is there.
func (c *Client) RemoveCheckpointFiles(ctx context.Context, uuids, globs []string) error {
	return c.post(ctx, "/checkpoints/rm", v1.CheckpointsRemoveFilesRequest{CheckpointUUIDs: uuids, CheckpointGlobs: globs}, nil)
}

// PreviewGC says what a policy would remove of an experiment's checkpoints. A
// number that is left out is the experiment's own.
func (c *Client) PreviewGC(ctx context.Context, id int, policy url.Values) (*v1.PreviewGCResponse, error) {
	var all v1.PreviewGCResponse
	for {
		page, query := v1.PreviewGCResponse{}, maps.Clone(policy)
		if n := len(all.Checkpoints); n > 0 {
			query.Set("offset", strconv.Itoa(n))
		}
		if err := c.get(ctx, "/"+experimentPath(id)+"/preview_gc", query, &page); err != nil {
			return nil, err
		}
		all.Checkpoints = append(all.Checkpoints, page.Checkpoints...)
		all.MetricName, all.Total = page.MetricName, page.Total
		if len(page.Checkpoints) == 0 || len(all.Checkpoints) >= page.Total {
			return &all, nil
		}
	}
}

// Collections says what was removed of an experiment's files.
func (c *Client) Collections(ctx context.Context, id int) (*v1.GetCollectionsResponse, error) {
	var out v1.GetCollectionsResponse
	if err := c.get(ctx, "/detent"+experimentPath(id)+"/collections", nil, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// Freed reports what a task has removed. What is done may be said twice.
func (c *Client) Freed(ctx context.Context, task string, freed v1.FreedRequest) error {
	k := call{method: http.MethodPost, path: "/detent/collections/" + url.PathEscape(task) + "/freed", in: freed}
	if freed.Error == "" {
		k.repeat = safely
	}
	return c.do(ctx, k, nil)
}
