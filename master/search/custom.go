package search

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// outside is a custom search (Determined's custom searcher, up to 0.37): a program of the
// user fetches events from the master and answers with operations. The queue of events is
// part of the fold, so the program may talk to any master, and may restart. An event
// leaves the queue when the program has answered it.
type outside struct {
	ids      map[string]int // request id, the program's name for a trial → trial
	names    []string       // trial → request id
	sign     float64        // as in Search
	bytes    int            // size of the request ids and hyperparameters of all trials
	queue    []OutsideEvent // events that the program has not answered, the oldest first
	next     int            // ID of the next event
	progress *float64       // as the program last reported it; nil: never
	end      *Shutdown      // nil: the search continues
}

// Limits of what a program may request, because the master keeps its search in memory.
const (
	maxOutsideTrials = expconf.MaxTrials
	maxOutsideBytes  = 64 << 20              // request ids and hyperparameters of all trials
	maxOutsideName   = 256                   // bytes of one request id
	maxOutsideHParam = expconf.MaxTrialBytes // bytes of the hyperparameters of one trial
	maxOutsideDepth  = 64                    // levels of nesting in the hyperparameters
	maxOutsideLength = 1e15                  // length of a training, in the searcher's unit
	maxQueue         = 10_000                // unanswered events; if there are more, the search emits no progress events
)

// OutsideEvent is one event for the program. Either Initial or one of the pointers is set.
type OutsideEvent struct {
	ID        int           `json:"id"` // from 1
	Initial   bool          `json:"initial,omitempty"`
	Created   *OutsideTrial `json:"created,omitempty"`
	Validated *OutsideTrial `json:"validated,omitempty"`
	Closed    *OutsideTrial `json:"closed,omitempty"`
	Exited    *OutsideTrial `json:"exited,omitempty"`
	Progress  *OutsideTrial `json:"progress,omitempty"`
}

// OutsideTrial is a trial in an event.
type OutsideTrial struct {
	Name   string  `json:"name"`             // request id
	Metric float64 `json:"metric,omitempty"` // Validated: as the training code reported it
	Length int64   `json:"length,omitempty"` // Validated: the length that the program requested
	Units  float64 `json:"units,omitempty"`  // Progress: length of training so far
	Reason string  `json:"reason,omitempty"` // Exited: one of the lifecycle.Exit constants
}

// Operations is the body of a Told event.
type Operations struct {
	Event int         `json:"event"` // ID of the newest event that the operations answer
	List  []Operation `json:"list"`
}

// An Operation is one request of the program. Exactly one field is set.
type Operation struct {
	Create   *Create   `json:"create,omitempty"`
	Train    *Train    `json:"train,omitempty"`
	Close    string    `json:"close,omitempty"`
	Progress *float64  `json:"progress,omitempty"`
	Shutdown *Shutdown `json:"shutdown,omitempty"`
}

// Create creates a trial.
type Create struct {
	Name    string          `json:"name"`    // request id, which the program chooses
	HParams json.RawMessage `json:"hparams"` // a JSON object
}

// Train lets a trial train until its whole training is as long as Length, and then wait.
type Train struct {
	Name   string `json:"name"`
	Length int64  `json:"length"` // in the searcher's unit
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
	if len(m.queue) < maxQueue { // the number of all other events is bounded by the program's operations
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

// status returns how the program ended the search; done is false until it has.
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

// told applies operations. It ignores invalid operations: CheckOutside has rejected them
// before, unless another request of the program was stored in between.
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
		r.trials[trial].hold, r.trials[trial].suspended = true, true // until an operation Train
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

// standing has the state of a trial that decides whether an operation is valid.
type standing struct {
	target int64 // length of the last operation Train
	ended  bool
}

// standing returns a function that finds a trial's state by its request id.
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

// wrong returns why an operation is invalid, given the states of trials and whether the
// search was shut down; "" if the operation is valid.
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
			return fmt.Sprintf("a trial with the request id %q already exists", op.Create.Name)
		}
		return op.Create.wrong()
	case op.Train != nil:
		t, why := known(op.Train.Name)
		if why == "" && op.Train.Length > maxOutsideLength {
			why = fmt.Sprintf("the length %d is above %d", op.Train.Length, int64(maxOutsideLength))
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

// wrong returns why a trial cannot be created; "" if it can.
func (c *Create) wrong() string {
	switch {
	case c.Name == "":
		return "a trial needs a request id"
	case len(c.Name) > maxOutsideName:
		return fmt.Sprintf("a request id has %d bytes; at most %d are allowed", len(c.Name), maxOutsideName)
	case len(c.HParams) > maxOutsideHParam:
		return fmt.Sprintf("the hyperparameters of trial %q have %d bytes; at most %d are allowed", c.Name, len(c.HParams), maxOutsideHParam)
	}
	var object map[string]any
	if err := json.Unmarshal(c.HParams, &object); err != nil && len(c.HParams) > 0 {
		return fmt.Sprintf("the hyperparameters of trial %q are not a JSON object with numbers in range", c.Name)
	}
	if deeper(object, maxOutsideDepth) {
		return fmt.Sprintf("the hyperparameters of trial %q are nested more than %d levels deep", c.Name, maxOutsideDepth)
	}
	return ""
}

// deeper reports whether a JSON value has more than this many levels of nesting.
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

// full returns why the search rejects so many more trials with so many bytes; "" if it accepts them.
func (m *outside) full(trials, bytes int) string {
	switch {
	case len(m.names)+trials > maxOutsideTrials:
		return fmt.Sprintf("a search has at most %d trials", maxOutsideTrials)
	case m.bytes+bytes > maxOutsideBytes:
		return fmt.Sprintf("the hyperparameters of all trials of a search have at most %d bytes", maxOutsideBytes)
	}
	return ""
}

// Outside returns the events that the program of a custom search has not answered; false
// if the search is not custom.
func (s *Search) Outside() ([]OutsideEvent, bool) {
	m, ok := s.method.(*outside)
	if !ok {
		return nil, false
	}
	return m.queue, true
}

// CheckOutside returns why operations are invalid, or "". It does not change the search:
// it keeps the effects of earlier operations on later ones in a map of its own.
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
