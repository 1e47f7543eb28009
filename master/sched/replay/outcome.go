package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// An Outcome is what a simulation did.
type Outcome struct {
	Plans int       `json:"plans"`
	Gap   float64   `json:"secondsBetweenPlans"` // on average at least, which a wait may be too long
	Teams []Team    `json:"teams"`
	Pools []PoolUse `json:"pools"`
}

// A Team is a workspace with what its jobs waited and used; the last one of an outcome is all together, without a name.
type Team struct {
	Workspace   string  `json:"workspace"`
	Jobs        int     `json:"jobs"`
	NotStarted  int     `json:"notStarted"` // which waited until the end
	SlotHours   float64 `json:"slotHours"`
	Median      float64 `json:"medianWaitSeconds"`
	P90         float64 `json:"p90WaitSeconds"`
	Max         float64 `json:"maxWaitSeconds"`
	Preemptions int     `json:"preemptions"`
	LostHours   float64 `json:"lostSlotHours"`
}

// A PoolUse is which part of a pool's slots was in use.
type PoolUse struct {
	Pool      string  `json:"pool"`
	SlotHours float64 `json:"slotHours"`
	Use       float64 `json:"use"` // from 0 to 1
}

func (s *simulation) outcome() *Outcome {
	o, gaps := &Outcome{}, time.Duration(0)
	for _, p := range s.pools {
		o.Plans, gaps = o.Plans+p.plans, gaps+p.gaps
		use := PoolUse{Pool: p.of.Name, SlotHours: p.used / 3600}
		if p.capacity > 0 {
			use.Use = p.used / p.capacity
		}
		o.Pools = append(o.Pools, use)
	}
	o.Gap = gaps.Seconds() / float64(max(o.Plans, 1))
	slices.SortFunc(o.Pools, func(a, b PoolUse) int { return cmp.Compare(a.Pool, b.Pool) })
	tallies := map[string]*tally{}
	for _, r := range s.runs {
		t := tallies[r.ask.Workspace]
		if t == nil {
			t = &tally{}
			tallies[r.ask.Workspace] = t
		}
		t.add(r, s.Until)
	}
	o.Teams = teams(tallies)
	return o
}

// Recorded is what happened, in the same figures.
func (h *History) Recorded() *Outcome {
	tallies := map[string]*tally{}
	for _, j := range h.jobs {
		t := tallies[j.ask.Workspace]
		if t == nil {
			t = &tally{}
			tallies[j.ask.Workspace] = t
		}
		used := float64(j.ask.Slots) * (j.runs + j.lost).Seconds()
		if j.first.IsZero() {
			used = 0
		}
		t.add(&run{job: j, first: j.first, used: used, preempted: j.preempted, lost: float64(j.ask.Slots) * j.lost.Seconds(), came: j.comes}, h.Until)
	}
	return &Outcome{Teams: teams(tallies)}
}

// A tally collects what the jobs of a workspace did.
type tally struct {
	Team
	waits []float64
}

func (t *tally) add(r *run, until time.Time) {
	t.SlotHours += r.used / 3600
	t.Preemptions += r.preempted
	t.LostHours += r.lost / 3600
	if r.parts != nil { // it ran already when the recording began
		return
	}
	t.Jobs++
	end := r.first
	if end.IsZero() {
		if end = until; !r.ends.IsZero() && r.ends.Before(until) {
			end = r.ends
		}
		t.NotStarted++
	}
	from := r.came
	if r.after == nil {
		from = r.comes
	}
	t.waits = append(t.waits, max(0, end.Sub(from).Seconds()))
}

// teams are the workspaces in the order of their names, and then all together.
func teams(tallies map[string]*tally) (list []Team) {
	all := &tally{}
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[name]
		t.Workspace = name
		list = append(list, t.sum())
		all.Jobs, all.NotStarted, all.SlotHours = all.Jobs+t.Jobs, all.NotStarted+t.NotStarted, all.SlotHours+t.SlotHours
		all.Preemptions, all.LostHours, all.waits = all.Preemptions+t.Preemptions, all.LostHours+t.LostHours, append(all.waits, t.waits...)
	}
	return append(list, all.sum())
}

func (t *tally) sum() Team {
	slices.Sort(t.waits)
	if n := len(t.waits); n > 0 {
		t.Median, t.P90, t.Max = t.waits[n/2], t.waits[min(n-1, n*9/10)], t.waits[n-1]
	}
	return t.Team
}
