package search

import (
	"math"
	"slices"
	"sort"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// A bracket is one asynchronous successive halving. Trials train to the first
// rung; of those that reached a rung the best part, one in divisor, trains on to
// the next. Nobody waits for anybody: a trial is judged by the reports that are there.
//
// There are two ways to treat the others. Where trials stop once, a trial that is
// not among the best when it arrives is over, and a new trial replaces it.
// Where they wait, it leaves with a checkpoint and frees its slots, and is called
// back as soon as the results of others make it one of the best.
//
// A bracket is pull-style: whenever fewer trials are wanted to run than there are
// workers, the next job is looked for, first among those that wait, from the
// highest rung down, then a new trial.
type bracket struct {
	rungs   []rung
	divisor float64
	budget  int // trials, those with invalid hyperparameters not counted
	workers int // trials that are wanted to run at once
	waits   bool
	limit   int  // the highest rung that is trained to; below the top only where progressive
	growing bool // limit rises when the order of the best changes

	created, invalid, running int
	entries                   []*rungEntry // in the order in which they were created
	indexes                   map[int]int  // in entries, by trial
}

// A rung has the results of the trials that trained to it, the best first.
type rung struct {
	units  float64
	list   []score
	passed int // entries at the front that are known to have gone on
	active int // trials that are wanted to run and train to it
	closed bool
}

type score struct {
	metric float64
	index  int
}

// A rungEntry is a trial as its bracket sees it.
type rungEntry struct {
	trial  int
	rung   int       // that it trains to, or waits at
	state  int8      // one of those below
	heard  bool      // it has reported
	last   Result    // newest report
	curve  []float64 // where progressive: its reports
	marks  []float64 // and its results at the rungs
	ending string    // how it exited; "" when it has not
}

const (
	runs  int8 = iota
	waits      // at its rung, recorded there
	over       // stopped, or ended
)

// newBracket makes a bracket whose top rung is a whole training.
func newBracket(rungs int, divisor, full float64, budget, workers int) *bracket {
	b := &bracket{divisor: divisor, budget: budget, limit: rungs - 1, indexes: map[int]int{}}
	for i := range rungs {
		b.rungs = append(b.rungs, rung{units: max(1, math.Floor(full/math.Pow(divisor, float64(rungs-1-i))))})
	}
	if workers <= 0 {
		workers = max(1, int(min(math.Pow(divisor, float64(rungs-1)), float64(budget))))
	}
	b.workers = min(workers, expconf.MaxConcurrent)
	return b
}

// fill finds jobs for idle workers, and closes rungs that nobody leaves any more.
func (b *bracket) fill(r *TrialSet) {
	for b.running < b.workers {
		if level, index := b.promotable(); index >= 0 {
			b.promote(r, level, index)
		} else if b.created-b.invalid < b.budget {
			b.create(r)
		} else {
			break
		}
	}
	b.close(r)
}

// create makes a trial. One that replaces another may come when rungs were closed
// already: they open again, or it would wait at them for ever.
func (b *bracket) create(r *TrialSet) {
	for i := range b.rungs {
		b.rungs[i].closed = false
	}
	trial := r.Add()
	b.indexes[trial] = len(b.entries)
	b.entries = append(b.entries, &rungEntry{trial: trial})
	b.created++
	b.running++
	b.rungs[0].active++
	r.Release(trial, b.target(0))
}

// target is how long a trial of a rung trains. Where trials do not wait, they
// train on until they are stopped.
func (b *bracket) target(level int) int64 {
	if !b.waits {
		level = len(b.rungs) - 1
	}
	return int64(b.rungs[level].units)
}

// maxCurve bounds the reports of a trial that are remembered where progressive.
const maxCurve = 1000

// keep is how many of a rung go on.
func (b *bracket) keep(level int) int { return int(float64(len(b.rungs[level].list)) / b.divisor) }

// promotable finds the best trial that waits though it is among those that go on,
// from the highest rung down; -1 when there is none.
func (b *bracket) promotable() (level, index int) {
	if !b.waits {
		return 0, -1
	}
	for level := b.limit - 1; level >= 0; level-- {
		g := &b.rungs[level]
		for ; g.passed < b.keep(level); g.passed++ {
			p := g.list[g.passed].index
			if x := b.entries[p]; x.rung == level && x.state == waits && !g.closed {
				return level, p
			}
		}
	}
	return 0, -1
}

// promote sends a waiting trial on. One that has ended meanwhile is judged by
// what it had reached, without running.
func (b *bracket) promote(r *TrialSet, level, index int) {
	x := b.entries[index]
	x.rung = level + 1
	if x.ending != "" {
		b.insert(r, x.rung, score{x.final(), index})
		return
	}
	x.state = runs
	b.running++
	b.rungs[x.rung].active++
	r.Release(x.trial, b.target(x.rung))
	b.advance(r, index)
}

// advance judges a running trial by its newest report, at every rung that it has
// passed with it.
func (b *bracket) advance(r *TrialSet, index int) {
	x := b.entries[index]
	for x.state == runs && x.heard && x.last.At >= b.rungs[x.rung].units {
		level := x.rung
		at := b.insert(r, level, score{x.last.Metric, index})
		switch {
		case level == len(b.rungs)-1:
			b.rest(r, x, over)
		case b.waits:
			b.rest(r, x, waits)
		case at >= max(1, b.keep(level)):
			b.rest(r, x, over)
		default:
			b.rungs[level].active--
			x.rung++
			b.rungs[x.rung].active++
		}
	}
}

// rest ends a trial's running, to wait or for good.
func (b *bracket) rest(r *TrialSet, x *rungEntry, state int8) {
	x.state = state
	b.running--
	b.rungs[x.rung].active--
	if state == waits {
		r.Hold(x.trial)
	} else if x.ending == "" {
		r.Stop(x.trial)
	}
}

// insert records a result in a rung. Of equal ones the first goes on where trials
// wait, because it is known longer; where they stop once, the last, because it
// still runs.
func (b *bracket) insert(r *TrialSet, level int, s score) (at int) {
	g := &b.rungs[level]
	at = sort.Search(len(g.list), func(i int) bool {
		if b.waits {
			return g.list[i].metric > s.metric
		}
		return g.list[i].metric >= s.metric
	})
	g.list = slices.Insert(g.list, at, s)
	g.passed = min(g.passed, at)
	x := b.entries[s.index]
	r.Learn(x.trial, g.units, s.metric)
	if b.growing {
		x.marks = append(x.marks, s.metric)
	}
	if b.growing && level == b.limit && level < len(b.rungs)-1 && !b.settled() {
		b.limit++
	}
	return at
}

// close stops those that wait at rungs where no result will come any more.
func (b *bracket) close(r *TrialSet) {
	if !b.waits || b.created-b.invalid < b.budget {
		return
	}
	for level := range b.rungs {
		g := &b.rungs[level]
		if g.active > 0 {
			return
		}
		if g.closed || len(g.list) == 0 {
			continue
		}
		if _, index := b.promotable(); index >= 0 {
			return // it goes on as soon as a worker is free
		}
		g.closed = true
		for _, s := range g.list {
			if x := b.entries[s.index]; x.rung == level && x.state == waits {
				if x.state = over; x.ending == "" {
					r.Stop(x.trial)
				}
			}
		}
	}
}

func (b *bracket) validated(r *TrialSet, trial int, v Result) {
	index := b.indexes[trial]
	x := b.entries[index]
	x.last, x.heard = v, true
	if b.growing && len(x.curve) < maxCurve {
		x.curve = append(x.curve, v.Metric)
	}
	before := b.running
	b.advance(r, index)
	if b.running != before {
		b.fill(r)
	}
}

// exited: a trial that ended by itself has its last result in the rung it trained
// to, one that failed the worst there is. One with invalid hyperparameters never
// was.
func (b *bracket) exited(r *TrialSet, trial int, reason string) {
	index := b.indexes[trial]
	x := b.entries[index]
	x.ending = reason
	invalid := reason == lifecycle.ExitInvalidHP && r.replaceable(b.invalid, b.budget)
	if x.state == over || x.state == waits && !invalid {
		return // those that wait are judged when they are called
	}
	if x.state == runs {
		b.running--
		b.rungs[x.rung].active--
	}
	if invalid {
		x.state = over
		b.invalid++
		b.forget(index)
	} else {
		if x.state = over; b.waits && x.rung < len(b.rungs)-1 {
			x.state = waits // others may fall behind it
		}
		b.insert(r, x.rung, score{x.final(), index})
	}
	b.fill(r)
}

// final is what a trial that ended counts as.
func (x *rungEntry) final() float64 {
	if x.ending == lifecycle.ExitDone && x.heard {
		return x.last.Metric
	}
	return math.Inf(1)
}

// forget takes a trial out of all rungs.
func (b *bracket) forget(index int) {
	for i := range b.rungs {
		g := &b.rungs[i]
		for at := range g.list {
			if g.list[at].index == index {
				g.list = slices.Delete(g.list, at, at+1)
				if at < g.passed {
					g.passed--
				}
				break
			}
		}
	}
}
