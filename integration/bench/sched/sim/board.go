package sim

import (
	"slices"

	"github.com/detent-ml/detent/master/sched"
)

// A board is what is free on the nodes, for policies that do not use the code of sched. A node
// that is out has no slots.
type board struct {
	nodes []sched.Node
	index map[string]int // node id → index
	ids   [][]int        // free slots of each node
	free  []int          // how many slots of each node can be given
	size  []int          // how many slots each node has
	most  int            // slots of the largest node, also of one that is out
}

// newBoard returns the slots that running jobs leave free. With alone, a node with a part of a job of
// several nodes gives nothing to others.
func newBoard(nodes []sched.Node, running []sched.Running, alone bool) *board {
	b := &board{nodes: nodes, index: make(map[string]int, len(nodes)), ids: make([][]int, len(nodes)), free: make([]int, len(nodes)), size: make([]int, len(nodes))}
	taken := make([]map[int]bool, len(nodes))
	for i := range nodes {
		b.index[nodes[i].ID] = i
		b.most = max(b.most, len(nodes[i].Slots))
		taken[i] = map[int]bool{}
	}
	for _, x := range running {
		for _, p := range x.Parts {
			for _, id := range p.SlotIDs {
				taken[b.index[p.NodeID]][id] = true
			}
		}
	}
	for i := range nodes {
		if !nodes[i].Schedulable {
			continue
		}
		b.size[i] = len(nodes[i].Slots)
		for _, s := range nodes[i].Slots {
			if !taken[i][s.ID] {
				b.ids[i] = append(b.ids[i], s.ID)
			}
		}
		b.free[i] = len(b.ids[i])
	}
	if alone {
		for _, x := range running {
			if len(x.Parts) > 1 {
				for _, p := range x.Parts {
					b.free[b.index[p.NodeID]] = 0
				}
			}
		}
	}
	return b
}

// nodesFor returns the number of a job's nodes, and the slots of its largest part.
func (b *board) nodesFor(slots int) (nodes, part int) {
	nodes = max(1, (slots+b.most-1)/b.most)
	return nodes, (slots + nodes - 1) / nodes
}

// fullest chooses as few nodes as possible for a job, of those with enough free slots the fullest; nil if
// there are too few.
func (b *board) fullest(slots int, free func(i int) int) []int {
	k, part := b.nodesFor(slots)
	var found []int
	for n := part; n <= b.most; n++ {
		for i := range b.nodes {
			if free(i) == n {
				if found = append(found, i); len(found) == k {
					return found
				}
			}
		}
	}
	return nil
}

// dedicated chooses nodes by Determined's rule: the fullest node that holds the job, else idle nodes for
// it alone.
func (b *board) dedicated(slots int) []int {
	k, _ := b.nodesFor(slots)
	if k == 1 {
		return b.fullest(slots, func(i int) int { return b.free[i] })
	}
	var found []int
	for i := range b.nodes {
		if b.free[i] == b.most {
			if found = append(found, i); len(found) == k {
				return found
			}
		}
	}
	return nil
}

// give takes a job's slots on these nodes out of the free ones, in parts as equal as possible.
func (b *board) give(slots int, on []int) []sched.Part {
	parts := make([]sched.Part, len(on))
	for j, i := range on {
		n := (slots + len(on) - 1 - j) / len(on)
		parts[j] = sched.Part{NodeID: b.nodes[i].ID, SlotIDs: b.ids[i][:n:n]}
		b.ids[i] = b.ids[i][n:]
		b.free[i] -= n
	}
	return parts
}

// byArrival orders requests by their arrival.
func byArrival(queued []sched.Request) []*sched.Request {
	order := make([]*sched.Request, len(queued))
	for i := range queued {
		order[i] = &queued[i]
	}
	slices.SortFunc(order, earlier)
	return order
}
