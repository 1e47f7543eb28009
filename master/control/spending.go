package control

import (
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
)

// spending tells the search of an experiment with a budget what the attempts of its trials cost: when attempts end, in the bundle
// that ends them, and while they run whenever the search wants to know. The costs are those of the usage record: an
// attempt costs from its placement to its end. It comes before the other events of this cycle, so that the search knows
// what was spent when it decides what follows an exit.
func (d *experimentPass) spending(e *Experiment) {
	if !e.HasBudget || e.Unmanaged {
		return
	}
	now := unixSeconds(d.p.Now)
	x := search.Spending{From: now, To: now}
	for _, t := range e.Trials {
		a := d.p.Allocations[t.TaskID]
		if a == nil || a.AssignedAt == nil {
			continue
		}
		from := min(unixSeconds(*a.AssignedAt), now)
		x.From = min(x.From, from)
		if m := d.moves[a.ID]; m != nil && m.Ended {
			x.Ended = append(x.Ended, search.Attempt(t.Number, now-from, a.Slots))
		} else {
			x.GoesOn(now-from, a.Slots)
		}
	}
	if len(x.Ended) == 0 && (e.Search == nil || e.Broken != "" || !e.Search.Due(x)) {
		return
	}
	body, err := json.Marshal(x)
	if err != nil {
		panic("control: an event did not encode: " + err.Error())
	}
	spent := experiments.NewEvent{ExperimentID: e.ID, Kind: search.Spent, Body: body}
	d.out.Events = append([]experiments.NewEvent{spent}, d.out.Events...)
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
