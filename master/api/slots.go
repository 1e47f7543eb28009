package api

import (
	"context"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerSlots() {
	serve(a, v1.ListSlots, a.listSlots)
	serve(a, v1.GetSlot, a.slot)
	serve(a, v1.EnableSlot, a.enableSlot)
	serve(a, v1.DisableSlot, a.disableSlot)
	serve(a, v1.GetPoolSlot, a.slot)
	serve(a, v1.EnablePoolSlot, a.enableSlot)
	serve(a, v1.DisablePoolSlot, a.disableSlot)
}

func (a *API) listSlots(ctx context.Context, c *call, _ *v1.None) (*v1.SlotsResponse, error) {
	w, _, err := a.agentFor(ctx, c)
	if err != nil {
		return nil, err
	}
	resp := &v1.SlotsResponse{Slots: []v1.Slot{}}
	for _, id := range slices.Sorted(maps.Keys(w.Slots)) {
		resp.Slots = append(resp.Slots, w.Slots[id])
	}
	return resp, nil
}

// slotFor finds the slot of the path, on its node.
func (a *API) slotFor(ctx context.Context, c *call) (v1.Slot, store.NodeRow, error) {
	w, n, err := a.agentFor(ctx, c)
	if err != nil {
		return v1.Slot{}, n, err
	}
	id := c.Params("slot")
	if pool := c.Params("pool"); pool != "" {
		id = pool + "/" + id
	}
	s, ok := w.Slots[id]
	if !ok {
		return s, n, fault.New(fault.NotFound, "node %s has no slot %s; det slot list shows those that it has", w.ID, clip(id))
	}
	return s, n, nil
}

func (a *API) slot(ctx context.Context, c *call, _ *v1.None) (*v1.SlotResponse, error) {
	s, _, err := a.slotFor(ctx, c)
	return &v1.SlotResponse{Slot: s}, err
}

func (a *API) enableSlot(ctx context.Context, c *call, _ *v1.None) (*v1.SlotResponse, error) {
	return a.wantSlot(ctx, c, func(n store.NodeRow, key string) error { return a.db.EnableSlot(ctx, n.ID, key) })
}

func (a *API) disableSlot(ctx context.Context, c *call, req *v1.DisableRequest) (*v1.SlotResponse, error) {
	return a.wantSlot(ctx, c, func(n store.NodeRow, key string) error { return a.db.DisableSlot(ctx, n.ID, key, req.Drain) })
}

func (a *API) wantSlot(ctx context.Context, c *call, want func(n store.NodeRow, key string) error) (*v1.SlotResponse, error) {
	s, n, err := a.slotFor(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := want(n, slotKey(s)); err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	return a.slot(ctx, c, nil)
}

// slotKey is by what a slot is known to the store.
func slotKey(s v1.Slot) string {
	return sched.Slot{ID: s.Device.ID, Device: s.Device.UUID}.Key(s.ResourcePool)
}
