package diskuse

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxStorers is the number of users that the list of disk use shows to administrators.
const maxStorers = 100

func (d Deps) list(ctx context.Context, c *rest.Call, req *v1.GetListRequest) (*v1.GetDiskUseResponse, error) {
	used, err := OfWorkspaces(ctx, d.DB, c.Scope())
	if err != nil {
		return nil, err
	}
	used, page, err := rest.Cut(used, req.Window)
	if err != nil {
		return nil, err
	}
	var users []Use
	if page.StartIndex == 0 {
		users, err = d.storers(ctx, c)
	}
	return &v1.GetDiskUseResponse{Pagination: &page, UserLimit: d.Users.Limit(),
		Workspaces: each.Of(used, func(u WorkspaceUse) v1.DiskUse { return v1.DiskUse(u) }),
		Users: each.Of(users, func(u Use) v1.UserDiskUse {
			return v1.UserDiskUse{UserID: u.UserID, Username: u.Username, CodeBytes: u.Code, LogBytes: u.Logs, MetricBytes: u.Metrics, RecordBytes: u.Records}
		})}, err
}

// storers lists the users who store the most, for administrators of the cluster; for others the caller.
func (d Deps) storers(ctx context.Context, c *rest.Call) ([]Use, error) {
	if auth.Can(c.Who(), auth.Administer, auth.Object{Kind: v1.KindCluster}) {
		return Most(ctx, d.DB, maxStorers)
	}
	own, err := Of(ctx, d.DB, c.Who().UserID)
	return []Use{own}, err
}
