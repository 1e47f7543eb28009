package search

import (
	"math"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
)

// A tournament (Determined's word) runs one or several brackets in parallel. A bracket
// with more rungs stops trials earlier; several brackets protect against metrics that
// show only late which trials are good. One bracket does so by letting some trials pass its
// first rung (verdict.go).
type tournament struct {
	brackets []*bracket
	of       []int // trial → index in brackets
}

// adaptiveRungs returns the number of rungs of each bracket of adaptive_asha, the largest
// first: bracket_rungs, or one bracket, or in revision 1 what the mode says.
func adaptiveRungs(c expconf.Searcher) []int {
	if len(c.BracketRungs) > 0 {
		rungs := slices.Clone(c.BracketRungs)
		slices.Sort(rungs)
		slices.Reverse(rungs)
		return rungs
	}
	maxRungs := mostRungs(c)
	if c.Revision > 1 {
		return []int{maxRungs}
	}
	minRungs := 1
	switch c.Mode {
	case expconf.Aggressive:
		minRungs = maxRungs
	case expconf.Standard:
		minRungs = (maxRungs-1)/2 + 1
	}
	var rungs []int
	for n := maxRungs; n >= minRungs; n-- {
		rungs = append(rungs, n)
	}
	return rungs
}

// Without max_rungs, the first rung is at about 1/firstRung of a training, whatever the unit of
// its length, and a search has at most mostAutoRungs rungs.
const (
	firstRung     = 64
	mostAutoRungs = 7
	oldMaxRungs   = 5 // of a search of revision 1
)

// mostRungs returns the number of rungs of the bracket of adaptive_asha that begins earliest. No
// rung is below one unit of length, and no search has more rungs than its trials can fill.
func mostRungs(c expconf.Searcher) int {
	full, _ := c.FullLength()
	most := c.MaxRungs
	if most == 0 && c.Revision == 1 {
		most = oldMaxRungs
	}
	if most > 0 {
		return min(powers(float64(full), c.Divisor, most)+1, powers(float64(c.MaxTrials), c.Divisor, most)+1, most)
	}
	n := min(1+int(math.Round(math.Log(firstRung)/math.Log(c.Divisor))), powers(float64(c.MaxTrials), c.Divisor, mostAutoRungs)+1, mostAutoRungs, expconf.MaxMarks/max(1, c.MaxTrials))
	for n > 1 && float64(full) < 2*math.Pow(c.Divisor, float64(n-2)) { // its second rung would be below two units
		n--
	}
	return max(n, 1)
}

// powers returns the integer part of the logarithm of n to the base divisor, at most
// `limit`: a loop with a divisor just above 1 would be long. math.Log would be off by one
// at exact powers.
func powers(n, divisor float64, limit int) int {
	k := 0
	for ; n >= divisor && k < limit; k++ {
		n /= divisor
	}
	return k
}

// newTournament makes a bracket for each number of rungs, and divides trials and
// workers among the brackets.
func newTournament(c expconf.Searcher, rungs []int) *tournament {
	full, _ := c.FullLength()
	rungs = rungs[:min(len(rungs), c.MaxTrials)]
	budgets := share(rungs, c.Divisor, c.MaxTrials)
	m := &tournament{}
	for i, n := range rungs {
		b := newBracket(n, c.Divisor, float64(full), budgets[i], workers(c, budgets, i))
		b.promotes = c.Promotes()
		b.passing = passing(c)
		if c.Progressive && n > 2 {
			b.progressive, b.maxRung = true, 1
		}
		m.brackets = append(m.brackets, b)
	}
	return m
}

// share divides the trials among brackets with these numbers of rungs. A bracket that stops
// trials earlier gets more of them, so that all brackets train about equally long in total.
// The first bracket also gets the remainder.
func share(rungs []int, divisor float64, trials int) []int {
	sum := 0.0
	weight := func(n int) float64 { return math.Pow(divisor, float64(n-1)) / float64(n) }
	for _, n := range rungs {
		sum += weight(n)
	}
	list := make([]int, len(rungs))
	left := trials
	for i, n := range rungs {
		list[i] = max(1, int(weight(n)/sum*float64(trials)))
		left -= list[i]
	}
	if left > 0 {
		list[0] += left
	}
	for i := range list { // brackets whose part was raised to one trial may exceed the total: take it from the others
		less := min(max(-left, 0), list[i]-1)
		list[i], left = list[i]-less, left+less
	}
	return list
}

// workers returns how many trials of bracket i run at once; 0: newBracket decides.
func workers(c expconf.Searcher, budgets []int, i int) int {
	n, all := len(budgets), c.MaxConcurrentTrials
	if all == 0 {
		if c.Name == expconf.AsyncHalving {
			return 0
		}
		return max(1, min(max(budgets[n-1], int(c.Divisor)), expconf.MaxConcurrent/n))
	}
	all = max(all, n)
	w := all / n
	if i < all%n {
		w++
	}
	return w
}

func (m *tournament) Start(r *TrialSet) {
	for i, b := range m.brackets {
		b.fill(r)
		m.note(r, i)
	}
}

// note records that the bracket with this index created the newest trials.
func (m *tournament) note(r *TrialSet, bracket int) {
	for len(m.of) < len(r.trials) {
		m.of = append(m.of, bracket)
	}
}

func (m *tournament) Validated(r *TrialSet, trial int, v Result) {
	i := m.of[trial]
	m.brackets[i].validated(r, trial, v)
	m.note(r, i)
	m.close(r)
}

func (m *tournament) Exited(r *TrialSet, trial int, reason string) {
	i := m.of[trial]
	m.brackets[i].exited(r, trial, reason)
	m.note(r, i)
	m.close(r)
}

func (m *tournament) Planned(*TrialSet) int {
	n := 0
	for _, b := range m.brackets {
		n += b.budget + b.invalid
	}
	return n
}
