package search

import (
	"math"
	"slices"
	"sort"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search/front"
)

// A bracket runs one asynchronous successive halving (ASHA: Li et al., "A System for
// Massively Parallel Hyperparameter Tuning", 2020; Determined's async_halving). A rung
// is a length of training. Of the trials that reach a rung, the best 1/divisor train on
// to the next rung. The bracket judges each trial by the results that it has at that
// moment, so no worker is idle until the other trials arrive.
//
// What happens to the other trials depends on the configuration:
//   - Stopping (stop_once): a trial that is not among the best when it reaches the rung
//     ends, and a new trial replaces it.
//   - Promotion: the trial waits with a checkpoint and frees its slots. The bracket
//     promotes the trial to the next rung when later, worse results put it among the best.
//
// Whenever fewer than `workers` trials run, the bracket promotes a waiting trial, from
// the highest rung down, or else creates a trial.
type bracket struct {
	rungs       []rung // the shortest length first
	divisor     float64
	budget      int     // trials to create, without those with invalid hyperparameters
	workers     int     // trials that run at once
	promotes    bool    // promotion instead of stopping
	maxRung     int     // index of the highest rung that trials train to; below the last rung only if progressive
	progressive bool    // PASHA raises maxRung (progressive.go)
	passing     float64 // the smallest share of the time for trials that pass the first rung whatever their result (verdict.go)
	verdict     verdict
	ofRungs     int   // with how many rungs it began
	resumed     []int // in a branch: entries that go on in the middle of a training, as soon as a worker is free
	recalled    []int // in a branch: entries that train on to the next rung

	created, invalid, running int          // trials
	entries                   []*rungEntry // in the order of creation
	indexes                   map[int]int  // trial → index in entries
}

// A rung has the results of the trials that trained to it, the best first.
type rung struct {
	units    float64 // length of training, in the searcher's unit
	list     []score // sorted by metric
	promoted int     // this many entries at the front of list need no promotion any more
	active   int     // running trials that train to this rung
	closed   bool    // no result can arrive any more, so the waiting trials have been stopped
}

type score struct {
	metric float64
	point  *front.Point // of a search with several metrics
	index  int          // in bracket.entries
}

// A rungEntry is a trial as its bracket sees it.
type rungEntry struct {
	trial    int       // its number
	rung     int       // index of the rung that it trains to or waits at
	state    int8      // runs, waits or over
	reported bool      // it has reported a validation
	passed   bool      // it passed the rung below whatever its result
	chosen   bool      // it was among the best of the rung below
	last     Result    // its newest report
	curve    []float64 // the metrics of its reports, if progressive
	atRungs  []float64 // its result at each rung that it has reached, if progressive
	ending   string    // the reason of its exit; "" while it has not exited
}

const (
	runs  int8 = iota
	waits      // at its rung, which has its result
	over       // it was stopped or has ended
)

// newBracket returns a bracket whose last rung is the whole length of a training.
func newBracket(rungs int, divisor, full float64, budget, workers int) *bracket {
	b := &bracket{divisor: divisor, budget: budget, maxRung: rungs - 1, ofRungs: rungs, indexes: map[int]int{}}
	for i := range rungs {
		b.rungs = append(b.rungs, rung{units: max(1, math.Floor(full/math.Pow(divisor, float64(rungs-1-i))))})
	}
	if workers <= 0 {
		workers = ownWorkers(rungs, divisor, budget)
	}
	b.workers = min(workers, expconf.MaxConcurrent)
	return b
}

// ownWorkers is how many trials run at once if the configuration does not say so.
func ownWorkers(rungs int, divisor float64, budget int) int {
	return max(1, int(min(math.Pow(divisor, float64(rungs-1)), float64(budget))))
}

// fill promotes or creates trials until all workers are busy, then closes finished rungs.
func (b *bracket) fill(r *TrialSet) {
	for b.running < b.workers {
		if b.resume(r) {
			continue
		}
		if level, index := b.next(r); index >= 0 {
			b.promote(r, level, index)
		} else if b.created-b.invalid < b.budget && r.ready(b.rungs[0].units) {
			b.create(r)
		} else {
			break
		}
	}
	b.close(r)
}

// create adds a trial. A trial that replaces one with invalid hyperparameters may start
// after rungs were closed; create opens them again, because a closed rung promotes nothing
// and the trial would wait there forever.
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
	r.begin(trial, b.rungs[0].units)
}

// target is the length to which a trial of this rung trains. Without promotion a trial
// trains towards the whole length until the bracket stops it.
func (b *bracket) target(level int) int64 {
	if !b.promotes {
		level = len(b.rungs) - 1
	}
	return int64(b.rungs[level].units)
}

// maxCurve is the maximum number of reports that a progressive bracket keeps of a trial.
const maxCurve = 1000

// keep is how many trials of a rung continue to the next rung.
func (b *bracket) keep(level int) int { return int(float64(len(b.rungs[level].list)) / b.divisor) }

// promotable finds the best waiting trial that is among the best 1/divisor of its rung,
// from the highest rung down; index is -1 if there is none.
func (b *bracket) promotable(fits func(x *rungEntry, level int) bool) (level, index int) {
	if !b.promotes {
		return 0, -1
	}
	for level := b.maxRung - 1; level >= 0; level-- {
		g := &b.rungs[level]
		for ; g.promoted < b.keep(level); g.promoted++ {
			p := g.list[g.promoted].index
			if x := b.entries[p]; x.rung == level && x.state == waits && !g.closed {
				if fits(x, level) {
					return level, p
				}
				break // until there is a budget for it, lower rungs may have what costs less
			}
		}
	}
	return 0, -1
}

// next finds the waiting trial that continues now.
func (b *bracket) next(r *TrialSet) (level, index int) {
	fits := func(x *rungEntry, level int) bool {
		return x.ending != "" || r.spending.fits(x.trial, b.rungs[level+1].units)
	}
	level, index = b.promotable(fits)
	if index >= 0 || !b.promotes || !r.spending.last() {
		return level, index
	}
	// A new trial could not train to its end any more. The better half of those that wait is worth more.
	for level := b.maxRung - 1; level >= 0; level-- {
		g := &b.rungs[level]
		for _, s := range g.list[:(len(g.list)+1)/2] {
			if x := b.entries[s.index]; x.rung == level && x.state == waits && x.ending == "" && !g.closed && fits(x, level) {
				return level, s.index
			}
		}
	}
	return 0, -1
}

// promote lets a waiting trial train to the next rung. A trial that ended while it waited
// does not run: its final result counts at the next rung as well.
func (b *bracket) promote(r *TrialSet, level, index int) {
	x := b.entries[index]
	x.rung, x.passed, x.chosen = level+1, false, true
	if x.ending != "" {
		b.insert(r, x.rung, x.final(), index)
		return
	}
	x.state = runs
	b.running++
	b.rungs[x.rung].active++
	r.Release(x.trial, b.target(x.rung))
	b.advance(r, index)
}

// advance judges a running trial by its newest report, at every rung that this report
// reaches.
func (b *bracket) advance(r *TrialSet, index int) {
	x := b.entries[index]
	for x.state == runs && x.reported && x.last.At >= b.rungs[x.rung].units {
		level := x.rung
		at := b.insert(r, level, x.last, index)
		x.passed, x.chosen = b.passes(level), at < max(1, b.keep(level))
		fits := level == len(b.rungs)-1 || r.spending.fits(x.trial, b.rungs[level+1].units)
		x.passed = x.passed && fits
		switch {
		case level == len(b.rungs)-1:
			b.release(r, x, over)
		case x.passed:
			b.rungs[level].active--
			x.rung++
			b.rungs[x.rung].active++
			r.Release(x.trial, b.target(x.rung))
			r.begin(x.trial, b.rungs[x.rung].units)
		case b.promotes:
			b.release(r, x, waits)
		case at >= max(1, b.keep(level)), !fits:
			b.release(r, x, over)
		default:
			b.rungs[level].active--
			x.rung++
			b.rungs[x.rung].active++
			r.begin(x.trial, b.rungs[x.rung].units)
		}
	}
}

// release frees the worker of a running trial, which then waits (state waits) or ends (over).
func (b *bracket) release(r *TrialSet, x *rungEntry, state int8) {
	x.state = state
	b.running--
	b.rungs[x.rung].active--
	if state == waits {
		r.Hold(x.trial)
	} else if x.ending == "" && x.rung == len(b.rungs)-1 {
		r.Finish(x.trial)
	} else if x.ending == "" {
		r.Stop(x.trial)
	}
}

// insert adds a result to a rung and returns its position. Of equal results the oldest
// ranks first with promotion; with stopping the newest, because only its trial still runs.
func (b *bracket) insert(r *TrialSet, level int, of Result, index int) (at int) {
	g := &b.rungs[level]
	of = r.counted(of)
	s := score{of.Metric, of.Point, index}
	if s.point != nil { // the place of each result depends on all others
		g.list, at = inserted(g.list, s, !b.promotes, func(s score) front.Point { return *s.point })
		g.promoted = 0
	} else {
		at = sort.Search(len(g.list), func(i int) bool {
			if b.promotes {
				return g.list[i].metric > s.metric
			}
			return g.list[i].metric >= s.metric
		})
		g.list = slices.Insert(g.list, at, s)
		g.promoted = min(g.promoted, at)
	}
	x := b.entries[index]
	if b.passing > 0 && level == 1 {
		b.verdict.learn(x, at, len(g.list), b.divisor)
	}
	r.Learn(x.trial, g.units, of)
	if b.progressive {
		x.atRungs = append(x.atRungs, s.metric)
	}
	if b.progressive && level == b.maxRung && level < len(b.rungs)-1 && !b.orderHolds() {
		b.maxRung++
	}
	return at
}

// close stops the trials that wait at rungs where no further result can arrive.
func (b *bracket) close(r *TrialSet) {
	if !b.promotes || b.created-b.invalid < b.budget && !r.exhausted() {
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
		if _, index := b.promotable(func(*rungEntry, int) bool { return true }); index >= 0 {
			return // a waiting trial continues as soon as a worker is free
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
	x.last, x.reported = v, true
	if b.progressive && len(x.curve) < maxCurve {
		x.curve = append(x.curve, v.Metric)
	}
	before := b.running
	b.advance(r, index)
	if b.running != before {
		b.fill(r)
	}
}

// exited handles the exit of a trial. A trial that completed ranks at its rung by its last
// result, a failed trial ranks last. The bracket forgets a trial with invalid
// hyperparameters, and replaces it.
func (b *bracket) exited(r *TrialSet, trial int, reason string) {
	index := b.indexes[trial]
	x := b.entries[index]
	x.ending = reason
	invalid := reason == lifecycle.ExitInvalidHP && r.replaceable(b.invalid, b.budget)
	if x.state == over || x.state == waits && !invalid {
		return // promote judges a waiting trial
	}
	if x.state == runs {
		b.running--
		b.rungs[x.rung].active--
	}
	if r.spending != nil && r.spending.over { // nothing is judged any more, least of all trials that were stopped early
		x.state = over
		return
	}
	if invalid {
		x.state = over
		b.invalid++
		b.forget(index)
	} else {
		if x.state = over; b.promotes && x.rung < len(b.rungs)-1 {
			x.state = waits // later results may be worse than its result, and then it counts at the next rung
		}
		b.insert(r, x.rung, x.final(), index)
	}
	b.fill(r)
}

// final is the result by which a trial that has exited ranks.
func (x *rungEntry) final() Result {
	if x.ending == lifecycle.ExitDone && x.reported {
		return x.last
	}
	return Result{Metric: math.Inf(1)}
}

// forget removes the results of a trial from all rungs.
func (b *bracket) forget(index int) {
	for i := range b.rungs {
		g := &b.rungs[i]
		for at := range g.list {
			if g.list[at].index == index {
				g.list = slices.Delete(g.list, at, at+1)
				if at < g.promoted {
					g.promoted--
				}
				break
			}
		}
	}
}
