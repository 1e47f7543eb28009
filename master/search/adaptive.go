package search

import (
	"math"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
)

// A tournament is one or several brackets side by side. Those with more rungs
// stop trials earlier; having several hedges against curves that cross late.
type tournament struct {
	brackets []*bracket
	of       []int // the bracket of each trial
}

// adaptiveRungs is how many rungs each bracket of adaptive_asha has, the most
// first.
func adaptiveRungs(c expconf.Searcher) []int {
	if len(c.BracketRungs) > 0 {
		rungs := slices.Clone(c.BracketRungs)
		slices.Sort(rungs)
		slices.Reverse(rungs)
		return rungs
	}
	full, _ := c.FullLength()
	most := min(powers(float64(full), c.Divisor, c.MaxRungs)+1, powers(float64(c.MaxTrials), c.Divisor, c.MaxRungs)+1, c.MaxRungs)
	least := 1
	switch c.Mode {
	case expconf.Aggressive:
		least = most
	case expconf.Standard:
		least = (most-1)/2 + 1
	}
	var rungs []int
	for n := most; n >= least; n-- {
		rungs = append(rungs, n)
	}
	return rungs
}

// powers is how often n can be divided by the divisor until less than it is left.
// Logarithms would be off by one at exact powers. More than most are not counted:
// a divisor just above 1 divides for ever.
func powers(n, divisor float64, most int) int {
	k := 0
	for ; n >= divisor && k < most; k++ {
		n /= divisor
	}
	return k
}

// newTournament makes a bracket for each number of rungs, and shares trials and
// workers among them.
func newTournament(c expconf.Searcher, rungs []int) *tournament {
	full, _ := c.FullLength()
	rungs = rungs[:min(len(rungs), c.MaxTrials)]
	budgets := share(rungs, c.Divisor, c.MaxTrials)
	m := &tournament{}
	for i, n := range rungs {
		b := newBracket(n, c.Divisor, float64(full), budgets[i], workers(c, budgets, i))
		b.waits = c.Promotes()
		if c.Progressive && n > 2 {
			b.growing, b.limit = true, 1
		}
		m.brackets = append(m.brackets, b)
	}
	return m
}

// share divides the trials among brackets: more to those that stop more of them,
// so that every bracket trains about as much, and what is left to the first.
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
	for i := range list { // those that were raised to one took more than there is
		less := min(max(-left, 0), list[i]-1)
		list[i], left = list[i]-less, left+less
	}
	return list
}

// workers is how many trials of a bracket are wanted to run at once.
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

// note remembers whose trials the new ones are.
func (m *tournament) note(r *TrialSet, bracket int) {
	for len(m.of) < len(r.trials) {
		m.of = append(m.of, bracket)
	}
}

func (m *tournament) Validated(r *TrialSet, trial int, v Result) {
	i := m.of[trial]
	m.brackets[i].validated(r, trial, v)
	m.note(r, i)
}

func (m *tournament) Exited(r *TrialSet, trial int, reason string) {
	i := m.of[trial]
	m.brackets[i].exited(r, trial, reason)
	m.note(r, i)
}

func (m *tournament) Planned(*TrialSet) int {
	n := 0
	for _, b := range m.brackets {
		n += b.budget + b.invalid
	}
	return n
}
