package sim

import (
	"cmp"
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
	b := newBoard(nodes, running, false)
	failed := map[int]bool{} // numbers of slots that do not fit until a job ends
	for _, q := range byArrival(queued) {
		if failed[q.Slots] {
			continue
		}
		on := b.fullest(q.Slots, func(i int) int { return b.free[i] })
		switch {
		case on != nil:
			r.Place = append(r.Place, sched.Placement{ID: q.ID, Parts: b.give(q.Slots, on)})
		case strict:
			return r
		default:
			failed[q.Slots] = true
		}
	}
	return r
}

// earlier orders requests by the time of their arrival.
func earlier(a, b *sched.Request) int {
	return cmp.Or(a.QueuedAt.Compare(b.QueuedAt), cmp.Compare(a.ID, b.ID))
}
