package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Info returns the public description of a master, undecoded.
func (c *Client) Info(ctx context.Context) (map[string]any, error) {
	data, err := c.Raw(ctx, http.MethodGet, "/info", nil)
	if err != nil {
		return nil, err
	}
	info := map[string]any{}
	if err := json.Unmarshal(data, &info); err != nil {
		return nil, fault.New(fault.Internal, "%s does not seem to be a master: its answer to GET /info is not JSON", c.base)
	}
	return info, nil
}

// MasterInfo returns what clients need to know about the master.
func (c *Client) MasterInfo(ctx context.Context) (*v1.GetMasterResponse, error) {
	return get(ctx, c, v1.GetMaster, nil)
}

// MasterConfig returns the master's configuration without its secrets, as JSON.
func (c *Client) MasterConfig(ctx context.Context) (json.RawMessage, error) {
	out, err := get(ctx, c, v1.GetMasterConfig, nil)
	return json.RawMessage(out.Config), err
}

// PatchMasterConfig changes the configuration of the running masters.
func (c *Client) PatchMasterConfig(ctx context.Context, req v1.PatchMasterConfigRequest) error {
	_, err := post(ctx, c, v1.PatchMasterConfig, req)
	return err
}

// MasterLogs reads the log of the masters; a negative offset counts from the end.
func (c *Client) MasterLogs(ctx context.Context, follow bool, offset int) iter.Seq2[v1.MasterLogsResponse, error] {
	return stream[v1.MasterLogsResponse](ctx, c, v1.StreamMasterLogs, &v1.GetMasterLogsRequest{Follow: follow, Window: v1.Window{Offset: offset}})
}

// ClusterMessage reads the message to all users; nil for none.
func (c *Client) ClusterMessage(ctx context.Context) (*v1.GetClusterMessageResponse, error) {
	return get(ctx, c, v1.GetClusterMessage, nil)
}

// SetClusterMessage sets the message to all users.
func (c *Client) SetClusterMessage(ctx context.Context, req v1.SetClusterMessageRequest) error {
	_, err := post(ctx, c, v1.SetClusterMessage, req)
	return err
}

// ClearClusterMessage clears the message to all users.
func (c *Client) ClearClusterMessage(ctx context.Context) error {
	return act(ctx, c, v1.DeleteClusterMessage)
}
