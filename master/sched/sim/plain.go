package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// FIFO starts requests in the order of their arrival; none starts before an earlier one.
func FIFO(_ *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, _ time.Time) sched.Result {
	return plain(nodes, running, queued, true)
}

// BestFit starts every request that fits, in the order of arrival. A large request waits until enough
// slots happen to be free.
func BestFit(_ *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, _ time.Time) sched.Result {
	return plain(nodes, running, queued, false)
}

func plain(nodes []sched.Node, running []sched.Running, queued []sched.Request, strict bool) (r sched.Result) {
	free := make([][]int, len(nodes)) // slot ids
	taken := map[string]map[int]bool{}
	for _, x := range running {
		for _, p := range x.Parts {
			if taken[p.NodeID] == nil {
				taken[p.NodeID] = map[int]bool{}
			}
			for _, id := range p.SlotIDs {
				taken[p.NodeID][id] = true
			}
		}
	}
	largest := 0
	for i := range nodes {
		largest = max(largest, len(nodes[i].Slots))
		for _, s := range nodes[i].Slots {
			if nodes[i].Schedulable && !taken[nodes[i].ID][s.ID] {
				free[i] = append(free[i], s.ID)
			}
		}
	}
	order := slices.Clone(queued)
	slices.SortFunc(order, func(a, b sched.Request) int {
		return cmp.Or(a.QueuedAt.Compare(b.QueuedAt), cmp.Compare(a.ID, b.ID))
	})
	failed := map[int]bool{} // sizes that do not fit until something ends
	for i := range order {
		q := &order[i]
		parts := []sched.Part(nil)
		if !failed[q.Slots] {
			parts = fit(nodes, free, q.Slots, largest)
		}
		switch {
		case parts != nil:
			r.Place = append(r.Place, sched.Placement{ID: q.ID, Parts: parts})
		case strict:
			return r
		default:
			failed[q.Slots] = true
		}
	}
	return r
}

// fit chooses as few nodes as possible, the fullest first, and divides the request as equally as
// possible.
func fit(nodes []sched.Node, free [][]int, slots, largest int) []sched.Part {
	k := (slots + largest - 1) / largest
	part := (slots + k - 1) / k
	var found []int
	for n := part; n <= largest && len(found) < k; n++ {
		for i := range free {
			if len(free[i]) == n {
				if found = append(found, i); len(found) == k {
					break
				}
			}
		}
	}
	if len(found) < k {
		return nil
	}
	parts := make([]sched.Part, k)
	for j, i := range found {
		n := (slots + k - 1 - j) / k
		parts[j] = sched.Part{NodeID: nodes[i].ID, SlotIDs: free[i][:n:n]}
		free[i] = free[i][n:]
	}
	return parts
}
