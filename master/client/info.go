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

// MasterLogs reads the log of the masters; a negative offset counts from the end.
func (c *Client) MasterLogs(ctx context.Context, follow bool, offset int) iter.Seq2[v1.MasterLogsResponse, error] {
	return stream[v1.MasterLogsResponse](ctx, c, v1.StreamMasterLogs, &v1.GetMasterLogsRequest{Follow: follow, Window: v1.Window{Offset: offset}})
}
