package replay

import "time"

// An event happens at a time: a job comes, a run ends or has left, or a pool is planned.
type event struct {
	at     time.Time
	job    *job
	site   *site
	run    *run
	turn   int  // of the run's start
	cancel bool // the run ends, also if it waits
	due    bool // a plan of the pool may be made again
}

// events are a heap: the first is the soonest.
type events []event

func (h *events) add(e event) {
	*h = append(*h, e)
	list := *h
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !list[i].at.Before(list[up].at) {
			return
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

func (h *events) take() event {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	list[last] = event{}
	list = list[:last]
	for i := 0; ; {
		least := i
		for _, down := range []int{2*i + 1, 2*i + 2} {
			if down < last && list[down].at.Before(list[least].at) {
				least = down
			}
		}
		if least == i {
			break
		}
		list[i], list[least] = list[least], list[i]
		i = least
	}
	*h = list
	return first
}
