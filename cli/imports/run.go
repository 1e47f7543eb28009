package imports

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	// maxStep is the largest step that the master stores.
	maxStep = math.MaxInt32
	// maxValues bounds the values of a run that are in memory, some hundred bytes each.
	maxValues = 5_000_000

	training   = "training"
	validation = "validation"
)

// A run is what files say of one run: a trial here.
type run struct {
	name    string // the external id of the trial
	hparams map[string]any
	notes   map[string]any // for its metadata
	state   state
	points  map[key]*point
	files   map[string]int64 // up to which byte each file was read
	values  int
	left    int // values whose steps cannot be stored
	// restart is the lowest step at which the program began again since the last import; -1 for none.
	restart int64
}

type state int

const (
	completed state = iota
	running
	failed
)

// key is the place of a report: a group of metrics and a step.
type key struct {
	group string
	step  int64
}

// A point has the values of a group at a step.
type point struct {
	at     time.Time
	values map[string]value
	fresh  bool // a value of it is new since the last import
}

type value struct {
	is float64
	at time.Time
}

func newRun(name string) *run {
	return &run{name: name, hparams: map[string]any{}, notes: map[string]any{}, points: map[key]*point{}, files: map[string]int64{}, restart: -1}
}

// add adds a value. Of two values of a metric at one step, the one with the later time counts, as TensorBoard shows it.
func (r *run) add(group, name string, step int64, at time.Time, is float64, fresh bool) error {
	if step < 0 || step > maxStep {
		r.left++
		return nil
	}
	p := r.points[key{group, step}]
	if p == nil {
		p = &point{values: map[string]value{}}
		r.points[key{group, step}] = p
	}
	old, there := p.values[name]
	if there && at.Before(old.at) {
		return nil
	}
	if !there {
		if r.values++; r.values > maxValues {
			return fmt.Errorf("the run %s has more than %d values, the maximum: import its sub-folders one by one", r.name, maxValues)
		}
	}
	p.values[name] = value{is, at}
	p.fresh = p.fresh || fresh
	if at.After(p.at) {
		p.at = at
	}
	return nil
}

// voidFrom drops what was read of a step and later ones, of one group or of all: the program began again there.
func (r *run) voidFrom(group string, step int64, fresh bool) {
	for k, p := range r.points {
		if k.step >= step && (group == "" || k.group == group) {
			r.values -= len(p.values)
			delete(r.points, k)
		}
	}
	if fresh && (r.restart < 0 || step < r.restart) {
		r.restart = step
	}
}

// inOrder has the places of the points that are wanted, in the order of their steps.
func (r *run) inOrder(wanted func(key, *point) bool) []key {
	var list []key
	for k, p := range r.points {
		if wanted(k, p) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b key) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.group, b.group)) })
	return list
}

// metrics are the names of all metrics of a group.
func (r *run) metrics(group string, into map[string]bool) {
	for k, p := range r.points {
		if k.group == group {
			for name := range p.values {
				into[name] = true
			}
		}
	}
}

// searcherMetric chooses the metric by which an experiment compares its trials: a validation before a training metric, and one whose name
// has loss before others.
func searcherMetric(runs []*run) string {
	for _, group := range []string{validation, training} {
		names := map[string]bool{}
		for _, r := range runs {
			r.metrics(group, names)
		}
		sorted := slices.Sorted(maps.Keys(names))
		if i := slices.IndexFunc(sorted, func(name string) bool { return strings.Contains(strings.ToLower(name), "loss") }); i >= 0 {
			return sorted[i]
		}
		if len(sorted) > 0 {
			return sorted[0]
		}
	}
	return "loss"
}

// groupOf is the group of a metric by its name: programs of many libraries write eval/loss, val_loss and the like for validations.
func groupOf(name string) string {
	lower := strings.ToLower(name)
	for _, word := range []string{"val", "valid", "validation", "eval", "evaluation", "test", "dev"} {
		rest, begins := strings.CutPrefix(lower, word)
		if begins && (rest == "" || strings.ContainsAny(rest[:1], "/_-.")) || strings.Contains(lower, "/"+word+"/") || strings.HasSuffix(lower, "/"+word) {
			return validation
		}
	}
	return training
}
