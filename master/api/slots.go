package api

import (
	"context"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerSlots() {
	rest.ServeOn(a.router, v1.ListSlots, a.onNode(), a.listSlots)
	rest.ServeOn(a.router, v1.GetSlot, a.onSlot(), a.slot)
	rest.ServeOn(a.router, v1.EnableSlot, a.onSlot(), a.enableSlot)
	rest.ServeOn(a.router, v1.DisableSlot, a.onSlot(), a.disableSlot)
	rest.ServeOn(a.router, v1.GetPoolSlot, a.onSlot(), a.slot)
	rest.ServeOn(a.router, v1.EnablePoolSlot, a.onSlot(), a.enableSlot)
	rest.ServeOn(a.router, v1.DisablePoolSlot, a.onSlot(), a.disableSlot)
}

func (a *API) listSlots(_ context.Context, _ *rest.Call, n node, _ *v1.None) (*v1.SlotsResponse, error) {
	w := n.agent
	resp := &v1.SlotsResponse{Slots: []v1.Slot{}}
	for _, id := range slices.Sorted(maps.Keys(w.Slots)) {
		resp.Slots = append(resp.Slots, w.Slots[id])
	}
	return resp, nil
}

// slotOf finds the slot in the path, on its node.
func (a *API) slotOf(ctx context.Context, c *rest.Call) (nodeSlot, error) {
	n, err := a.nodeOf(ctx, c)
	if err != nil {
		return nodeSlot{}, err
	}
	id := c.Param("slot")
	if pool := c.Param("pool"); pool != "" {
		id = pool + "/" + id
	}
	s, ok := n.agent.Slots[id]
	if !ok {
		return nodeSlot{}, fault.New(fault.NotFound, "node %s has no slot %s; det slot list shows its slots", n.agent.ID, fault.Clip(id))
	}
	return nodeSlot{s, n.row}, nil
}

func (a *API) slot(_ context.Context, _ *rest.Call, s nodeSlot, _ *v1.None) (*v1.SlotResponse, error) {
	return &v1.SlotResponse{Slot: s.slot}, nil
}

func (a *API) enableSlot(ctx context.Context, c *rest.Call, s nodeSlot, _ *v1.None) (*v1.SlotResponse, error) {
	return a.slotAfter(ctx, c, nodes.EnableSlot(ctx, a.db.DB, s.row.ID, slotKey(s.slot)))
}

func (a *API) disableSlot(ctx context.Context, c *rest.Call, s nodeSlot, req *v1.DisableRequest) (*v1.SlotResponse, error) {
	return a.slotAfter(ctx, c, nodes.DisableSlot(ctx, a.db.DB, s.row.ID, slotKey(s.slot), req.Drain))
}

// slotAfter returns the slot after it was enabled or disabled; err is the error of that change.
func (a *API) slotAfter(ctx context.Context, c *rest.Call, err error) (*v1.SlotResponse, error) {
	if err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	s, err := a.slotOf(ctx, c)
	return &v1.SlotResponse{Slot: s.slot}, err
}

// slotKey is the key of a slot in the store.
func slotKey(s v1.Slot) string {
	return sched.Slot{ID: s.Device.ID, Device: s.Device.UUID}.Key(s.ResourcePool)
}
