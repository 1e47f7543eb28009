package reservations

import (
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spelling"
)

// A site is what a pool has, by the ids of its nodes.
type site struct {
	pool      string
	slots     map[string]int    // that tasks can use
	names     map[string]string // of all nodes
	more      int               // slots that an autoscaler could add
	unbounded bool              // it could add any number
}

// graceful is how far in the past a start may be that was meant to be now.
const graceful = time.Minute

// checkTime returns why a reservation cannot be at its time.
func (v Reservation) checkTime(now time.Time) error {
	length := v.EndsAt.Sub(v.BeginsAt)
	switch {
	case !v.EndsAt.After(now):
		return fault.New(fault.Invalid, "endTime: %s is in the past", v.EndsAt.UTC().Format(time.RFC3339))
	case v.BeginsAt.Before(now.Add(-graceful)):
		return fault.New(fault.Invalid, "startTime: %s is in the past; leave it out for a reservation that begins now", v.BeginsAt.UTC().Format(time.RFC3339))
	case length < minLength:
		return fault.New(fault.Invalid, "endTime: a reservation lasts for at least %s, found %s", minLength, max(length, 0))
	case length > maxLength:
		return fault.New(fault.Invalid, "endTime: a reservation lasts for at most %d days, found %.1f", int(maxLength.Hours()/24), length.Hours()/24)
	case v.BeginsAt.After(now.Add(maxAhead)):
		return fault.New(fault.Invalid, "startTime: a reservation begins at most %d days from now, found %.1f", int(maxAhead.Hours()/24), v.BeginsAt.Sub(now).Hours()/24)
	}
	return nil
}

// checkWhat returns why it reserves nothing that can be reserved.
func (v Reservation) checkWhat() error {
	owned := v.WorkspaceID != nil || v.UserID != nil
	switch {
	case len(v.Note) > maxNote:
		return fault.New(fault.Invalid, "note: at most %d bytes, found %d", maxNote, len(v.Note))
	case v.Slots != 0 && v.IsMaintenance():
		return fault.New(fault.Invalid, "slots and agents are both set: reserve slots for somebody, or take agents out of use for a maintenance")
	case v.Slots == 0 && !v.IsMaintenance():
		return fault.New(fault.Invalid, "set slots, to reserve them for a workspace or a user, or agents, to take these nodes out of use for a maintenance")
	case v.Slots < 0:
		return fault.New(fault.Invalid, "slots: expected a positive number, found %d", v.Slots)
	case v.Slots > maxSlots:
		return fault.New(fault.Invalid, "slots: at most %d are in one reservation, found %d", maxSlots, v.Slots)
	case !v.IsMaintenance() && !owned:
		return fault.New(fault.Invalid, "set workspaceId, userId or both: slots are reserved for the tasks of a workspace, of a user, or of a user in a workspace")
	case v.IsMaintenance() && owned:
		return fault.New(fault.Invalid, "agents: a maintenance is for nobody; leave workspaceId and userId out, or reserve slots instead of nodes")
	case len(v.Nodes) > maxNodes:
		return fault.New(fault.Invalid, "agents: at most %d nodes are in one maintenance, found %d", maxNodes, len(v.Nodes))
	}
	return nil
}

// fits returns why a reservation has no room in its pool, beside others that have not ended.
func (v Reservation) fits(on site, others []Reservation) error {
	here := slices.DeleteFunc(slices.Clone(others), func(w Reservation) bool { return w.Pool != v.Pool })
	if len(here) >= maxOfPool {
		return fault.New(fault.TooMany, "pool %s has %d reservations that have not ended, and no more are allowed; cancel one first", v.Pool, len(here))
	}
	if v.IsMaintenance() {
		return v.fitsOther(others, on)
	}
	if on.unbounded {
		return nil
	}
	all := on.more
	for _, n := range on.slots {
		all += n
	}
	if v.Slots > all {
		return fault.New(fault.Invalid, "slots: pool %s has %s that tasks can use, and %d are asked for", v.Pool, spelling.Count(all, "slot"), v.Slots)
	}
	if most, at := v.reservedBeside(on, others); most+v.Slots > all {
		return fault.New(fault.Conflict, "slots: of the %s of pool %s, %d are reserved or in maintenance already at %s; at most %d more can be reserved %s",
			spelling.Count(all, "slot"), v.Pool, most, at.UTC().Format(time.RFC3339), max(0, all-most), v.when())
	}
	return nil
}

// fitsOther returns which other maintenance has one of its nodes at the same time.
func (v Reservation) fitsOther(others []Reservation, on site) error {
	for _, w := range others {
		for _, id := range w.Nodes {
			if v.overlaps(w) && slices.Contains(v.Nodes, id) {
				return fault.New(fault.Conflict, "agents: node %s is in maintenance %s already (reservation %d)", on.names[id], w.when(), w.ID)
			}
		}
	}
	return nil
}

// reservedBeside is how many slots of the pool others have at the same time, at most, and when.
func (v Reservation) reservedBeside(on site, others []Reservation) (most int, at time.Time) {
	times := []time.Time{v.BeginsAt}
	for _, w := range others {
		if w.overlaps(v) && w.BeginsAt.After(v.BeginsAt) {
			times = append(times, w.BeginsAt)
		}
	}
	for _, t := range times {
		n := 0
		for _, w := range others {
			if w.BeginsAt.After(t) || !w.EndsAt.After(t) {
				continue
			}
			if w.Pool == v.Pool {
				n += w.Slots
			}
			for _, id := range w.Nodes {
				n += on.slots[id]
			}
		}
		if n > most {
			most, at = n, t
		}
	}
	return most, at
}

// find resolves the nodes of a maintenance, by their ids or by their names.
func (s site) find(given []string) (ids []string, err error) {
	for _, text := range given {
		id := ""
		if _, there := s.names[text]; there {
			id = text
		} else {
			var named []string
			for x, name := range s.names {
				if name == text {
					named = append(named, x)
				}
			}
			if len(named) > 1 {
				slices.Sort(named)
				return nil, fault.New(fault.Invalid, "agents: several nodes of pool %s have the name %q; give one of the ids %s", s.pool, fault.Clip(text), strings.Join(named, ", "))
			}
			if len(named) == 1 {
				id = named[0]
			}
		}
		if id == "" {
			return nil, fault.New(fault.NotFound, "agents: node %q is not in pool %s; det agent list lists nodes", fault.Clip(text), s.pool)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
