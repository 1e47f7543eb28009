package jobspecs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Devices are asked for by their ids. Which ones a member gets is decided before
// its job is made: the scheduler knows what else is promised, and its rows, its
// tables and the program's own list all name the same devices. Nomad holds the
// constraint against each instance, so it gives exactly these or, when somebody
// else was faster, none: then the job waits, and is placed elsewhere.

// devices is what a member asks Nomad for, beside cores and memory.
func (t *Task) devices(rank int) []*api.RequestedDevice {
	ids := slices.Sorted(slices.Values(t.Members[rank].DeviceIDs))
	if len(ids) == 0 {
		return nil
	}
	return []*api.RequestedDevice{{
		Name:        t.Pool.Device(),
		Count:       new(uint64(len(ids))),
		Constraints: []*api.Constraint{{LTarget: "${device.ids}", Operand: "set_contains", RTarget: strings.Join(ids, ",")}},
	}}
}

// deviceProblems says what is wrong with the devices of a task.
func (t *Task) deviceProblems(bad func(format string, args ...any)) {
	for rank, m := range t.Members {
		if t.Pool.Device() == "" {
			if len(m.DeviceIDs) > 0 {
				bad("member %d: it was given devices, and the slots of pool %s are none", rank, t.Pool.Name)
			}
			continue
		}
		if len(m.DeviceIDs) != len(m.SlotIDs) {
			bad("member %d: it holds %d slots and %d devices; in pool %s each slot is a device", rank, len(m.SlotIDs), len(m.DeviceIDs), t.Pool.Name)
		}
		seen := map[string]bool{}
		for _, id := range m.DeviceIDs {
			// Nomad reads the list by its commas, and "${" as a name to look up.
			if id == "" || strings.ContainsAny(id, ", \t\n${}") || seen[id] {
				bad("member %d: %s is no id of a device of its own", rank, fmt.Sprintf("%q", id))
			}
			seen[id] = true
		}
	}
}
