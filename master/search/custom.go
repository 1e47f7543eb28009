package search

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// outside is a search that a program outside drives: it asks for events and
// answers with operations, in the words of Determined before 0.38. The queue of
// events is a part of the fold, so that the program may come to any master, and
// come again; an event leaves the queue when the program has answered it.
type outside struct {
	ids      map[string]int // trial by the program's own name for it
	names    []string       // and back
	sign     float64
	bytes    int // of the names and hyperparameters of its trials
	queue    []OutsideEvent
	next     int
	progress *float64
	end      *Shutdown
}

// What a program may ask for. Its search is kept in memory like any other.
const (
	outsideTrials = expconf.MaxTrials
	outsideBytes  = 64 << 20              // of the names and hyperparameters of all trials
	outsideName   = 256                   // bytes of one name
	outsideHParam = expconf.MaxTrialBytes // bytes of the hyperparameters of one trial
	outsideDepth  = 64                    // levels of nesting in them
	outsideLength = 1e15                  // of training
	maxQueue      = 10_000                // events without an answer, beyond which progress is not told
)

// OutsideEvent is one event for the program. One of the pointers is set.
type OutsideEvent struct {
	ID        int           `json:"id"`
	Initial   bool          `json:"initial,omitempty"`
	Created   *OutsideTrial `json:"created,omitempty"`
	Validated *OutsideTrial `json:"validated,omitempty"`
	Closed    *OutsideTrial `json:"closed,omitempty"`
	Exited    *OutsideTrial `json:"exited,omitempty"`
	Progress  *OutsideTrial `json:"progress,omitempty"`
}

// OutsideTrial is a trial in an event, with what belongs to the kind of event.
type OutsideTrial struct {
	Name   string  `json:"name"`
	Metric float64 `json:"metric,omitempty"` // as it was reported
	Length int64   `json:"length,omitempty"` // that was asked for
	Units  float64 `json:"units,omitempty"`  // of training so far
	Reason string  `json:"reason,omitempty"` // of lifecycle's
}

// Operations is the body of a Told event.
type Operations struct {
	Event int         `json:"event"` // the newest event that they answer
	List  []Operation `json:"list"`
}

// An Operation is one thing that the program wants. One of the fields is set.
type Operation struct {
	Create   *Create   `json:"create,omitempty"`
	Train    *Train    `json:"train,omitempty"`
	Close    string    `json:"close,omitempty"`
	Progress *float64  `json:"progress,omitempty"`
	Shutdown *Shutdown `json:"shutdown,omitempty"`
}

// Create makes a trial under the program's own name for it.
type Create struct {
	Name    string          `json:"name"`
	HParams json.RawMessage `json:"hparams"` // an object
}

// Train lets a trial train until it has trained that long, and then wait.
type Train struct {
	Name   string `json:"name"`
	Length int64  `json:"length"`
}

// Shutdown ends the search.
type Shutdown struct {
	Cancel  bool `json:"cancel,omitempty"`
	Failure bool `json:"failure,omitempty"`
}

func newOutside(sign float64) *outside {
	return &outside{ids: map[string]int{}, next: 1, sign: sign}
}

func (m *outside) emit(e OutsideEvent) {
	e.ID = m.next
	m.next++
	m.queue = append(m.queue, e)
}

func (m *outside) Start(*TrialSet) { m.emit(OutsideEvent{Initial: true}) }

func (m *outside) Validated(r *TrialSet, trial int, v Result) {
	t := r.trials[trial]
	name := m.names[trial]
	if len(m.queue) < maxQueue { // the rest is bounded by what the program asked for
		m.emit(OutsideEvent{Progress: &OutsideTrial{Name: name, Units: v.At}})
	}
	if t.hold || t.target == 0 || v.At < float64(t.target) {
		return
	}
	m.emit(OutsideEvent{Validated: &OutsideTrial{Name: name, Metric: m.sign * v.Metric, Length: t.target}})
	r.Hold(trial)
}

func (m *outside) Exited(_ *TrialSet, trial int, reason string) {
	name := m.names[trial]
	if reason != lifecycle.ExitDone && reason != lifecycle.ExitStopped {
		m.emit(OutsideEvent{Exited: &OutsideTrial{Name: name, Reason: reason}})
	}
	m.emit(OutsideEvent{Closed: &OutsideTrial{Name: name}})
}

func (m *outside) Planned(r *TrialSet) int { return len(r.trials) }

// status: as long as the program has not ended the search, more may come.
func (m *outside) status() (done bool, v lifecycle.SearchStatus, why string) {
	switch {
	case m.end == nil:
		return false, lifecycle.Searching, ""
	case m.end.Failure:
		return true, lifecycle.SearchFailed, "the program that drives its search reported a failure"
	case m.end.Cancel:
		return true, lifecycle.SearchCancel, ""
	}
	return true, "", ""
}

// told folds operations in. Those that make no sense change nothing: Check has
// told the program, unless another was faster.
func (s *Search) told(e Event) error {
	m, ok := s.method.(*outside)
	if !ok {
		return fmt.Errorf("search event %d has operations for a search that is not custom", e.Seq)
	}
	var ops Operations
	if err := json.Unmarshal(e.Body, &ops); err != nil {
		return fmt.Errorf("search event %d: %w", e.Seq, err)
	}
	for len(m.queue) > 0 && m.queue[0].ID <= ops.Event {
		m.queue = m.queue[1:]
	}
	for _, op := range ops.List {
		if op.Create != nil && m.full(1, len(op.Create.HParams)+len(op.Create.Name)) != "" {
			continue
		}
		if wrong(op, m.standing(&s.trialSet), m.end != nil) == "" {
			m.operate(&s.trialSet, op)
		}
	}
	return nil
}

func (m *outside) operate(r *TrialSet, op Operation) {
	switch {
	case op.Create != nil:
		trial := r.AddWith(told(op.Create.HParams))
		m.bytes += len(op.Create.HParams) + len(op.Create.Name)
		m.ids[op.Create.Name] = trial
		m.names = append(m.names, op.Create.Name)
		r.trials[trial].hold, r.trials[trial].suspended = true, true // until it is told how long to train
		m.emit(OutsideEvent{Created: &OutsideTrial{Name: op.Create.Name}})
	case op.Train != nil:
		r.Release(m.ids[op.Train.Name], op.Train.Length)
	case op.Close != "":
		r.Stop(m.ids[op.Close])
	case op.Progress != nil:
		m.progress = op.Progress
	case op.Shutdown != nil:
		m.end = op.Shutdown
		for trial, t := range r.trials {
			if t.exited == "" {
				r.Stop(trial)
			}
		}
	}
}

// standing is what operations depend on of a trial.
type standing struct {
	target int64 // that it was told to train to
	ended  bool
}

// standing finds a trial by the program's own name for it.
func (m *outside) standing(r *TrialSet) func(name string) (standing, bool) {
	return func(name string) (standing, bool) {
		trial, ok := m.ids[name]
		if !ok {
			return standing{}, false
		}
		t := r.trials[trial]
		return standing{target: t.target, ended: t.stop || t.exited != ""}, true
	}
}

// wrong says why an operation makes no sense where trials stand like that, or when
// the search has been shut down; "" when it does.
func wrong(op Operation, trial func(name string) (standing, bool), down bool) string {
	known := func(name string) (standing, string) {
		t, ok := trial(name)
		switch {
		case !ok:
			return t, fmt.Sprintf("there is no trial with the request id %q", name)
		case t.ended:
			return t, fmt.Sprintf("the trial with the request id %q has ended", name)
		}
		return t, ""
	}
	switch {
	case down:
		return "the search has been shut down"
	case op.Create != nil:
		if _, twice := trial(op.Create.Name); twice {
			return fmt.Sprintf("there is a trial with the request id %q already", op.Create.Name)
		}
		return op.Create.wrong()
	case op.Train != nil:
		t, why := known(op.Train.Name)
		if why == "" && op.Train.Length > outsideLength {
			why = fmt.Sprintf("the length %d is above %d", op.Train.Length, int64(outsideLength))
		}
		if why == "" && op.Train.Length <= t.target {
			why = fmt.Sprintf("the trial with the request id %q already trains to %d; the new length must be longer", op.Train.Name, t.target)
		}
		return why
	case op.Close != "":
		_, why := known(op.Close)
		return why
	case op.Progress == nil && op.Shutdown == nil:
		return "an operation is empty"
	}
	return ""
}

// wrong says what keeps a trial from being made.
func (c *Create) wrong() string {
	switch {
	case c.Name == "":
		return "a trial needs a request id"
	case len(c.Name) > outsideName:
		return fmt.Sprintf("a request id has %d bytes; at most %d are allowed", len(c.Name), outsideName)
	case len(c.HParams) > outsideHParam:
		return fmt.Sprintf("the hyperparameters of trial %q have %d bytes; at most %d are allowed", c.Name, len(c.HParams), outsideHParam)
	}
	var object map[string]any
	if err := json.Unmarshal(c.HParams, &object); err != nil && len(c.HParams) > 0 {
		return fmt.Sprintf("the hyperparameters of trial %q are no JSON object with numbers in range", c.Name)
	}
	if deeper(object, outsideDepth) {
		return fmt.Sprintf("the hyperparameters of trial %q are nested more than %d levels deep", c.Name, outsideDepth)
	}
	return ""
}

// deeper reports whether a JSON value is nested deeper than that.
func deeper(value any, levels int) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, x := range v {
			if levels == 0 || deeper(x, levels-1) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if levels == 0 || deeper(x, levels-1) {
				return true
			}
		}
	}
	return false
}

// full says why a search takes no trial of that size any more.
func (m *outside) full(trials, bytes int) string {
	switch {
	case len(m.names)+trials > outsideTrials:
		return fmt.Sprintf("a search has at most %d trials", outsideTrials)
	case m.bytes+bytes > outsideBytes:
		return fmt.Sprintf("the hyperparameters of all trials of a search have at most %d bytes", outsideBytes)
	}
	return ""
}

// Outside is what a program that drives the search has to answer; false when no
// program drives it.
func (s *Search) Outside() ([]OutsideEvent, bool) {
	m, ok := s.method.(*outside)
	if !ok {
		return nil, false
	}
	return m.queue, true
}

// CheckOutside says what is wrong with operations, as if they were folded now.
// The search stays as it is: what the first ones would change for the later ones
// is remembered beside it.
func (s *Search) CheckOutside(ops Operations) string {
	m, ok := s.method.(*outside)
	if !ok {
		return "this search is not custom, so no program drives it"
	}
	changed, down := map[string]standing{}, m.end != nil
	before := m.standing(&s.trialSet)
	trial := func(name string) (standing, bool) {
		if t, ok := changed[name]; ok {
			return t, true
		}
		return before(name)
	}
	trials, bytes := 0, 0
	for _, op := range ops.List {
		if why := wrong(op, trial, down); why != "" {
			return why
		}
		switch {
		case op.Create != nil:
			trials, bytes = trials+1, bytes+len(op.Create.HParams)+len(op.Create.Name)
			if why := m.full(trials, bytes); why != "" {
				return why
			}
			changed[op.Create.Name] = standing{}
		case op.Train != nil:
			changed[op.Train.Name] = standing{target: op.Train.Length}
		case op.Close != "":
			changed[op.Close] = standing{ended: true}
		case op.Shutdown != nil:
			down = true
		}
	}
	return ""
}
