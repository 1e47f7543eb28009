package search

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/spelling"
)

// A search with learn_from learns from the trials of earlier experiments (lesson.go). These may be deleted, and the rights of the
// submitter may change, so the master reads their trials once, at submission, and stores what counts as the first event of the
// search, Learned. Without this event the search has no trials.

// Lengths is how many lengths of training are told apart in the trials of earlier experiments.
const Lengths = 4

// LengthsFrom returns the part of a whole training at which each of these lengths begins. A trial's result of a length is its first
// one in it, so that results of one length are of trials that trained about equally long. With the default divisor, rungs are in
// different lengths. The last one is a whole training, with a slack for rounded epochs.
func LengthsFrom() [Lengths]float64 { return [Lengths]float64{0.0125, 0.05, 0.2, 0.98} }

// Limits of what a search learns from earlier experiments together.
const (
	MaxEarlierTrials = 1000
	maxEarlierValues = 25_000    // of hyperparameters
	maxEarlierLooks  = 3_000_000 // hyperparameters that are compared with the space
)

// Earlier is the body of a Learned event.
type Earlier struct {
	Names       []string            `json:"names,omitempty"` // of the hyperparameters that vary, with dots between groups
	Experiments []EarlierExperiment `json:"experiments,omitempty"`
}

// EarlierExperiment has the trials of one experiment that count, the longest trained first.
type EarlierExperiment struct {
	ID     int            `json:"id"`
	Trials []EarlierTrial `json:"trials"`
}

// EarlierTrial is a trial as the search learns from it.
type EarlierTrial struct {
	Values  string        `json:"values"`  // of Names, with spaces between them: numbers, or indexes in vals; "-": the trial lacks it
	Results [Lengths]*int `json:"results"` // the rank of its result of each length in its experiment, from 0; -1: it diverged; nil: it has none
}

// PastTrial is a trial of an earlier experiment as the database has it.
type PastTrial struct {
	HParams json.RawMessage
	Results [Lengths]*float64 // the searcher's metric after each length; NaN or infinite: the training diverged; nil: none
}

// A Collector selects what a search learns from earlier experiments.
type Collector struct {
	*domain
	sign    float64
	finders []finder // of each axis
	free    []int    // axes that vary
	most    int      // trials of each experiment that are looked at
	earlier Earlier
}

// NewCollector returns a Collector for the search of a configuration.
func NewCollector(cfg expconf.Config) (*Collector, error) {
	d, err := newDomain(cfg)
	if err != nil {
		return nil, err
	}
	c := &Collector{domain: d, sign: signOf(cfg)}
	for i, a := range d.axes {
		c.finders = append(c.finders, newFinder(a))
		if a.varies() {
			c.free = append(c.free, i)
			c.earlier.Names = append(c.earlier.Names, a.name())
		}
	}
	c.most = min(c.room(), maxEarlierLooks/(max(1, len(d.axes))*max(1, len(cfg.Searcher.LearnFrom))))
	return c, nil
}

// room is how many trials of all experiments together count.
func (c *Collector) room() int { return min(MaxEarlierTrials, maxEarlierValues/max(1, len(c.free))) }

// Most is how many trials of each experiment Add looks at.
func (c *Collector) Most() int { return c.most }

// Add adds the trials of an experiment, the most telling ones first, and returns a remark about them for the user.
func (c *Collector) Add(id int, trials []PastTrial) (remark string) {
	out := EarlierExperiment{ID: id, Trials: []EarlierTrial{}}
	var results [][Lengths]*float64
	outside, unrelated := map[string]int{}, 0
	trials = trials[:min(len(trials), c.most)]
	for _, t := range trials {
		var hparams map[string]any
		if json.Unmarshal(t.HParams, &hparams) != nil { // it has a number that is in no space
			outside["a number"]++
			continue
		}
		values, why := c.place(hparams)
		switch {
		case why != "":
			outside[why]++
		case !slices.ContainsFunc(values, func(v *float64) bool { return v != nil }):
			unrelated++
		default:
			out.Trials = append(out.Trials, EarlierTrial{Values: written(values)})
			results = append(results, t.Results)
		}
	}
	for length := range Lengths {
		c.rank(out.Trials, results, length)
	}
	c.earlier.Experiments = append(c.earlier.Experiments, out)
	const about = "searcher.learn_from: "
	switch n := len(out.Trials); {
	case len(trials) == 0:
		return fmt.Sprintf(about+"experiment %d has no trial with a result, so this search learns nothing from it", id)
	case unrelated == len(trials):
		return fmt.Sprintf(about+"the trials of experiment %d have none of the hyperparameters that vary in this search, so it learns nothing from them", id)
	case n < len(trials):
		return fmt.Sprintf(about+"of %s of experiment %d this search learns from %d; the others %s", spelling.Count(len(trials), "trial"), id, n, mostly(outside))
	}
	return fmt.Sprintf(about+"this search learns from %s of experiment %d", spelling.Count(len(trials), "trial"), id)
}

// Earlier returns what the search learns, within the limits: an experiment with few trials leaves its room to the others.
func (c *Collector) Earlier() Earlier {
	room := c.room()
	out := Earlier{Names: c.earlier.Names, Experiments: slices.Clone(c.earlier.Experiments)}
	order := make([]int, len(out.Experiments))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(len(out.Experiments[a].Trials), len(out.Experiments[b].Trials))
	})
	for n, i := range order {
		x := &out.Experiments[i]
		x.Trials = x.Trials[:min(len(x.Trials), room/(len(order)-n))]
		room -= len(x.Trials)
	}
	return out
}

// place returns the values of a trial's hyperparameters on the axes that vary, or what is outside of the space. A hyperparameter
// that has no effect in this space counts as one that the trial lacks.
func (c *Collector) place(hparams map[string]any) (values []*float64, outside string) {
	known, inactive := make([]any, len(c.axes)), make([]bool, len(c.axes))
	found := make([]*float64, len(c.axes))
	for n := range c.axes {
		i := n
		if c.order != nil {
			i = c.order[n]
		}
		a, v := c.axes[i], c.axes[i].get(hparams)
		if c.needs != nil {
			inactive[i] = slices.ContainsFunc(c.needs[i], func(x need) bool {
				return inactive[x.axis] || known[x.axis] != (absent{}) && !x.Allows(known[x.axis])
			})
		}
		switch {
		case inactive[i]:
			known[i] = absent{}
			continue
		case v == absent{} && a.Type == expconf.Const:
			known[i] = a.Val
			continue
		case v == absent{}:
			known[i] = v
			continue
		}
		at, can := c.finders[i].find(v)
		if !can {
			return nil, a.name()
		}
		known[i], found[i] = v, &at
	}
	for _, p := range c.parts {
		for _, x := range p.constraints {
			if !x.holds(known) {
				return nil, x.String()
			}
		}
	}
	return each.Of(c.free, func(i int) *float64 { return found[i] }), ""
}

// written returns values as the event has them: short, whatever their size.
func written(values []*float64) string {
	return strings.Join(each.Of(values, func(v *float64) string {
		if v == nil {
			return "-"
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}), " ")
}

// rank sets the ranks of the results of one length; equal results have the same rank.
func (c *Collector) rank(trials []EarlierTrial, results [][Lengths]*float64, length int) {
	var order []int
	for i := range results {
		switch v := results[i][length]; {
		case v == nil:
		case math.IsNaN(*v) || math.IsInf(*v, 0):
			trials[i].Results[length] = new(-1)
		default:
			order = append(order, i)
		}
	}
	metric := func(i int) float64 { return c.sign * *results[i][length] }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(metric(a), metric(b)) })
	for n, i := range order {
		rank := n
		if n > 0 && metric(order[n-1]) == metric(i) {
			rank = *trials[order[n-1]].Results[length]
		}
		trials[i].Results[length] = &rank
	}
}

// mostly says what the trials that do not count have in common.
func mostly(outside map[string]int) string {
	if len(outside) == 0 {
		return "have none of its hyperparameters"
	}
	names := slices.Sorted(maps.Keys(outside))
	most := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(outside[a], outside[b]) })
	return fmt.Sprintf("are outside of its space, most often because of %s (%d)", document.Clip(most), outside[most])
}

// A finder finds the place of a value that was read from the database on an axis.
type finder struct {
	axis
	scalars map[any]float64 // of a category or a constant: the index of the value
	texts   map[[sha256.Size]byte]float64
}

func newFinder(a axis) finder {
	f := finder{axis: a, scalars: map[any]float64{}, texts: map[[sha256.Size]byte]float64{}}
	list := a.Vals
	if a.Type == expconf.Const {
		list = []any{a.Val}
	}
	for i, v := range slices.Backward(list) { // of equal values, the first counts
		if key, ok := plainOf(v); ok {
			f.scalars[key] = float64(i)
		} else {
			f.texts[sha256.Sum256([]byte(text(v)))] = float64(i)
		}
	}
	return f
}

// find returns the number, or the index of a category; false if the axis does not have the value.
func (f finder) find(v any) (at float64, can bool) {
	if f.Type != expconf.Const && f.Type != expconf.Categorical {
		value, can := f.Value(v)
		if !can {
			return 0, false
		}
		return expconf.Number(value)
	}
	if key, ok := plainOf(v); ok {
		at, can = f.scalars[key]
		return at, can
	}
	at, can = f.texts[sha256.Sum256([]byte(text(v)))]
	return at, can
}

// plainOf returns a value that is no list and no mapping, so that equal ones are the same key of a map.
func plainOf(v any) (key any, ok bool) {
	if x, isNumber := expconf.Number(v); isNumber {
		return x, true
	}
	switch v.(type) {
	case nil, bool, string:
		return v, true
	}
	return nil, false
}

// learned applies a Learned event: the search begins.
func (s *Search) learned(e Event) error {
	if !s.awaits {
		return fmt.Errorf("search event %d brings what a search learns from earlier experiments, and this one has begun", e.Seq)
	}
	var body Earlier
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return fmt.Errorf("search event %d: %w", e.Seq, err)
	}
	if err := s.trialSet.model.recall(body); err != nil {
		return fmt.Errorf("search event %d: %w", e.Seq, err)
	}
	s.awaits = false
	s.method.Start(&s.trialSet)
	return nil
}

// Begin applies what the search of a configuration with learn_from learns from earlier experiments, as its first event. It returns
// the body of this event; nil if the search learns from none.
func (s *Search) Begin(earlier Earlier) (json.RawMessage, error) {
	if !s.awaits {
		return nil, nil
	}
	body, err := json.Marshal(earlier)
	if err != nil {
		return nil, err
	}
	return body, s.Apply(Event{Seq: s.seq + 1, Kind: Learned, Body: body})
}

// SamePurpose says why a search cannot learn from an experiment with another metric; "" if it can.
func SamePurpose(cfg expconf.Config, metric *string, smaller bool) string {
	const kinds = "smaller is better"
	better := map[bool]string{true: kinds, false: "larger is better"}
	if metric == nil || *metric == "" {
		return "has no searcher.metric"
	}
	own := cfg.Searcher
	if *metric == own.Metric && smaller == own.SmallerIsBetter {
		return ""
	}
	return fmt.Sprintf("has the metric %q (%s), and this search %q (%s)", document.Clip(optional.Value(metric)), better[smaller],
		document.Clip(own.Metric), better[own.SmallerIsBetter])
}

func signOf(cfg expconf.Config) float64 {
	if cfg.Searcher.SmallerIsBetter {
		return 1
	}
	return -1
}
