package server

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/store"
)

// What a task gets of its node, as Nomad is told. Nomad keeps others' jobs off what
// it was told, so it is told the truth: a slot's cores at their clock, and its memory.
const (
	// A task of no slots gets a little of everything.
	auxMHz = 100
	// slotMHz is what a core counts where an operator has said how many slots a node
	// has, whatever its size: what such a slot is nobody knows.
	slotMHz = 100
	// pagesMemoryMB is what JupyterLab with a kernel, or TensorBoard beside
	// TensorFlow, needs at least. Nomad enforces it under every driver.
	pagesMemoryMB = 1024
	// slotMemoryMB is that of a slot of which nothing else is known.
	slotMemoryMB = 1024
	// roomPart of a node, one in so many parts, is left to tasks without slots and to
	// what else is small there.
	roomPart = 8
)

// member gives a member its share of its node.
func (m *master) member(of *pool.Pool, s store.ToSubmit, x store.LiveMember) (jobspecs.Member, error) {
	j := jobspecs.Member{NodeID: x.NodeID, NodeName: x.NodeName, DeviceIDs: x.Devices}
	for _, id := range x.SlotIDs {
		j.SlotIDs = append(j.SlotIDs, int(id))
	}
	j.MemoryMB, j.MHz = of.AuxMemoryMB, auxMHz
	if n := len(j.SlotIDs); n > 0 {
		var node cluster.Node
		if raw := s.Nodes[x.NodeID]; len(raw) > 0 {
			if err := json.Unmarshal(raw, &node); err != nil {
				return j, fmt.Errorf("inventory of node %s: %w", x.NodeName, err)
			}
		}
		memory, mhz := slotShare(of.Slots, node)
		j.MemoryMB, j.MHz = n*memory, n*mhz
	}
	if s.TaskType == "NOTEBOOK" || s.TaskType == "TENSORBOARD" {
		j.MemoryMB = max(j.MemoryMB, pagesMemoryMB)
	}
	asked, err := memoryOf(s)
	if asked != nil {
		j.MemoryMB = int((int64(*asked) + 1<<20 - 1) >> 20)
	}
	return j, err
}

// slotShare is what one slot of a node is worth. Slots that are devices share what
// the node has, unless the pool says how much memory comes with each.
func slotShare(cut pool.Slots, n cluster.Node) (memoryMB, mhz int) {
	memoryMB, mhz = cut.MemoryMBPerSlot, max(cut.CoresPerSlot, 1)*slotMHz
	free := 0
	for _, s := range cluster.SlotsOf(n, cut) {
		if s.Taken == "" {
			free++
		}
	}
	known := free > 0 && cut.PerNode == 0
	if known && n.Cores > 0 {
		mhz = min(max(cut.CoresPerSlot, 1)*n.MHz/n.Cores, (n.FreeMHz-n.FreeMHz/roomPart)/free)
	}
	if memoryMB == 0 && known {
		memoryMB = (n.FreeMemoryMB - n.FreeMemoryMB/roomPart) / free
	}
	if memoryMB == 0 {
		memoryMB = slotMemoryMB
	}
	return memoryMB, mhz
}

// memoryOf is the memory that a task asks for on each of its nodes; nil where it
// leaves that to its slots.
func memoryOf(s store.ToSubmit) (*expconf.ByteSize, error) {
	switch {
	case s.TrialID != nil:
		cfg, err := expconf.ParseConfigJSON(s.Config)
		if err != nil {
			return nil, fmt.Errorf("the configuration of experiment %d: %w", deref(s.ExperimentID), err)
		}
		return cfg.Resources.Memory, nil
	case collects(s) || len(s.TaskConfig) == 0:
		return nil, nil
	}
	cfg, err := expconf.ParseCommandConfigJSON(s.TaskConfig)
	if err != nil {
		return nil, fmt.Errorf("the configuration of task %s: %w", s.TaskID, err)
	}
	return cfg.Resources.Memory, nil
}
