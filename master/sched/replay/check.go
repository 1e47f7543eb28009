package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sched/record"
)

// A Check is how many of the recorded plans the planner makes again.
type Check struct {
	Plans       int `json:"plans"`
	Placements  int `json:"placements"`
	Preemptions int `json:"preemptions"`
	Deviations  int `json:"deviations"` // placements and preemptions that one of the two has and the other has not
	Gaps        int `json:"gaps"`       // times that were not recorded
	// First is the first deviation; nil if there is none.
	First *Deviation `json:"first,omitempty"`
}

// A Deviation is a decision that was recorded and not made again, or made and not recorded.
type Deviation struct {
	At      time.Time `json:"at"`
	Pool    string    `json:"pool"`
	Attempt string    `json:"attempt"`
	Why     string    `json:"why"`
}

// Parts divides a recording into parts that can be checked at the same time: each begins with a whole frame of its pool.
func Parts(frames []*record.Frame) (parts [][]*record.Frame) {
	of := map[string]int{}
	for _, f := range frames {
		i, open := of[f.Pool]
		if f.Whole || !open {
			i = len(parts)
			parts, of[f.Pool] = append(parts, nil), i
		}
		parts[i] = append(parts[i], f)
	}
	return parts
}

// CheckPart makes the plans of a part again.
func CheckPart(frames []*record.Frame) (c Check, err error) {
	var s record.State
	for _, f := range frames {
		if err := s.Add(f); err != nil {
			return c, err
		}
		if f.Gap != "" {
			c.Gaps++
		}
		if !s.Known || !f.Planned {
			continue
		}
		c.Plans++
		r := s.Plan()
		c.compare(f, &r)
	}
	return c, nil
}

// Add adds what another part has.
func (c *Check) Add(o Check) {
	c.Plans, c.Placements, c.Preemptions = c.Plans+o.Plans, c.Placements+o.Placements, c.Preemptions+o.Preemptions
	c.Deviations, c.Gaps = c.Deviations+o.Deviations, c.Gaps+o.Gaps
	if o.First != nil && (c.First == nil || o.First.At.Before(c.First.At)) {
		c.First = o.First
	}
}

// compare compares a recorded plan with the one that was made again.
func (c *Check) compare(f *record.Frame, r *sched.Result) {
	c.Placements, c.Preemptions = c.Placements+len(f.Place), c.Preemptions+len(f.Preempt)
	deviates := func(id, format string, args ...any) {
		if c.Deviations++; c.First == nil {
			c.First = &Deviation{At: record.Time(f.At), Pool: f.Pool, Attempt: id, Why: fmt.Sprintf(format, args...)}
		}
	}
	again := map[string]sched.Placement{}
	for _, p := range r.Place {
		again[p.ID] = p
	}
	for _, p := range f.Place {
		q, placed := again[p.ID]
		delete(again, p.ID)
		switch {
		case !placed:
			deviates(p.ID, "it was placed on %s, and now it waits: %s", words(p.Parts), r.Waiting[p.ID])
		case !slices.EqualFunc(p.Parts, q.Parts, samePart):
			deviates(p.ID, "it was placed on %s, and now on %s", words(p.Parts), words(record.PartsOf(q.Parts)))
		case !q.LentUntil.Equal(record.Time(p.LentUntil)):
			deviates(p.ID, "its slots were lent until %s, and now until %s", record.Time(p.LentUntil), q.LentUntil)
		}
	}
	for _, p := range r.Place {
		if _, more := again[p.ID]; more {
			deviates(p.ID, "it waited, and now it is placed on %s", words(record.PartsOf(p.Parts)))
		}
	}
	left := map[string]string{}
	for _, p := range r.Preempt {
		left[p.ID] = p.Reason
	}
	for _, p := range f.Preempt {
		if _, leaves := left[p.ID]; !leaves {
			deviates(p.ID, "it was preempted, and now it is not")
		}
		delete(left, p.ID)
	}
	for _, p := range r.Preempt {
		if why, more := left[p.ID]; more {
			deviates(p.ID, "it was not preempted, and now it is: %s", why)
		}
	}
}

func samePart(a record.Part, b sched.Part) bool {
	return a.Node == b.NodeID && a.MHz == b.Uses.MHz && a.MemoryMB == b.Uses.MemoryMB && slices.Equal(a.Slots, b.SlotIDs)
}

// words names the nodes and slots of a placement.
func words(parts []record.Part) (text string) {
	for i, p := range parts {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("node %s (slots %v)", p.Node, p.Slots)
	}
	return text
}
