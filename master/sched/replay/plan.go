package replay

import (
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// sure is which part of the time that is left an estimate says at least.
const sure = 0.9

// planIfDue plans if something has changed, and the last plan is long enough ago.
func (p *site) planIfDue() {
	now := p.sim.now
	switch {
	case !p.dirty:
	case !now.Before(p.ready):
		p.plan()
	case !p.wakes:
		p.wakes = true
		p.sim.events.add(event{at: p.ready, site: p, due: true})
	}
}

// plan asks the scheduler for a plan of a pool, and applies it.
func (p *site) plan() {
	p.dirty = false
	now := p.sim.now
	active := p.reserved.Active(now)
	if !active && (len(p.queued) == 0 && p.bounded == 0 || p.hopeless()) {
		return
	}
	p.plans++
	looked := len(p.nodes) + len(p.running) + len(p.queued)
	gap := time.Duration(float64(p.sim.Until.Sub(p.sim.From)) * float64(looked) * p.slowness() / budget)
	p.ready, p.gaps = now.Add(gap), p.gaps+gap
	p.countElsewhere()
	p.prepare(now)
	result := p.reserved.Plan(p.of, p.nodes, p.running, p.queued, now)
	if len(result.Place) > 0 {
		at := make(map[string]*run, len(p.waits))
		for _, r := range p.waits {
			at[r.ask.ID] = r
		}
		for _, placed := range result.Place {
			at[placed.ID].start(placed.Parts, placed.LentUntil, now)
		}
	}
	if len(result.Preempt) > 0 {
		at := make(map[string]*run, len(p.runs))
		for _, r := range p.runs {
			at[r.ask.ID] = r
		}
		for _, x := range result.Preempt {
			at[x.ID].askToLeave()
		}
	}
	p.dirty = false
	p.wakeAgain(len(result.Place) > 0)
}

// wakeAgain plans again when only the time decides more: what was placed may have brought others to a bound, and under fair_share attempts may
// be preempted when they have run for some time.
func (p *site) wakeAgain(placed bool) {
	if len(p.queued) == 0 {
		return
	}
	now := p.sim.now
	if placed && (len(p.bounds) > 0 || p.bounded > 0 || p.lent > 0) {
		p.sim.events.add(event{at: now.Add(time.Second), site: p})
	}
	if p.of.Scheduler.Type != pool.FairShare || p.of.Scheduler.MinRunTime <= 0 {
		return
	}
	var first time.Time
	for i := range p.running {
		if at := p.running[i].StartedAt.Add(p.of.Scheduler.MinRunTime); at.After(now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() && first.After(p.woken) {
		p.woken = first
		p.sim.events.add(event{at: first, site: p})
	}
}

// hopeless reports whether no plan can decide anything: no slot is free, and nobody may be preempted.
func (p *site) hopeless() bool {
	if p.of.Preempts() || p.aux > 0 || p.lent > 0 || p.bounded > 0 || len(p.reserved) > 0 {
		return false
	}
	for i := range p.running {
		if p.running[i].Leaving {
			return false
		}
	}
	held := 0
	for _, r := range p.runs {
		held += r.ask.Slots
	}
	return held >= p.usable && !p.outside()
}

// outside reports whether attempts hold slots that are not usable, so that counting does not say whether slots are free.
func (p *site) outside() bool {
	for i := range p.nodes {
		if !p.nodes[i].Schedulable {
			return true
		}
		for _, s := range p.nodes[i].Slots {
			if !s.Healthy || !s.Enabled || s.Taken != "" {
				return true
			}
		}
	}
	return len(p.sim.settings.gone[p.of.Name]) > 0
}

// prepare adds to requests and attempts what the policy looks at.
func (p *site) prepare(now time.Time) {
	fair, turns := p.of.Scheduler.Type == pool.FairShare, p.of.Scheduler.Type == pool.RoundRobin
	remembers := fair && p.of.Scheduler.HalfLife > 0
	if remembers {
		for _, x := range p.shares {
			p.settleShare(x)
		}
	}
	if fair || turns {
		for i, r := range p.waits {
			q := &p.queued[i]
			if q.Served = (sched.Served{Turn: r.shares[3].turn}); fair {
				q.Served = sched.Served{Workspace: r.shares[0].last, User: r.shares[1].last, Group: r.shares[2].last}
			}
			if remembers {
				q.Recent = r.recent()
			}
		}
	}
	saves := p.of.Preempts() || p.lent > 0 || len(p.reserved) > 0
	if !saves && !remembers && p.borrows == 0 {
		return
	}
	for i, r := range p.runs {
		x := &p.running[i]
		if saves && (r.asks || r.every > 0) {
			x.Saved = r.kept(now)
		}
		if remembers {
			x.Recent = r.recent()
		}
		if x.Earliest = (time.Time{}); p.borrows > 0 && r.paced && !r.open && r.ends.IsZero() {
			x.Earliest = now.Add(time.Duration(sure * float64(r.runs()-r.done-now.Sub(r.began))))
		}
	}
}

func (r *run) recent() sched.Recent {
	return sched.Recent{Workspace: r.shares[0].recent, User: r.shares[1].recent}
}

// slowness is how much longer a plan takes than one by priority that looks at as much.
func (p *site) slowness() float64 {
	if p.of.Scheduler.Type == pool.FairShare {
		return 2.5
	}
	return 1
}
