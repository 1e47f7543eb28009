package nodes

import (
	"context"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sched"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A nodeSlot is a slot with its node.
type nodeSlot struct {
	v1.Slot
	node string // by its row
}

func (d Deps) onSlot() rest.Object[nodeSlot] {
	return rest.Object[nodeSlot]{Load: d.slotOf, Of: func(nodeSlot) auth.Object { return auth.Object{Kind: v1.KindAgent} }}
}

func (d Deps) listSlots(_ context.Context, _ *rest.Call, n agent, _ *v1.None) (*v1.SlotsResponse, error) {
	return &v1.SlotsResponse{Slots: each.Of(slices.Sorted(maps.Keys(n.Slots)), func(id string) v1.Slot { return n.Slots[id] })}, nil
}

// slotOf finds the slot in the path, on its node.
func (d Deps) slotOf(ctx context.Context, c *rest.Call) (nodeSlot, error) {
	n, err := d.nodeOf(ctx, c)
	if err != nil {
		return nodeSlot{}, err
	}
	id := c.Param("slot")
	if pool := c.Param("pool"); pool != "" {
		id = pool + "/" + id
	}
	s, ok := n.Slots[id]
	if !ok {
		return nodeSlot{}, fault.New(fault.NotFound, "node %s has no slot %s; det slot list shows its slots", n.ID, fault.Clip(id))
	}
	return nodeSlot{s, n.row.ID}, nil
}

func (d Deps) slot(_ context.Context, _ *rest.Call, s nodeSlot, _ *v1.None) (*v1.SlotResponse, error) {
	return &v1.SlotResponse{Slot: s.Slot}, nil
}

func (d Deps) enableSlot(ctx context.Context, c *rest.Call, s nodeSlot, _ *v1.None) (*v1.SlotResponse, error) {
	return d.slotAfter(ctx, c, EnableSlot(ctx, d.DB, s.node, slotKey(s.Slot)))
}

func (d Deps) disableSlot(ctx context.Context, c *rest.Call, s nodeSlot, req *v1.DisableRequest) (*v1.SlotResponse, error) {
	return d.slotAfter(ctx, c, DisableSlot(ctx, d.DB, s.node, slotKey(s.Slot), req.Drain))
}

// slotAfter returns the slot after it was enabled or disabled; err is the error of that change.
func (d Deps) slotAfter(ctx context.Context, c *rest.Call, err error) (*v1.SlotResponse, error) {
	if err != nil {
		return nil, err
	}
	d.Changed()
	s, err := d.slotOf(ctx, c)
	return &v1.SlotResponse{Slot: s.Slot}, err
}

// slotKey is the key of a slot in the rows.
func slotKey(s v1.Slot) string {
	return sched.Slot{ID: s.Device.ID, Device: s.Device.UUID}.Key(s.ResourcePool)
}
