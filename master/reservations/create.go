package reservations

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (d Deps) create(ctx context.Context, c *rest.Call, p *pool.Pool, req *v1.PostReservationRequest) (*v1.Reservation, error) {
	now := time.Now()
	v := Reservation{Pool: p.Name, Slots: req.Slots, Nodes: req.Agents, BeginsAt: optional.Or(req.StartTime, now), EndsAt: req.EndTime, Note: req.Note}
	if req.WorkspaceID != 0 {
		v.WorkspaceID = &req.WorkspaceID
	}
	if req.UserID != 0 {
		v.UserID = &req.UserID
	}
	if err := v.checkWhat(); err != nil {
		return nil, err
	}
	if err := v.checkTime(now); err != nil {
		return nil, err
	}
	if err := d.findOwner(ctx, v); err != nil {
		return nil, err
	}
	on, err := d.siteOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if v.Nodes, err = on.find(req.Agents); err != nil {
		return nil, err
	}
	creator := c.Who().UserID
	v.CreatorID = &creator
	set, err := insert(ctx, d.DB, v, func(others []Reservation) error { return v.fits(on, others) })
	if err != nil {
		return nil, err
	}
	d.Changed()
	made := set.wire(c.Who(), now)
	return &made, nil
}

// findOwner fails unless the workspace and the user exist, and the pool is open to the workspace.
func (d Deps) findOwner(ctx context.Context, v Reservation) error {
	if v.WorkspaceID != nil {
		ws, err := workspaces.Get(ctx, d.DB, *v.WorkspaceID)
		if err == nil {
			err = workspaces.Open(ctx, d.DB, v.Pool, ws)
		}
		if fault.Is(err, fault.Invalid) {
			return fault.New(fault.Invalid, "workspaceId: pool %s is not open to workspace %q: it is bound to other workspaces", v.Pool, fault.Clip(ws.Name))
		}
		if err != nil {
			return err
		}
	}
	if v.UserID != nil {
		if _, err := accounts.UserByID(ctx, d.DB, *v.UserID); err != nil {
			return err
		}
	}
	return nil
}

// siteOf counts what a pool has.
func (d Deps) siteOf(ctx context.Context, p *pool.Pool) (site, error) {
	list, err := nodes.List(ctx, d.DB)
	on := site{pool: p.Name, slots: map[string]int{}, names: map[string]string{}}
	for _, row := range list {
		n := d.Offer(p.Name, row)
		if n == nil {
			continue
		}
		on.names[row.ID] = row.Name
		for _, s := range n.Slots {
			if s.Healthy && s.Enabled {
				on.slots[row.ID]++
			}
		}
	}
	for _, class := range p.Classes {
		on.more += class.Max * class.Slots
		on.unbounded = on.unbounded || class.Max == 0 && class.Slots > 0
	}
	return on, err
}
