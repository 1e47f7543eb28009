package reservations

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (d Deps) list(ctx context.Context, c *rest.Call, req *v1.GetReservationsRequest) (*v1.GetReservationsResponse, error) {
	if req.ResourcePool != "" && d.Pools.Named(req.ResourcePool) == nil {
		return nil, fault.New(fault.NotFound, "resource pool %q not found", fault.Clip(req.ResourcePool))
	}
	list, err := All(ctx, d.DB, req.ResourcePool)
	if err != nil {
		return nil, err
	}
	list, page, err := rest.Cut(list, req.Window)
	shown := each.Of(list, func(v Reservation) v1.Reservation { return v.wire(c.Who(), time.Now()) })
	return &v1.GetReservationsResponse{Reservations: shown, Pagination: page}, err
}

// wire is a reservation for a caller. Everybody who waits for slots may know when slots are reserved; for whom and why is known to those who see
// the workspace.
func (v Reservation) wire(to auth.Who, now time.Time) v1.Reservation {
	out := v1.Reservation{ID: v.ID, ResourcePool: v.Pool, Slots: v.Slots, Agents: v.NodeNames, StartTime: v.BeginsAt, EndTime: v.EndsAt,
		Active: !now.Before(v.BeginsAt)}
	if v.WorkspaceID != nil && !auth.Sees(to, auth.Object{Kind: v1.KindWorkspace, WorkspaceID: *v.WorkspaceID, OwnerID: v.WorkspaceOwner}) {
		return out
	}
	out.WorkspaceID, out.WorkspaceName, out.UserID, out.Username = optional.Value(v.WorkspaceID), v.Workspace, optional.Value(v.UserID), v.Username
	out.Note, out.CreatedBy = v.Note, v.Creator
	return out
}
