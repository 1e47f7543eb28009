package search

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/detent-ml/detent/master/expconf"
)

// With searcher.budget a search ends when it has spent its budget. What it spends are the events of the
// kind Spent, so every master that applies the events knows what was spent when a decision was made.
// Restarts and preemptions cost what they took, because all attempts count.
//
// The search begins only what fits into the rest of its budget beside what runs already. It learns the cost
// of a training from the attempts that have ended: a part for each attempt (start, checkpoint) and a
// part for each unit of length (costs.go). When the budget is spent, waiting trials stop, and each running trial
// stops at its next report.
type spending struct {
	bySlots bool    // the budget is in slot-hours; else in hours
	limit   float64 // in slot-seconds or seconds
	full    float64 // units of a whole training; 1 if the search has no lengths
	gauged  bool    // it has
	blind   int     // so many trials run at most while the cost of a training is not known
	over    bool    // nothing begins any more
	repeats int     // trainings of which the search keeps the cost until they begin
	workers int     // of them, at once

	ended   amount  // of the attempts that have ended
	running amount  // of the other ones, at the last Spent event
	clock   float64 // seconds in which at least one attempt was placed
	to      float64 // the time until which clock counts
	costs
}

// An amount is what attempts cost.
type amount struct {
	Seconds     float64 `json:"seconds"`
	SlotSeconds float64 `json:"slot_seconds"`
}

func (a *amount) add(b amount) {
	a.Seconds += b.Seconds
	a.SlotSeconds += b.SlotSeconds
}

// of returns the amount in the unit of the budget.
func (p *spending) of(a amount) float64 {
	if p.bySlots {
		return a.SlotSeconds
	}
	return a.Seconds
}

// A Spending is the body of a Spent event: what the attempts of the search's trials cost. Times are in seconds since 1970.
type Spending struct {
	From    float64        `json:"from"`            // the earliest time of the attempts that are placed or ended since the event before
	To      float64        `json:"to"`              // until when at least one of them was placed
	Live    int            `json:"live"`            // attempts that are placed
	Running amount         `json:"running"`         // of these attempts, so far
	Ended   []AttemptSpent `json:"ended,omitempty"` // attempts that have ended since the event before
}

// AttemptSpent is what an attempt cost that has ended.
type AttemptSpent struct {
	Trial int `json:"trial"`
	amount
}

// SpentUntil returns a Spending of no attempts.
func SpentUntil(now time.Time) Spending {
	return Spending{From: unixSeconds(now), To: unixSeconds(now)}
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// Add counts an attempt that was placed at a time, and has ended or goes on.
func (s *Spending) Add(trial, slots int, placed time.Time, ended bool) {
	from := min(unixSeconds(placed), s.To)
	s.From = min(s.From, from)
	cost := amount{s.To - from, (s.To - from) * float64(slots)}
	if ended {
		s.Ended = append(s.Ended, AttemptSpent{trial, cost})
		return
	}
	s.Live++
	s.Running.add(cost)
}

const secondsOfHour = 3600

// newSpending returns the spending of a search; nil if it has no budget.
func newSpending(c expconf.Searcher) *spending {
	if c.Budget == nil {
		return nil
	}
	full, _ := c.FullLength()
	p := &spending{full: max(1, float64(full)), gauged: full > 0, blind: expconf.MaxConcurrent}
	p.allow(c)
	p.repeats, p.workers = c.Repeat.Trials(), atOnce(c.MaxConcurrentTrials)
	if c.Name == expconf.Random || c.Name == expconf.Grid {
		p.blind = maxBlind // each of them trains to its end
	}
	return p
}

// maxBlind trials of a search without rungs run at most until the search knows what a training costs. More of
// them could spend the budget together before one is at its end.
const maxBlind = 4

// allow sets the limit.
func (p *spending) allow(c expconf.Searcher) {
	p.bySlots = c.Budget.SlotHours > 0
	p.limit = secondsOfHour * max(c.Budget.SlotHours, c.Budget.Hours)
}

// reconfigured returns the spending of a search that continues with another configuration: what was spent counts.
func (p *spending) reconfigured(c expconf.Searcher) *spending {
	if p == nil || c.Budget == nil {
		return newSpending(c)
	}
	full, _ := c.FullLength()
	p.full, p.gauged = max(1, float64(full)), full > 0
	before := p.bySlots
	if p.allow(c); p.bySlots != before {
		p.costs = costs{} // they are in the other unit
	}
	return p
}

// resume is called when the search continues after its end, with the trials that train on.
func (p *spending) resume(trials []*entry) {
	if p == nil {
		return
	}
	p.over = false
	for i, t := range trials {
		if t.exited == "" && !t.hold && !t.stop && !p.at(i).active {
			p.begin(i, p.full)
		}
	}
}

// spent is what was spent at the last event.
func (p *spending) spent() float64 {
	if p.bySlots {
		return p.ended.SlotSeconds + p.running.SlotSeconds
	}
	return p.clock
}

// Until the repeats begin, the search keeps what they probably cost, and some more, because the trials that run then spend until their next report:
// unknownRepeats of the budget before it knows the cost of a training, and never more than mostRepeats, which is for fewer repeats then.
const (
	unknownRepeats = 0.25
	mostRepeats    = 0.5
	dearerRepeats  = 1.25
)

// allowed is what the search may spend before its repeats.
func (p *spending) allowed() float64 {
	if p.repeats == 0 {
		return p.limit
	}
	cost, known := p.cost(-1, p.full, p.of(p.running))
	if !known {
		return p.limit * (1 - unknownRepeats)
	}
	rounds := float64(p.repeats)
	if !p.bySlots {
		rounds = math.Ceil(rounds / float64(p.workers))
	}
	cost *= dearerRepeats
	return p.limit - cost*min(rounds, math.Floor(p.limit*mostRepeats/max(cost, 1e-9)))
}

// release lets the repeats have the rest of the budget.
func (p *spending) release() {
	if p != nil {
		p.repeats, p.over = 0, p.spent() >= p.limit
	}
}

// left is what has not been spent, and is not needed by the trials that run.
func (p *spending) left() float64 {
	left := p.allowed() - p.spent()
	if p.bySlots {
		left -= max(0, p.committed(p.running.SlotSeconds)-p.running.SlotSeconds)
	}
	return left
}

// fits reports whether the rest of the budget suffices for training a trial up to a length. trial is -1 for a new one.
func (p *spending) fits(trial int, to float64) bool {
	if p == nil {
		return true
	}
	if p.over || p.spent() >= p.allowed() {
		return false
	}
	cost, known := p.cost(trial, to, p.of(p.running))
	if !known {
		return p.active < p.blind
	}
	return cost <= p.left()
}

// last reports whether the rest of the budget is so small that it completes what the search has begun: a new trial
// could not train to its end any more.
func (p *spending) last() bool {
	if p == nil || p.spent() < p.limit/2 {
		return false
	}
	whole, known := p.cost(-1, p.full, p.of(p.running))
	return known && p.left() < min(whole, p.limit*lastPart)
}

const lastPart = 0.25 // of the budget, at most

// note applies a Spent event.
func (p *spending) note(x Spending) {
	p.clock += max(0, x.To-max(x.From, p.to))
	p.to = max(p.to, x.To)
	p.running = x.Running
	for _, e := range x.Ended {
		p.ended.add(e.amount)
	}
}

// spend applies a Spent event.
func (s *Search) spend(e Event) error {
	var x Spending
	if err := json.Unmarshal(e.Body, &x); err != nil {
		return fmt.Errorf("search event %d: %w", e.Seq, err)
	}
	r := &s.trialSet
	p := r.spending
	if p == nil {
		return nil
	}
	p.note(x)
	for _, a := range x.Ended {
		if t := r.get(a.Trial); t != nil {
			p.attemptEnded(a.Trial, p.of(a.amount), t.exited == "")
		}
	}
	return nil
}

// economize begins what fits after an event, and ends the search when its budget is spent or nothing fits any more.
func (s *Search) economize() {
	r := &s.trialSet
	p := r.spending
	if p == nil || s.awaits {
		return
	}
	if m, ok := s.method.(filler); ok && !p.over {
		m.Fill(r)
	}
	waits := s.repeats != nil && r.sealed && !s.Repeated() // for the next repeats
	if p.over || p.spent() < p.allowed() && (p.active > 0 || s.Free() > 0 || waits) {
		return
	}
	p.over = true
	for i, t := range r.trials {
		if t.hold && t.exited == "" {
			r.Stop(i)
			t.cut, t.waited = true, true
		}
	}
}

// spentAt applies the length of a report.
func (s *Search) spentAt(trial int, v Validation) {
	r := &s.trialSet
	p := r.spending
	if p == nil {
		return
	}
	if p.gauged {
		if at, why := s.lengthGauge.at(v, func() map[string]any { return r.hparams(trial) }); why == "" && !math.IsNaN(at) && at > 0 {
			p.reached(trial, min(at, 2*p.full))
		}
	}
}

// stopIfSpent stops a trial that has reported and would train on, if the budget is spent.
func (s *Search) stopIfSpent(trial int) {
	if t := s.trialSet.trials[trial]; s.Over() && !t.stop && t.fail == "" {
		s.trialSet.Stop(trial)
		t.cut, t.waited = true, false
	}
}

// affordable is how many new trials the rest of the budget suffices for now, at most n.
func (p *spending) affordable(n int, to float64) int {
	if p == nil {
		return n
	}
	if !p.fits(-1, to) {
		return 0
	}
	cost, known := p.cost(-1, to, p.of(p.running))
	switch {
	case !known:
		return min(n, p.blind-p.active)
	case p.bySlots && cost > 0:
		return int(min(float64(n), p.left()/cost))
	}
	return n
}

// Over reports whether the search has ended because of its budget.
func (s *Search) Over() bool { return s.trialSet.spending != nil && s.trialSet.spending.over }

// HasBudget reports whether the search needs Spent events.
func (s *Search) HasBudget() bool { return s.trialSet.spending != nil }

// spentSteps is in how many parts the running attempts count, and spentPause how many seconds lie between two of them, because each is
// an event that every later leader reads.
const (
	spentSteps = 256
	spentPause = 5
)

// Due reports whether what its attempts have cost so far must become an event: attempts have ended, the first
// attempt is placed, the budget is spent, or a part of it has been spent since the last event.
func (s *Search) Due(x Spending) bool {
	p := s.trialSet.spending
	if p == nil {
		return false
	}
	if len(x.Ended) > 0 {
		return true
	}
	if x.Live == 0 || p.over {
		return false
	}
	before, next := p.spent(), *p
	next.note(x)
	after := next.spent()
	first, last := p.of(p.running) == 0 && p.of(x.Running) > 0, before < p.allowed() && after >= next.allowed()
	return first || last || x.To-p.to >= spentPause && math.Abs(after-before) >= p.limit/spentSteps
}
