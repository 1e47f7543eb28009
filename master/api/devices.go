package api

import (
	"slices"

	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A slot that is a device is identified by the device's id: its number is an index in its
// node's list, which changes when a device leaves the node.

// on reports whether a member holds a slot of a pool.
func on(h nodes.Holding, pool string, slot sched.Slot) bool {
	if slot.Device != "" && len(h.Devices) > 0 {
		return slices.Contains(h.Devices, slot.Device)
	}
	return h.Pool == pool && slices.Contains(h.SlotIDs, int32(slot.ID))
}

// holdingDevices are the slots of a member, as they are now or, if they have left the node, as
// they were.
func (a *API) holdingDevices(h nodes.Holding, slots map[int]sched.Slot) []v1.Device {
	devices := []v1.Device{}
	for i, id := range h.SlotIDs {
		slot, ok := slots[int(id)]
		if !ok {
			slot = sched.Slot{ID: int(id)}
		}
		if i < len(h.Devices) && slot.Device != h.Devices[i] {
			slot = byDevice(slots, h.Devices[i], int(id))
		}
		devices = append(devices, a.wireDevice(h.Pool, slot))
	}
	return devices
}

// byDevice finds a slot by its device.
func byDevice(slots map[int]sched.Slot, device string, id int) sched.Slot {
	for _, s := range slots {
		if s.Device == device {
			return s
		}
	}
	return sched.Slot{ID: id, Device: device}
}

// claimedDevices are a member's devices, for its runner.
func (a *API) claimedDevices(r store.Claimed) []v1.Device {
	if len(r.Devices) == 0 {
		return nil
	}
	slots := map[int]sched.Slot{}
	if r.Node != nil {
		slots = a.slotsOf(r.Pool, *r.Node)
	}
	h := nodes.Holding{Pool: r.Pool, Devices: r.Devices}
	for _, id := range r.SlotIDs {
		h.SlotIDs = append(h.SlotIDs, int32(id))
	}
	return a.holdingDevices(h, slots)
}
