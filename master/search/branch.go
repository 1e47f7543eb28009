package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// A Branching is the body of a Branched event: a search that has the events of another experiment up to this one goes on by itself. The
// trials that have ended are those of the other experiment.
type Branching struct {
	Experiment int   `json:"experiment"` // whose events those before this one are
	Event      int64 `json:"event"`      // the last of them
	// Config is set if settings of the search have changed: the fields of the complete configuration that a search reads.
	Config json.RawMessage `json:"config,omitempty"`
}

// A brancher is a Method some of whose settings may change while it runs.
type brancher interface {
	// Branch changes the settings. longer: a training is longer than before. It reopens what goes on with these settings.
	Branch(r *TrialSet, c expconf.Searcher, longer bool)
}

// branched applies a Branched event. Without a change the search decides as it would have without the event; only a budget
// begins anew, because what the common past has cost is not the branch's.
func (s *Search) branched(e Event) error {
	var body Branching
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return fmt.Errorf("search event %d: %w", e.Seq, err)
	}
	r := &s.trialSet
	spent := r.spending != nil && r.spending.over
	if len(body.Config) == 0 {
		if r.spending = r.spending.anew(); spent {
			r.unstop()
			if m, ok := s.method.(*tournament); ok {
				for _, b := range m.brackets {
					b.reopen(r)
				}
			}
			r.spending.resume(r.trials)
			s.refill()
		}
		return nil
	}
	cfg, err := expconf.ParseConfigJSON(body.Config)
	if err != nil {
		return fmt.Errorf("search event %d: %w", e.Seq, err)
	}
	m, ok := s.method.(brancher)
	if !ok {
		return fmt.Errorf("search event %d changes the settings of a search of the kind %q, which cannot be changed", e.Seq, cfg.Searcher.Name)
	}
	if s.repeats != nil && s.repeats.begun {
		return errors.New("the settings of a search cannot change any more when it trains its best configurations again (searcher.repeat): branch at an earlier event")
	}
	c := cfg.Searcher
	c.MaxTrials -= c.Repeat.Trials() // as in New
	before := r.spending
	if r.spending = newSpending(c); r.spending != nil && before != nil && before.bySlots == r.spending.bySlots {
		r.spending.costs = before.costs
	}
	full, _ := cfg.Searcher.FullLength()
	longer := full > s.full
	s.full, s.lengthGauge = full, newGauge(cfg)
	s.sample(c)
	r.prospects.reconfigured(c, false)
	if r.prospects != nil {
		r.prospects.learns = r.model != nil || c.ByProgram()
	}
	if s.repeats != nil {
		again := newRepeats(c, s.sign)
		s.repeats.workers, s.repeats.full = again.workers, again.full
	}
	if spent {
		r.unstop()
	}
	m.Branch(r, c, longer)
	r.spending.resume(r.trials)
	s.refill()
	return nil
}

// anew returns the spending of a branch whose budget is that of the search before: nothing of it is spent, and what a training costs is known.
func (p *spending) anew() *spending {
	if p == nil {
		return nil
	}
	return &spending{bySlots: p.bySlots, limit: p.limit, full: p.full, gauged: p.gauged, blind: p.blind, costs: p.costs}
}

// refill begins what may begin now.
func (s *Search) refill() {
	if m, ok := s.method.(filler); ok {
		m.Fill(&s.trialSet)
	}
}

// sample changes the sampler: one that is new learns from all results of the search.
func (s *Search) sample(c expconf.Searcher) {
	r := &s.trialSet
	switch wanted := c.Sampler == expconf.TPE; {
	case !wanted:
		r.model = nil
	case r.model == nil:
		r.model = newModel(r.domain, c.Revision)
		for i := range r.trials {
			hparams := r.hparams(i)
			r.model.begin(i, hparams, ofItself)
			r.model.try(hparams)
		}
		if m, ok := s.method.(interface{ relearn(r *TrialSet) }); ok {
			m.relearn(r)
		}
	}
}

// unstop takes back that a spent budget ended trials: those that waited wait again, and those that ran run again. A method that judges trials
// has judged those that it stopped itself.
func (r *TrialSet) unstop() {
	for i, t := range r.trials {
		if t.cut {
			r.recall(i)
			t.hold, t.suspended = t.waited, t.waited && t.suspended
		}
	}
}

// recall makes a trial that the search has stopped, or that has trained to its end, one that waits.
func (r *TrialSet) recall(trial int) {
	t := r.trials[trial]
	away := t.exited != "" || t.suspended
	r.reopen(trial)
	t.stop, t.trained, t.fail, t.cut = false, false, "", false
	t.hold, t.suspended = true, away
}

// Branch lets a trial train on after its end, if anything of the search has changed.
func (single) Branch(r *TrialSet, _ expconf.Searcher, longer bool) {
	if last := len(r.trials) - 1; longer {
		r.reopen(last)
	}
}

// Branch takes over how many trials there are and how many run at once. If a training is longer, the trials that have
// trained to their end train on, as workers become free.
func (m *random) Branch(r *TrialSet, c expconf.Searcher, longer bool) {
	m.trials, m.workers = c.MaxTrials, atOnce(c.MaxConcurrentTrials)
	if longer {
		r.lengthen(m.workers)
	}
}

// Branch is that of random; the points of a grid do not change.
func (m *grid) Branch(r *TrialSet, c expconf.Searcher, longer bool) {
	if m.workers = atOnce(c.MaxConcurrentTrials); longer {
		r.lengthen(m.workers)
	}
}

// lengthen reopens the trials that have trained to their end. They wait until a worker is free.
func (r *TrialSet) lengthen(workers int) {
	running := len(r.trials) - r.ended - r.waiting
	for i, t := range r.trials {
		if t.exited != lifecycle.ExitDone {
			continue
		}
		r.reopen(i)
		if t.hold = running >= workers; t.hold {
			t.suspended = true
			r.waiting++
		} else {
			running++
		}
	}
}

func (m *random) relearn(r *TrialSet) {
	for i, t := range r.trials {
		if t.exited != "" && t.exited != lifecycle.ExitInvalidHP {
			r.Learn(i, 0, m.best[i])
		}
	}
}

func (m *tournament) relearn(r *TrialSet) {
	for _, b := range m.brackets {
		for _, g := range b.rungs {
			for _, s := range g.list {
				r.Learn(b.entries[s.index].trial, g.units, Result{Metric: s.metric, Point: s.point})
			}
		}
	}
}

// Branch divides the new numbers of trials and workers among the brackets as at the beginning.
func (m *tournament) Branch(r *TrialSet, c expconf.Searcher, longer bool) {
	rungs := make([]int, len(m.brackets))
	for i, b := range m.brackets {
		rungs[i] = b.ofRungs
	}
	full, _ := c.FullLength()
	budgets := share(rungs, c.Divisor, c.MaxTrials)
	for i, b := range m.brackets {
		b.budget = max(budgets[i], b.created-b.invalid)
		b.passing = passing(c)
		w := workers(c, budgets, i)
		if w == 0 {
			w = ownWorkers(b.ofRungs, b.divisor, b.budget)
		}
		b.workers = min(w, expconf.MaxConcurrent)
		if longer {
			b.lengthen(r, float64(full))
		}
		if longer || b.created-b.invalid < b.budget || r.spending != nil {
			b.reopen(r)
		}
		b.fill(r)
		m.note(r, i)
	}
}

const (
	maxBranchRungs = 100 // that one branch adds
	nearlyWhole    = 1.5 // a rung is not so near below the whole length
)

// lengthen adds rungs above the last one, which is a rung like the others from now on: of the trials that have trained to it, the best
// train on.
func (b *bracket) lengthen(r *TrialSet, full float64) {
	top := len(b.rungs) - 1
	arrive := max(float64(len(b.rungs[top].list)), float64(b.budget)/math.Pow(b.divisor, float64(top)))
	for _, units := range longerRungs(b.rungs[top].units, full, b.divisor, arrive) {
		b.rungs = append(b.rungs, rung{units: units})
	}
	b.maxRung = len(b.rungs) - 1
	g := &b.rungs[top]
	best := max(1, b.keep(top))
	possible := max(best, int(float64(len(g.list)+b.budget)/b.divisor))
	for at, s := range g.list {
		x := b.entries[s.index]
		if x.rung != top || x.state != over || !r.trials[x.trial].trained && x.ending != lifecycle.ExitDone {
			continue
		}
		switch {
		case b.promotes && (at < possible || s.point != nil):
			if x.state = waits; at < best-b.keep(top) { // too few have trained to the end to choose a part of them
				b.recalled = append(b.recalled, s.index)
			}
		case at < best: // it would have trained on
			x.state = waits
			b.recalled = append(b.recalled, s.index)
		default:
			continue
		}
		x.ending = ""
		r.recall(x.trial)
	}
	for _, x := range b.entries {
		if x.state == runs {
			r.trials[x.trial].target = b.target(x.rung)
		}
	}
}

// longerRungs are the lengths of the rungs between the old and the new length of a training, with the new one. There are no more of them than
// the trials that arrive at the old length can fill.
func longerRungs(top, full, divisor, arrive float64) (list []float64) {
	for u := top * divisor; u*nearlyWhole < full && arrive >= divisor*divisor && len(list) < maxBranchRungs; u, arrive = u*divisor, arrive/divisor {
		list = append(list, math.Floor(u))
	}
	return append(list, full)
}

// reopen takes back that the bracket has stopped waiting trials because no result could arrive any more, as far as they may be among the best
// with the results that may arrive now, and lets trials that a spent budget stopped go on.
func (b *bracket) reopen(r *TrialSet) {
	arrive := b.budget - (b.created - b.invalid)
	for level := range b.rungs {
		g := &b.rungs[level]
		was := g.closed
		g.closed, g.promoted = false, 0
		best := int(float64(len(g.list)+arrive) / b.divisor)
		for at, s := range g.list {
			x := b.entries[s.index]
			t := r.trials[x.trial]
			if was && b.promotes && x.rung == level && x.state == over && (at < best || s.point != nil) {
				arrive++
				x.state = waits
				if x.ending == "" || x.ending == lifecycle.ExitStopped {
					x.ending = ""
					r.recall(x.trial)
				}
			}
			if x.state == waits && x.ending == lifecycle.ExitStopped && t.exited == "" { // unstop
				x.ending = ""
			}
		}
	}
	for i, x := range b.entries {
		if t := r.trials[x.trial]; t.exited == "" && x.ending != "" && x.state == over { // unstop: it ran
			x.ending = ""
			x.state = waits
			r.Hold(x.trial)
			t.suspended = true
			b.resumed = append(b.resumed, i)
		}
	}
}

// resume runs a trial that was recalled: first those that were in the middle of a training. It returns false if there is none.
func (b *bracket) resume(r *TrialSet) bool {
	var index int
	switch {
	case len(b.resumed) > 0:
		index, b.resumed = b.resumed[0], b.resumed[1:]
		x := b.entries[index]
		x.state = runs
		b.running++
		b.rungs[x.rung].active++
		r.Release(x.trial, b.target(x.rung))
		b.advance(r, index)
	case len(b.recalled) > 0:
		index, b.recalled = b.recalled[0], b.recalled[1:]
		b.promote(r, b.entries[index].rung, index)
	default:
		return false
	}
	return true
}
