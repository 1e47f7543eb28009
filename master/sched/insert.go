package sched

import "time"

// Insert finds the queue time that puts a job before the one at index at, or at the end of
// the queue. queue holds the queue times of the jobs in their order. Where two of these
// times leave no room between them, Insert moves the later jobs back, with room for the next ones,
// and shifted has their new times by index.
func Insert(queue []time.Time, at int) (moment time.Time, shifted map[int]time.Time) {
	const (
		step = time.Microsecond // what the database can tell apart
		room = time.Millisecond
	)
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
	if gap := queue[at].Sub(before); gap >= 2*step {
		return before.Add((gap / 2).Truncate(step)), nil
	}
	shifted = map[int]time.Time{}
	last := moment
	for i := at; i < len(queue) && !queue[i].After(last); i++ {
		last = last.Add(room)
		shifted[i] = last
	}
	return moment, shifted
}
