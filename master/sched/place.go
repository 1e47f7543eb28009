package sched

import "time"

// Insert finds a place in a queue for somebody who is to stand before the one at
// an index, or at its end: the moment that they are to be taken to have queued at.
// The moments of the others are given in their order; where two of them leave no
// room between them, those behind move back as little as they must, and shifted
// has their new moments by index.
func Insert(queue []time.Time, at int) (moment time.Time, shifted map[int]time.Time) {
	const step = time.Microsecond // what the database can tell apart
	switch {
	case len(queue) == 0:
		return time.Time{}, nil
	case at == 0:
		return queue[0].Add(-step), nil
	}
	before := queue[at-1]
	moment = before.Add(step)
	if at == len(queue) {
		return moment, nil
	}
	if room := queue[at].Sub(before); room >= 2*step {
		return before.Add((room / 2).Truncate(step)), nil
	}
	shifted = map[int]time.Time{}
	last := moment
	for i := at; i < len(queue) && !queue[i].After(last); i++ {
		last = last.Add(step)
		shifted[i] = last
	}
	return moment, shifted
}
