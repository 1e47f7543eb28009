package api

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) listDiskUse(ctx context.Context, c *call, req *v1.GetListRequest) (*v1.GetDiskUseResponse, error) {
	used, err := a.db.DiskUses(ctx, c.scope)
	if err != nil {
		return nil, err
	}
	used, page, err := cut(used, req.Window)
	resp := &v1.GetDiskUseResponse{Pagination: &page, Workspaces: make([]v1.DiskUse, len(used))}
	for i, u := range used {
		resp.Workspaces[i] = v1.DiskUse(u)
	}
	return resp, err
}
